"""Parts: the different bands of a launch as numbers, each at all places where it is in a page.

A part is what a band touches there, its compute ticks, and what the worker loop counts for it. Its drain's footprint is
a number of its own, since it depends on no place: it counts from the first byte.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import attrs
import numpy as np

from tessbed.firmware_models.launch_outline import BandShape
from tessbed.firmware_models.nests.nest import Leaf
from tessbed.firmware_models.nests.planned_band import DescriptorArray, PlannedBand, Shape
from tessbed.firmware_models.nests.sides import Sides
from tessbed.firmware_models.worker_loop import group_size
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.spec.limits import PAGE_BYTES
from tessbed.sim.transfer.cost import Counts
from tessbed.sim.transfer.descriptor import Descriptor, check_fields
from tessbed.sim.transfer.phase_counts import CountList, PhaseCounts

Array = Any
Statistics = tuple[tuple[str, int], ...]

FIELD = 32
LARGEST = (1 << FIELD) - 1
"""Of a number in a part's code."""


_band_shape = partial(tuple.__new__, BandShape)
"""Takes a tuple of the fields, in half the time of the class, which is a function in Python."""


class BandPart(NamedTuple):
    """A band at some place in its pages: what its wait groups touch and what its drain touches, its compute ticks, and
    what the worker loop counts for it but its order.

    All are numbers of the table. A part is kept as its `code`: there may be tens of thousands, and unlike tuples the
    garbage collector does not look through integers.
    """

    groups: int
    chain: int
    ticks: int
    counts: int

    @property
    def code(self) -> int:
        """All in one integer."""
        return ((self.groups << FIELD | self.chain) << FIELD | self.ticks) << FIELD | self.counts

    @classmethod
    def of(cls, code: int) -> "BandPart":
        """The part of a code."""
        return cls(code >> 3 * FIELD, code >> 2 * FIELD & LARGEST, code >> FIELD & LARGEST, code & LARGEST)


class PlacedBand(NamedTuple):
    """A band as the parts of all bands of its form, and how far ahead of them its reads and its drain are."""

    form: "BandForm"
    reads: int
    drain: int


@attrs.define(eq=False)
class PartTable:
    """The codes of the parts of a launch so far, `listed` by number.

    The footprints are (bytes from the first to behind the last, period, inner).
    """

    spec: DeviceSpec
    parts: dict[int, int] = attrs.field(factory=dict, init=False)
    listed: list[int] = attrs.field(factory=list, init=False)
    footprints: dict[tuple[int, int, int], int] = attrs.field(factory=dict, init=False)
    statistics: dict[Statistics, int] = attrs.field(factory=dict, init=False)
    counts: CountList = attrs.field(factory=CountList, init=False)
    _bands: dict[int, PlacedBand] = attrs.field(factory=dict, init=False)
    _forms: dict[tuple[Any, ...], "BandForm"] = attrs.field(factory=dict, init=False)
    _phases: dict[tuple[str, Shape], PhaseCounts] = attrs.field(factory=dict, init=False)
    _touched: dict[tuple[int, bytes], int] = attrs.field(factory=dict, init=False)
    _values: list[tuple[Any, ...]] = attrs.field(factory=list, init=False)
    _ticks: list[int] = attrs.field(factory=list, init=False)
    _ticks_numbers: dict[int, int] = attrs.field(factory=dict, init=False)
    _groups: dict[bytes, tuple[Counts, ...]] = attrs.field(factory=dict, init=False)

    def part_numbers(self, codes: Sequence[int]) -> list[int]:
        """The numbers of parts."""
        new = [code for code in dict.fromkeys(codes) if code not in self.parts]
        self.parts.update(zip(new, range(len(self.listed), len(self.listed) + len(new)), strict=True))
        self.listed += new
        return [self.parts[code] for code in codes]

    def groups(self, row: Array, size: int) -> int:
        """The number of what wait groups of so many descriptors touch, given the number of what each does."""
        key = size, row.tobytes()
        known = self._touched.setdefault(key, len(self._values))
        if known == len(self._values):
            step = size * row.itemsize
            self._values.append(tuple([self._group(key[1][at : at + step]) for at in range(0, len(key[1]), step)]))
        return known

    def chain(self, row: Array) -> int:
        """The number of what a drain touches, given the number of what each of its descriptors does."""
        key = 0, row.tobytes()
        known = self._touched.setdefault(key, len(self._values))
        if known == len(self._values):
            self._values.append(self._group(key[1]))
        return known

    def _group(self, key: bytes) -> tuple[Counts, ...]:
        """What some descriptors touch, given their numbers as bytes: equal ones are the same tuple."""
        known = self._groups.get(key)
        if known is None:
            numbers = np.frombuffer(key, np.int32).tolist()
            known = self._groups[key] = tuple(map(self.counts.listed.__getitem__, numbers))
        return known

    def shape(self, code: int, *, ordered: bool) -> BandShape:
        """The band of a part."""
        groups, chain, ticks = code >> 3 * FIELD, code >> 2 * FIELD & LARGEST, code >> FIELD & LARGEST
        return _band_shape((self._values[groups], self._ticks[ticks], ordered, self._values[chain]))

    def ticks_number(self, ticks: int) -> int:
        """The number of so many ticks."""
        known = self._ticks_numbers.setdefault(ticks, len(self._ticks))
        if known == len(self._ticks):
            self._ticks.append(ticks)
        return known

    def band(self, band: PlannedBand) -> PlacedBand:
        """A band as one of its form: bands that differ by nothing but where they are have one."""
        known = self._bands.get(id(band))
        if known is None:
            reads = int(band.reads.addresses[0]) if len(band.reads) else 0
            drain = band.footprint.low
            known = self._bands[id(band)] = PlacedBand(self._form(band, reads, drain), reads, drain)
        return known

    def _form(self, band: PlannedBand, reads: int, drain: int) -> "BandForm":
        sides = _ahead(band.reads, -reads), _ahead(band.chain, -drain)
        place, counts = band.footprint, (*band.counts.items(),)
        footprint = place.high - place.low, place.period, place.inner
        arrays = [(side.addresses.tobytes(), side.kinds.tobytes(), side.shapes) for side in sides]
        key = (*arrays, footprint, band.ticks, band.oversized, counts)
        known = self._forms.get(key)
        if known is None:
            known = self._forms[key] = BandForm.of(self, attrs.evolve(band, reads=sides[0], chain=sides[1]))
        return known

    def phase_counts(self, kind: str, shape: Shape) -> PhaseCounts:
        """What descriptors of this shape touch. Raises HazardError for a field that is too narrow."""
        known = self._phases.get((kind, shape))
        if known is None:
            check_fields(self.spec, Descriptor(0, 0, *shape))
            known = self._phases[kind, shape] = PhaseCounts(self.spec, kind, shape[:3], self.counts)
        return known


@attrs.define(eq=False)
class BandForm:
    """The parts of bands that differ by nothing but where they are, by what their reads and their drains touch."""

    table: PartTable
    ticks: int
    group_size: int
    reads: Sides
    chain: Sides
    footprint: int
    statistics: Statistics
    _numbers: Array = attrs.field(factory=lambda: np.full((0, 0), -1, np.int32), init=False)
    _reads_codes: list[int] = attrs.field(factory=list, init=False)
    _drain_codes: list[int] = attrs.field(factory=list, init=False)

    @classmethod
    def of(cls, table: PartTable, band: PlannedBand) -> "BandForm":
        """That of a band whose like was not met before."""
        size, place = group_size(table.spec, oversized=band.oversized), band.footprint
        footprint = place.high - place.low, place.period, place.inner
        counts = {"wait_groups": -(-len(band.reads) // size), "bands": 1}
        counts["oversized_pitch_reads"] = len(band.reads) * band.oversized
        reads, chain = [
            Sides(side, [table.phase_counts(kind, shape) for shape in side.shapes])
            for kind, side in (("read", band.reads), ("write", band.chain))
        ]
        number = table.footprints.setdefault(footprint, len(table.footprints))
        return cls(table, band.ticks, size, reads, chain, number, (*counts.items(), *band.counts.items()))

    def numbers(self, leaf: Leaf, turns: tuple[int, ...]) -> Array:
        """The part of a leaf in each of so many turns of each loop around it, as an array of that shape."""
        _, reads_ahead, drain_ahead = self.table.band(leaf.band)
        moves_with, movers = leaf.movers
        places = [_places(ahead + reads_ahead, moves[: len(turns)], turns) for ahead, *moves in movers]
        reads = self.reads.answered(moves_with, places)
        moves = [move.drain for move in leaf.moves[: len(turns)]]
        drains = self.chain.together(_places(leaf.ahead.drain + drain_ahead, moves, turns))
        numbers = self._known(reads, drains)
        missing = numbers < 0
        if missing.any():
            pairs = dict.fromkeys(zip(reads[missing].tolist(), drains[missing].tolist(), strict=True))
            wanted = tuple(np.array([*pairs]).T)
            self._numbers[wanted] = self.part_numbers(*wanted)
            numbers = self._numbers[reads, drains]
        return numbers.reshape(turns)

    def _known(self, reads: Array, drains: Array) -> Array:
        """The numbers that are known, -1 for the others; there is room for all."""
        shape = len(self.reads.answers), len(self.chain.answers)
        if self._numbers.shape != shape:
            grown = np.full(shape, -1, np.int32)
            grown[: self._numbers.shape[0], : self._numbers.shape[1]] = self._numbers
            self._numbers = grown
        return self._numbers[reads, drains]

    def part_numbers(self, reads: Array, drains: Array) -> list[int]:
        """The parts that touch these of the answers of reads, with these of its drain."""
        table = self.table
        counts = table.statistics.setdefault(self.statistics, len(table.statistics))
        for row in self.reads.answers[len(self._reads_codes) :]:
            self._reads_codes.append(BandPart(table.groups(row, self.group_size), 0, 0, 0).code)
        for row in self.chain.answers[len(self._drain_codes) :]:
            self._drain_codes.append(BandPart(0, table.chain(row), table.ticks_number(self.ticks), counts).code)
        pairs = zip(reads.tolist(), drains.tolist(), strict=True)
        return table.part_numbers([self._reads_codes[read] | self._drain_codes[drain] for read, drain in pairs])


def _ahead(side: DescriptorArray, by: int) -> DescriptorArray:
    return attrs.evolve(side, addresses=(side.addresses + by) % PAGE_BYTES)


def _places(ahead: int, moves: Sequence[int], turns: tuple[int, ...]) -> Array:
    """How far ahead, modulo a page, in each turn, one after the other."""
    total = np.full(turns, ahead % PAGE_BYTES)
    for axis, (move, count) in enumerate(zip(moves, turns, strict=True)):
        steps = np.arange(count) * (move % PAGE_BYTES) % PAGE_BYTES
        total += steps.reshape(-1, *(1,) * (len(turns) - 1 - axis))
    return total.reshape(-1) & (PAGE_BYTES - 1)
