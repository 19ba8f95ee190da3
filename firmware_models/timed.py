"""Timed: what a launch does, in numbers alone, for an engine that moves no bytes.

The bands, their waits and the order of their drains are the ones that the workers run. Planning them costs more than
timing them, so a launch is kept as an outline of what its descriptors touch, which many devices share: channels,
latencies and rates only price it.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import attrs

from tessbed.firmware_models.bands import Band, in_order, wait_groups
from tessbed.firmware_models.geometry import Geometry
from tessbed.firmware_models.image import PROGRAMS
from tessbed.sim.limits import PAGE_BYTES
from tessbed.sim.repeats import runs_of
from tessbed.sim.spec import DeviceSpec
from tessbed.sim.stats import Traffic
from tessbed.sim.timing import Cost, Program, Run, TimedBand
from tessbed.sim.transfer import Counts, Descriptor, Shape, check_fields, count_read, count_write, price


class BandShape(NamedTuple):
    """A band: what the reads of each wait group touch, ticks of compute, whether its drain waits, its drain."""

    groups: tuple[tuple[Counts, ...], ...]
    ticks: int
    ordered: bool
    chain: tuple[Counts, ...]

    @property
    def payloads(self) -> list[int]:
        """Bytes that each transfer carries, in the order in which they are asked for."""
        reads = [counts.payload_bytes for group in self.groups for counts in group]
        return [*reads, sum(counts.payload_bytes for counts in self.chain)]


@attrs.frozen
class Outline:
    """A launch: the different bands, the runs of them that each worker takes, and all that no clock counts."""

    bands: tuple[BandShape, ...]
    workers: tuple[tuple[Run, ...], ...]
    reads: Traffic
    writes: Traffic
    counts: Mapping[str, int]


@attrs.frozen
class _Wanted:
    """An outline's key. Of the spec only `fields` matter, so specs that agree there share an outline."""

    geometry: Geometry
    workers: int
    fields: tuple[Any, ...]
    spec: DeviceSpec = attrs.field(eq=False)


def outline(geometry: Geometry, spec: DeviceSpec, workers: int) -> Outline:
    """The launch of `workers`, kept for all devices on which it is the same."""
    phases = {
        name: PAGE_BYTES + getattr(geometry, name) % PAGE_BYTES * (getattr(geometry, name) > 0)
        for name in ("input_address", "output_address")
    }
    return _outline(_Wanted(attrs.evolve(geometry, **phases), workers, fields_that_plan(spec), spec))


def fields_that_plan(spec: DeviceSpec) -> tuple[Any, ...]:
    """The part of a spec that decides what is launched; all the rest only prices it."""
    blocks = (spec.write_granule_bytes, spec.byte_strobes, spec.memory.access_bytes, spec.dma.burst_bytes)
    scratch = (spec.slots, spec.usable_scratch_bytes, spec.scratch_align_bytes)
    return (*blocks, *scratch, spec.dma.field_bits, spec.dma.wait_group, spec.compute)


def program(plan: Outline, spec: DeviceSpec) -> Program:
    """What the workers do on a device of that spec."""
    priced: dict[Counts, Cost] = {}
    return Program(tuple([_timed(band, spec, priced) for band in plan.bands]), plan.workers)


def _timed(band: BandShape, spec: DeviceSpec, priced: dict[Counts, Cost]) -> TimedBand:
    groups = tuple(tuple(_cost(counts, spec, priced) for counts in group) for group in band.groups)
    segments = [_cost(counts, spec, priced) for counts in band.chain]
    drain = Cost(*map(sum, zip(*segments, strict=True)))
    return TimedBand(groups, band.ticks, band.ordered, (drain,), len(segments))


def _cost(counts: Counts, spec: DeviceSpec, priced: dict[Counts, Cost]) -> Cost:
    cost = priced.get(counts)
    if cost is None:
        segment = price(spec, counts)
        cost = priced[counts] = Cost(segment.setup_ticks, segment.port_ticks, segment.data_ticks)
    return cost


@lru_cache(maxsize=256)
def _outline(wanted: _Wanted) -> Outline:
    return _Draft(wanted.spec).draw(wanted)


@attrs.define(eq=False)
class _Draft:
    """An outline under way; equal bands, and equal descriptors, are kept once."""

    spec: DeviceSpec
    bands: dict[BandShape, int] = attrs.Factory(dict)
    reads: Traffic = attrs.Factory(Traffic)
    writes: Traffic = attrs.Factory(Traffic)
    counts: dict[str, int] = attrs.Factory(dict)
    _counted: dict[tuple[str, Shape], Counts] = attrs.Factory(dict)

    def draw(self, wanted: _Wanted) -> Outline:
        """The whole launch, worker by worker."""
        bands_of = PROGRAMS[wanted.geometry.op](wanted.geometry, self.spec, wanted.workers)
        workers = tuple(
            tuple(runs_of(self._index(band, ordered) for band, ordered in in_order(bands_of(worker), self.spec)))
            for worker in range(wanted.workers)
        )
        counts = {name: self.counts[name] for name in sorted(self.counts)}
        return Outline(tuple(self.bands), workers, self.reads, self.writes, counts)

    def _index(self, band: Band, ordered: bool) -> int:
        groups = tuple(tuple(map(self._read, group)) for group in wait_groups(band, self.spec))
        shape = BandShape(groups, band.ticks, ordered, tuple(map(self._write, band.chain)))
        self._account(band, shape)
        return self.bands.setdefault(shape, len(self.bands))

    def _read(self, descriptor: Descriptor) -> Counts:
        return self._count("read", descriptor)

    def _write(self, descriptor: Descriptor) -> Counts:
        return self._count("write", descriptor)

    def _count(self, d: str, descriptor: Descriptor) -> Counts:
        shape = (descriptor.address % PAGE_BYTES, descriptor.rows, descriptor.row_bytes, descriptor.pitch)
        known = self._counted.get((d, shape))
        if known is None:
            check_fields(self.spec, descriptor)
            known = count_read(self.spec, shape) if d == "read" else count_write(self.spec, shape)
            self._counted[d, shape] = known
        return known

    def _account(self, band: Band, shape: BandShape) -> None:
        reads = [counts for group in shape.groups for counts in group]
        _add(self.reads, reads, len(reads))
        _add(self.writes, shape.chain, 1)
        for name, number in _statistics(band, shape):
            if number:
                self.counts[name] = self.counts.get(name, 0) + number


def _add(traffic: Traffic, descriptors: list[Counts] | tuple[Counts, ...], transfers: int) -> None:
    traffic.transfers += transfers
    traffic.descriptors += len(descriptors)
    for counts in descriptors:
        traffic.payload_bytes += counts.payload_bytes
        traffic.port_bytes += counts.port_bytes
        traffic.bursts += counts.bursts
        traffic.pages += counts.pages
        traffic.rmw_granules += counts.partial_granules
    traffic.moved_bytes = traffic.due_bytes = traffic.payload_bytes


def _statistics(band: Band, shape: BandShape) -> Iterator[tuple[str, int]]:
    """What the worker loop counts for a band."""
    yield "wait_groups", len(shape.groups)
    yield "ordered_drains", int(shape.ordered)
    yield "bands", 1
    yield "oversized_pitch_reads", len(band.reads) if band.oversized else 0
    yield from band.counts.items()
