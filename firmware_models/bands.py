"""Bands: the unit of a worker's program, and the one loop that every operation's worker runs.

A band is what fits a worker's scratch at once: gather its input, pack it into a slot, drain the slot. Each wait below
is a rule: gathers retire before their bytes are read; a slot is free before anything is packed into it; a drain that
shares a granule with one still in flight waits for it, since the device writes whole granules. The drain of one band
overlaps the gathers and the packing of the next; overlap of gathers with packing is not claimed.
Source: Tess document, "Execution and ownership"; docs/simulation.md, "Rules".
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple, Protocol, TypeVar

import attrs

from tessbed.firmware_models.cover import OVERSIZED_GROUP
from tessbed.firmware_models.pack import Fill, Move, Packer
from tessbed.sim.errors import HazardError
from tessbed.sim.launch import Body
from tessbed.sim.spec import DeviceSpec
from tessbed.sim.transfer import Descriptor
from tessbed.sim.worker import Steps, WorkerContext

BAND_BYTES = 32768
"""A band moves at most this much each way where a pixel allows it: half a descriptor's reach, so that a tile of several
bands overlaps its drains, and staging is bounded whatever the tensor."""


MOST_KEPT = 4096
"""A worker keeps bands of so many descriptors, to make others of them: memory must not grow with a tensor."""

LEAST_BYTES = 64
"""Every area of the scratch holds at least this much: a block of 16 channels in any form."""


@attrs.frozen
class Budget:
    """A worker's scratch: the gather area at 0, then one area for each slot. All sizes in bytes."""

    gather_bytes: int
    slot_bytes: int
    slots: int

    @classmethod
    def of(cls, spec: DeviceSpec, gathered: int, packed: int) -> "Budget":
        """Splits the usable scratch in the ratio of bytes gathered and packed for a pixel; each area gets some."""
        usable = spec.usable_scratch_bytes
        align = spec.scratch_align_bytes
        share = usable * gathered // (gathered + spec.slots * packed) // align * align
        gather_bytes = min(max(align, LEAST_BYTES, share), usable - spec.slots * max(align, LEAST_BYTES))
        return cls(gather_bytes, (usable - gather_bytes) // spec.slots // align * align, spec.slots)

    def slot(self, band: int) -> int:
        """Scratch offset of the slot that band number `band` uses."""
        return self.gather_bytes + band % self.slots * self.slot_bytes

    def check(self, gathered: int, packed: int) -> None:
        """Raise HazardError for a band of more bytes than its areas hold: it would spoil those of other bands."""
        for what, size, room in (("gathers", gathered, self.gather_bytes), ("packs", packed, self.slot_bytes)):
            if size > room:
                raise HazardError(f"a band {what} {size} bytes into an area of {room}")


@attrs.frozen
class Footprint:
    """The output bytes of one drain: from `low` to `high`, repeating every `period` with `inner` bytes in each."""

    low: int
    high: int
    period: int
    inner: int

    @classmethod
    def of(cls, address: int, extents: Sequence[int], strides: Sequence[int], run_bytes: int) -> "Footprint":
        """The footprint of a box of runs."""
        axes = sorted((s, n) for n, s in zip(extents, strides, strict=True) if n > 1)
        period, count = axes.pop() if axes else (0, 1)
        inner = sum((n - 1) * s for s, n in axes) + run_bytes
        return cls(address, address + (count - 1) * period + inner, period, inner)

    def meets(self, other: "Footprint", granule: int) -> bool:
        """True unless it is certain that no granule holds bytes of both."""
        if self.low // granule > (other.high - 1) // granule or other.low // granule > (self.high - 1) // granule:
            return False
        if self.period != other.period or not self.period or self.period % granule:
            return True
        turn = self.period // granule
        ahead = (other.low // granule - self.low // granule) % turn
        return ahead < self._granules(granule) or turn - ahead < other._granules(granule) or ahead == 0

    def _granules(self, granule: int) -> int:
        return (self.low + self.inner - 1) // granule - self.low // granule + 1


@attrs.frozen
class Band:
    """One band: its reads (`oversized` if a pitch among them is), its packing and cost, its drain."""

    reads: list[Descriptor]
    steps: list[Move | Fill]
    ticks: int
    chain: list[Descriptor]
    footprint: Footprint
    oversized: bool = False
    counts: dict[str, int] = attrs.Factory(dict)


Program = Callable[[int], Iterator[Band]]
"""What a launch does: the bands of a worker, by its number."""


class Site(NamedTuple):
    """Bands that follow each other: `make(site)` makes them of its `part` of the launch.

    Sites of one launch with equal keys make the same bands, but for addresses: those of reads count from `input`, those
    of drains from `output`, both device addresses.
    """

    key: Hashable
    input: int
    output: int
    make: Callable[["Site"], Iterator[Band]]
    part: tuple[Any, ...]


class Maker(Protocol):
    """Makes the bands of a worker one after the other; `made` so far, and the number decides the slot."""

    budget: Budget
    made: int


@attrs.define
class Moulds:
    """What a worker made of its last sites, to make others of it: equal keys, bands that differ by addresses alone.

    Bands know their slots, so the slot of a site's first band belongs into its key here.
    """

    _known: dict[Hashable, tuple[int, int, list[Band]]] = attrs.field(factory=dict, init=False)
    _descriptors: int = attrs.field(default=0, init=False)

    def bands(self, maker: Maker, site: Site, made: Iterable[Band]) -> Iterator[Band]:
        """The bands of a site: those of an equal one at its addresses, else `made`, which are kept."""
        key = (site.key, maker.made % maker.budget.slots)
        bands = self.like(key, site.input, site.output)
        if bands is None:
            return self.keep(key, site.input, site.output, made)
        maker.made += len(bands)
        return iter(bands)

    def like(self, key: Hashable, source: int, target: int) -> list[Band] | None:
        """The bands of a site from device addresses `source` and `target`; None where there is no mould."""
        known = self._known.get(key)
        if known is None:
            return None
        reads_by, drains_by = source - known[0], target - known[1]
        return [_moved(band, reads_by, drains_by) for band in known[2]]

    def keep(self, key: Hashable, source: int, target: int, made: Iterable[Band]) -> Iterator[Band]:
        """The bands as they are made, kept where they are not too many."""
        bands: list[Band] = []
        size = 0
        for band in made:
            size += len(band.reads) + len(band.chain)
            if size <= MOST_KEPT:
                bands.append(band)
            yield band
        if size <= MOST_KEPT:
            if self._descriptors + size > MOST_KEPT:
                self._known.clear()
                self._descriptors = 0
            self._known[key] = (source, target, bands)
            self._descriptors += size


def _moved(band: Band, reads_by: int, drains_by: int) -> Band:
    """The same band at other addresses."""
    place = band.footprint
    return Band(
        [Descriptor(address + reads_by, *shape) for address, *shape in band.reads],
        band.steps,
        band.ticks,
        [Descriptor(address + drains_by, *shape) for address, *shape in band.chain],
        Footprint(place.low + drains_by, place.high + drains_by, place.period, place.inner),
        band.oversized,
        band.counts,
    )


Sites = Callable[[int], Iterator[Site]]
"""A launch as the sites of a worker, by its number."""


def program_of(sites: Sites) -> Program:
    """The bands of all sites of a worker, one after the other."""
    return lambda worker: chain.from_iterable(site.make(site) for site in sites(worker))


def body_of(program: Program) -> Body:
    """The worker body that runs a program."""
    return lambda worker: run_bands(worker, program(worker.worker))


class Placed(Protocol):
    """What has a place in the output."""

    @property
    def footprint(self) -> Any:
        """It tells whether it `meets` another."""


P = TypeVar("P", bound=Placed)


def in_order(bands: Iterable[P], spec: DeviceSpec) -> Iterator[tuple[P, bool]]:
    """Each band, and whether its drain must wait for every earlier one: it may share a granule with one in flight."""
    granule = spec.write_unit_bytes
    in_flight: deque[Any] = deque(maxlen=spec.slots - 1)
    for band in bands:
        ordered = any(map(band.footprint.meets, in_flight, repeat(granule)))
        yield band, ordered
        if ordered:
            in_flight.clear()
        in_flight.append(band.footprint)


def run_bands(worker: WorkerContext, bands: Iterable[Band]) -> Steps:
    """The worker loop. A band's slot is its number modulo the slots."""
    spec = worker.spec
    for number, (band, ordered) in enumerate(in_order(bands, spec)):
        for group in wait_groups(band, spec):
            yield from worker.gather(group, oversized=band.oversized)
            worker.count("wait_groups")
        packer = Packer(worker.scratch, band.steps)
        yield from worker.pack(number % spec.slots, band.ticks, packer, band.chain, ordered=ordered)
        if ordered:
            worker.count("ordered_drains")
        _account(worker, band)
    yield from worker.wait_drains()


def wait_groups(band: Band, spec: DeviceSpec) -> Iterator[list[Descriptor]]:
    """The band's reads in groups that are issued together and waited for together."""
    size = min(OVERSIZED_GROUP, spec.dma.wait_group) if band.oversized else spec.dma.wait_group
    for first in range(0, len(band.reads), size):
        yield band.reads[first : first + size]


def _account(worker: WorkerContext, band: Band) -> None:
    worker.count("bands")
    if band.oversized:
        worker.count("oversized_pitch_reads", len(band.reads))
    for name, number in band.counts.items():
        if number:
            worker.count(name, number)


def even_parts(total: int, most: int) -> int:
    """The size of the parts when `total` is cut into as few parts of at most `most` as possible, all nearly equal."""
    return -(-total // -(-total // most))
