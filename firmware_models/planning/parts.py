"""Parts: the different bands of a launch as numbers, each at all places where it is in a page.

A part is what a band touches there, its compute ticks, and what the worker loop counts for it. Its drain's footprint is
a number of its own, since it depends on no place: it counts from the first byte.

All that a part is made of has numbers, which are few, and parts may be a hundred thousand. So a part is one integer of
64 bits, its *code*, and an array of them is made and compared in a few calls: what the wait groups touch, and a *tail*:

    code   groups, tail
    tail   what is counted, drain
    drain  compute ticks, what the drain touches

A band is a part and whether its drain waits, and its *key* is groups, drain, and one bit: parts that differ by what is
counted alone are one band. What is touched is made into tuples when a band is looked at.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import attrs
import numpy as np

from tessbed.firmware_models.launch_outline import BandShape
from tessbed.firmware_models.nests.nest import Leaf
from tessbed.firmware_models.nests.planned_band import DescriptorArray, PlannedBand, Shape
from tessbed.firmware_models.planning.sides import Sides
from tessbed.firmware_models.worker_loop import group_size
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.spec.limits import PAGE_BYTES
from tessbed.sim.transfer.cost import Counts
from tessbed.sim.transfer.descriptor import Descriptor, check_fields
from tessbed.sim.transfer.phase_counts import CountList, PhaseCounts

Array = Any
Statistics = tuple[tuple[str, int], ...]

FIELD = 31
LARGEST = (1 << FIELD) - 1
ITEM_BYTES = np.dtype(np.int32).itemsize
"""Of a tail in a part's code; groups are as few."""


_band_shape = partial(tuple.__new__, BandShape)
"""Takes a tuple of the fields, in half the time of the class, which is a function in Python."""


class PlacedBand(NamedTuple):
    """A band as the parts of all bands of its form, and how far ahead of them its reads and its drain are."""

    form: "BandForm"
    reads: int
    drain: int


@attrs.define(eq=False)
class Touched:
    """What descriptors touch in a row, by number: for each its number in `counts`. It is made when it is looked at."""

    counts: CountList
    _numbers: dict[tuple[int, bytes], int] = attrs.field(factory=dict, init=False)
    _rows: list[tuple[int, bytes]] = attrs.field(factory=list, init=False)
    _values: dict[int, tuple[Any, ...]] = attrs.field(factory=dict, init=False)
    _groups: dict[bytes, tuple[Counts, ...]] = attrs.field(factory=dict, init=False)

    def number(self, size: int, row: bytes) -> int:
        """The number of a row in groups of so many descriptors; of a row as it is where the size is 0."""
        known = self._numbers.setdefault((size, row), len(self._rows))
        if known == len(self._rows):
            self._rows.append((size, row))
        return known

    def value(self, number: int) -> tuple[Any, ...]:
        """What is touched: groups of counts, or counts."""
        known = self._values.get(number)
        if known is None:
            size, row = self._rows[number]
            step = size * ITEM_BYTES
            groups = tuple([self._group(row[at : at + step]) for at in range(0, len(row), step)]) if size else ()
            known = self._values[number] = groups if size else self._group(row)
        return known

    def times(self, number: int) -> Array:
        """How often each of `counts` is touched."""
        return np.bincount(np.frombuffer(self._rows[number][1], np.int32), minlength=len(self.counts.listed))

    def _group(self, key: bytes) -> tuple[Counts, ...]:
        """What some descriptors touch, given their numbers as bytes: equal ones are the same tuple."""
        known = self._groups.get(key)
        if known is None:
            numbers = np.frombuffer(key, np.int32).tolist()
            known = self._groups[key] = tuple(map(self.counts.listed.__getitem__, numbers))
        return known


@attrs.define(eq=False)
class PartTable:
    """The codes of the parts of a launch so far, `listed` by number, and their `tails`.

    The footprints are (bytes from the first to behind the last, period, inner).
    """

    spec: DeviceSpec
    parts: dict[int, int] = attrs.field(factory=dict, init=False)
    listed: list[int] = attrs.field(factory=list, init=False)
    tails: list[int] = attrs.field(factory=list, init=False)
    footprints: dict[tuple[int, int, int], int] = attrs.field(factory=dict, init=False)
    statistics: dict[Statistics, int] = attrs.field(factory=dict, init=False)
    counts: CountList = attrs.field(factory=CountList, init=False)
    _bands: dict[int, PlacedBand] = attrs.field(factory=dict, init=False)
    _forms: dict[tuple[Any, ...], "BandForm"] = attrs.field(factory=dict, init=False)
    _phases: dict[tuple[str, Shape], PhaseCounts] = attrs.field(factory=dict, init=False)
    _sides: dict[tuple[Any, ...], Sides] = attrs.field(factory=dict, init=False)
    _numbers: dict[tuple[int, tuple[int, ...]], list[int]] = attrs.field(factory=dict, init=False)
    touched_by_groups: "Touched" = attrs.field(init=False)
    touched_by_drains: "Touched" = attrs.field(init=False)
    _tail_numbers: dict[int, int] = attrs.field(factory=dict, init=False)
    _drains: list[int] = attrs.field(factory=list, init=False)
    _drain_numbers: dict[int, int] = attrs.field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        self.touched_by_groups, self.touched_by_drains = Touched(self.counts), Touched(self.counts)

    def part_numbers(self, codes: Sequence[int]) -> list[int]:
        """The numbers of parts."""
        new = [code for code in dict.fromkeys(codes) if code not in self.parts]
        self.parts.update(zip(new, range(len(self.listed), len(self.listed) + len(new)), strict=True))
        self.listed += new
        return [*map(self.parts.__getitem__, codes)]

    def tail(self, chain: Array, ticks: int, counts: int) -> int:
        """The number of a tail, given what each descriptor of its drain touches, its ticks and what is counted."""
        drain = number_of(ticks << FIELD | self.chain(chain), self._drain_numbers, self._drains)
        return number_of(counts << FIELD | drain, self._tail_numbers, self.tails)

    def numbers_in(self, part: int) -> tuple[int, int, int]:
        """The numbers that a part is made of: of what its groups touch, what its drain does, what is counted for it."""
        code = self.listed[part]
        tail = self.tails[code & LARGEST]
        return code >> FIELD, self._drains[tail & LARGEST] & LARGEST, tail >> FIELD

    def keys(self, codes: Array) -> Array:
        """The keys of the bands of these parts whose drains do not wait; those that wait are one more."""
        drains = np.asarray(self.tails, np.int64) & LARGEST
        return codes >> FIELD << FIELD + 1 | drains[codes & LARGEST] << 1

    def groups(self, row: Array, size: int) -> int:
        """The number of what wait groups of so many descriptors touch, given the number of what each does."""
        return self.touched_by_groups.number(size, row.tobytes())

    def chain(self, row: Array) -> int:
        """The number of what a drain touches, given the number of what each of its descriptors does."""
        return self.touched_by_drains.number(0, row.tobytes())

    def shape(self, key: int) -> BandShape:
        """The band of a key."""
        drain = self._drains[key >> 1 & LARGEST]
        groups, chain = self.touched_by_groups.value(key >> FIELD + 1), self.touched_by_drains.value(drain & LARGEST)
        return _band_shape((groups, drain >> FIELD, key & 1 > 0, chain))

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
        footprint, counts = self.footprint(band), (*band.counts.items(),)
        arrays = [(side.addresses.tobytes(), side.kinds.tobytes(), side.shapes) for side in sides]
        key = (*arrays, footprint, band.ticks, band.oversized, counts)
        known = self._forms.get(key)
        if known is None:
            known = self._forms[key] = BandForm.of(self, attrs.evolve(band, reads=sides[0], chain=sides[1]))
        return known

    def footprint(self, band: PlannedBand) -> int:
        """The number of the footprint of a band's drain."""
        place = band.footprint
        return self.footprints.setdefault((place.high - place.low, place.period, place.inner), len(self.footprints))

    def sides(self, kind: str, side: DescriptorArray) -> Sides:
        """The descriptors of a band in one direction; equal ones of several forms are the same."""
        key = kind, side.addresses.tobytes(), side.kinds.tobytes(), side.shapes
        known = self._sides.get(key)
        if known is None:
            known = self._sides[key] = Sides(side, [self.phase_counts(kind, shape) for shape in side.shapes])
        return known

    def numbers_of(self, sides: Sides, *what: int) -> list[int]:
        """The numbers of a side's answers so far, to be added to: of groups by their size, of tails by the rest."""
        return self._numbers.setdefault((id(sides), what), [])

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

    @classmethod
    def of(cls, table: PartTable, band: PlannedBand) -> "BandForm":
        """That of a band whose like was not met before."""
        size, footprint = group_size(table.spec, oversized=band.oversized), table.footprint(band)
        reads, chain = table.sides("read", band.reads), table.sides("write", band.chain)
        return cls(table, band.ticks, size, reads, chain, footprint, band_statistics(table.spec, band))

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
            self._numbers[wanted] = self.table.part_numbers(self.codes(*wanted).tolist())
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

    def codes(self, reads: Array, drains: Array) -> Array:
        """The codes of the parts that touch these of the answers of reads, with these of its drain."""
        table = self.table
        counts = table.statistics.setdefault(self.statistics, len(table.statistics))
        groups = table.numbers_of(self.reads, self.group_size)
        tails = table.numbers_of(self.chain, self.ticks, counts)
        groups += [table.groups(row, self.group_size) for row in self.reads.answers[len(groups) :]]
        tails += [table.tail(row, self.ticks, counts) for row in self.chain.answers[len(tails) :]]
        return np.asarray(groups, np.int64)[reads] << FIELD | np.asarray(tails, np.int64)[drains]


def band_statistics(spec: DeviceSpec, band: PlannedBand) -> Statistics:
    """What the worker loop counts for a band, but for its order."""
    reads, size = len(band.reads), group_size(spec, oversized=band.oversized)
    counts = (("wait_groups", -(-reads // size)), ("bands", 1), ("oversized_pitch_reads", reads * band.oversized))
    return (*counts, *band.counts.items())


def number_of(key: int, numbers: dict[int, int], listed: list[int]) -> int:
    """The number of a key, which is listed where it is new."""
    known = numbers.setdefault(key, len(listed))
    if known == len(listed):
        listed.append(key)
    return known


def _ahead(side: DescriptorArray, by: int) -> DescriptorArray:
    return attrs.evolve(side, addresses=(side.addresses + by) % PAGE_BYTES)


def _places(ahead: int, moves: Sequence[int], turns: tuple[int, ...]) -> Array:
    """How far ahead, modulo a page, in each turn, one after the other."""
    total = np.full(turns, ahead % PAGE_BYTES)
    for axis, (move, count) in enumerate(zip(moves, turns, strict=True)):
        steps = np.arange(count) * (move % PAGE_BYTES) % PAGE_BYTES
        total += steps.reshape(-1, *(1,) * (len(turns) - 1 - axis))
    return total.reshape(-1) & (PAGE_BYTES - 1)
