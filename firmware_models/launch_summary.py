"""Launch summary: from packet, device and worker count to the Program that the exact engine takes.

The bands, their waits and the order of their drains are the ones that the workers run, but they are not taken one by
one: the loops of a launch are planned as loops (nests/nest.py), so that what counts is how many different bands there
are. Planning still costs more than timing, so a launch is kept as an outline of what its descriptors touch, which many
devices share: channels, latencies and rates only price it.
"""

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

import attrs
import numpy as np

from tessbed.firmware_models.band import BANDS
from tessbed.firmware_models.band_cache import BandTemplates
from tessbed.firmware_models.geometry import PacketGeometry
from tessbed.firmware_models.launch_outline import (
    BandShape,
    Outline,
    add_traffic,
    fields_that_plan,
    fields_that_price,
    fields_that_shape,
)
from tessbed.firmware_models.nests.blocks import FEWEST_TIMES, BlockMaker
from tessbed.firmware_models.nests.drain_order import DrainOrder
from tessbed.firmware_models.nests.enumerating_planner import EnumeratingPlanner, KnownParts
from tessbed.firmware_models.nests.nest import Node
from tessbed.firmware_models.nests.nest_totals import NestTotals, TooManyPlaces
from tessbed.firmware_models.nests.pack import pack_nests
from tessbed.firmware_models.nests.parts import BandPart, PartTable
from tessbed.firmware_models.nests.unpack import unpack_nests
from tessbed.sim.exact.program import BandRun, Cost, LaunchProgram, TimedBand
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.spec.limits import PAGE_BYTES
from tessbed.sim.stats import Traffic
from tessbed.sim.transfer.cost import Counts, price

NESTS = {True: pack_nests, False: unpack_nests}
"""The nests of a launch, by whether it packs."""
SMALL_TILES, SMALL_BYTES = 256, 1 << 23
"""A launch of so few tiles and bytes is planned band by band, in half the time. Both ways give the same outline."""

MOST_WRITTEN = 1024
"""A launch whose runs hold more bands than that is planned without writing them out."""

FEW_BANDS = 1024
"""The programs of a launch of so many different bands are kept."""


@attrs.frozen
class _OutlineKey:
    """An outline's key. Of the spec only `fields` matter, so specs that agree there share an outline."""

    geometry: PacketGeometry
    workers: int
    fields: tuple[Any, ...]
    spec: DeviceSpec = attrs.field(eq=False)


def outline(geometry: PacketGeometry, spec: DeviceSpec, workers: int) -> Outline:
    """The launch of `workers`, kept for all devices on which it is the same."""
    return _outline(_OutlineKey(_in_first_page(geometry), workers, fields_that_plan(spec), spec))


@lru_cache(maxsize=64)
def _in_first_page(geometry: PacketGeometry) -> PacketGeometry:
    """The same launch at other addresses: only their places in a page matter."""
    phases = {
        name: PAGE_BYTES + getattr(geometry, name) % PAGE_BYTES * (getattr(geometry, name) > 0)
        for name in ("input_address", "output_address")
    }
    return attrs.evolve(geometry, **phases)


@attrs.frozen
class _ProgramKey:
    """A program's key: an outline, the very same one, and what prices it."""

    plan: Outline = attrs.field(eq=id)
    prices: tuple[int, ...]
    spec: DeviceSpec = attrs.field(eq=False)


def exact_program(plan: Outline, spec: DeviceSpec) -> LaunchProgram:
    """What the workers do on a device of that spec; kept for others that price it alike, where bands are few."""
    key = _ProgramKey(plan, fields_that_price(spec), spec)
    return _program(key) if len(plan.bands) <= FEW_BANDS else _priced(key)


@lru_cache(maxsize=64)
def _program(wanted: _ProgramKey) -> LaunchProgram:
    return _priced(wanted)


def _priced(wanted: _ProgramKey) -> LaunchProgram:
    priced: dict[Counts, Cost] = {}
    bands = tuple([_timed(band, wanted.spec, priced) for band in wanted.plan.bands])
    return LaunchProgram(bands, wanted.plan.workers)


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
def _outline(wanted: _OutlineKey) -> Outline:
    geometry = wanted.geometry
    if geometry.tiles <= SMALL_TILES and geometry.input_bytes + geometry.output_bytes <= SMALL_BYTES:
        templates = _templates_of(geometry, fields_that_shape(wanted.spec))
        known = _parts_of(geometry, wanted.fields, templates)
        return EnumeratingPlanner(wanted.spec, known).draw(geometry, wanted.workers)
    return plan_launch(geometry, wanted.spec, wanted.workers)


@lru_cache(maxsize=16)
def _templates_of(geometry: PacketGeometry, fields: tuple[Any, ...]) -> BandTemplates:
    """The bands of small launches: work items that are equal make the same ones, with any number of workers."""
    return BandTemplates()


@lru_cache(maxsize=16)
def _parts_of(geometry: PacketGeometry, fields: tuple[Any, ...], templates: BandTemplates) -> KnownParts:
    """The parts of small launches, on devices that plan alike."""
    return KnownParts(templates)


def plan_launch(geometry: PacketGeometry, spec: DeviceSpec, workers: int) -> Outline:
    """The launch of `workers` by runs, anew. Many runs are written out when they are asked for."""
    table = PartTable(spec)
    nests = NESTS[geometry.packs](geometry, spec, workers)
    return plan_nests(table, [nests(worker) for worker in range(workers)])


def plan_nests(table: PartTable, workers: Sequence[Sequence[Node]], most_written: int = MOST_WRITTEN) -> Outline:
    """The launch whose workers take these nodes; runs of more bands than that are written out when asked for."""
    maker = BlockMaker(table)
    if sum(map(maker.written, workers)) > most_written:
        try:
            totals = NestTotals.of(table, workers)
            runs = tuple([NestRuns(nodes, table, totals.numbers) if nodes else () for nodes in workers])
            return Outline(tuple(totals.bands), runs, *totals.account())
        except TooManyPlaces:
            table = PartTable(table.spec)
            maker = BlockMaker(table)
    draft = _Draft(table)
    runs = tuple([tuple(draft.worker(nodes, maker)) for nodes in workers])
    return Outline(tuple(draft.bands), runs, *draft.account())


@attrs.frozen(eq=False)
class NestRuns:
    """The runs of a worker, written out each time that they are asked for, from its nest."""

    nodes: Sequence[Node]
    table: PartTable
    numbers: dict[int, int]

    def __iter__(self) -> Iterator[BandRun]:
        order = DrainOrder(self.table)
        bands = np.full(2 * len(self.table.parts), -1, np.int32)
        bands[[*self.numbers]] = [*self.numbers.values()]
        for block in BlockMaker(self.table).blocks(self.nodes):
            for flags, times in order.ordered(block):
                parts = np.tile(block.parts, len(flags) // len(block))
                sequence, turns = _shortest(bands[2 * parts + flags], times)
                yield BandRun(array("i", sequence.tobytes()), turns)
            BANDS.begun += len(block) * block.times


@attrs.define(eq=False)
class _Draft:
    """An outline under way. `_taken` counts bands by part and order: twice a part's number, and one where it waits."""

    table: PartTable
    bands: dict[BandShape, int] = attrs.field(factory=dict, init=False)
    _taken: Counter[int] = attrs.field(factory=Counter, init=False)
    _parts: list[BandPart] = attrs.field(factory=list, init=False)
    _numbers: dict[int, int] = attrs.field(factory=dict, init=False)

    def worker(self, nodes: Sequence[Node], maker: BlockMaker) -> Iterator[BandRun]:
        """The runs of a worker."""
        order = DrainOrder(self.table)
        for block in maker.blocks(nodes):
            for flags, times in order.ordered(block):
                parts = np.tile(block.parts, len(flags) // len(block))
                yield self._run(2 * parts + flags, times)
            BANDS.begun += len(block) * block.times

    def _run(self, sequence: Any, times: int) -> BandRun:
        """The run of a sequence of parts, each twice its number, plus one where its drain waits."""
        sequence, times = _shortest(sequence, times)
        counts = np.bincount(sequence)
        present = np.flatnonzero(counts)
        self._taken.update(dict(zip(present.tolist(), (counts[present] * times).tolist(), strict=True)))
        return BandRun(array("i", self._bands(sequence, len(counts))[sequence].tobytes()), times)

    def _bands(self, sequence: Any, size: int) -> Any:
        """The band of each number in the sequence; new ones are numbered as they come."""
        firsts = np.full(size, len(sequence))
        firsts[sequence[::-1]] = np.arange(len(sequence))[::-1]
        known = np.zeros(size, np.int32)
        for number in np.argsort(firsts, kind="stable").tolist():
            if firsts[number] < len(sequence):
                known[number] = self._band(number)
        return known

    def _band(self, number: int) -> int:
        known = self._numbers.get(number)
        if known is None:
            if number // 2 >= len(self._parts):
                self._parts.extend(islice(self.table.parts, len(self._parts), None))
            shape = self._parts[number // 2].shape._replace(ordered=bool(number % 2))
            known = self._numbers[number] = self.bands.setdefault(shape, len(self.bands))
        return known

    def account(self) -> tuple[Traffic, Traffic, dict[str, int]]:
        """Traffic of reads and writes, and what the worker loop counts, of all bands that are taken."""
        reads, writes, counts = Traffic(), Traffic(), Counter[str]()
        parts = list(self.table.parts)
        for number, times in self._taken.items():
            part = parts[number // 2]
            descriptors = [read for group in part.shape.groups for read in group]
            add_traffic(reads, descriptors, times * len(descriptors), times)
            add_traffic(writes, part.shape.chain, times, times)
            for name, amount in part.counts:
                counts[name] += times * amount
            counts["ordered_drains"] += times * (number % 2)
        return reads, writes, {name: counts[name] for name in sorted(counts) if counts[name]}


def _shortest(sequence: Any, times: int) -> tuple[Any, int]:
    """The same with the sequence halved while its halves are equal, where that makes a run."""
    half, turns = sequence, times
    while len(half) % 2 == 0 and np.array_equal(half[: len(half) // 2], half[len(half) // 2 :]):
        half, turns = half[: len(half) // 2], 2 * turns
    return (half, turns) if turns >= FEWEST_TIMES else (sequence, times)
