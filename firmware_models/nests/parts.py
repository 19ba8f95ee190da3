"""Parts: the different bands of a launch as numbers, each at all places where it is in a page.

A part is what a band touches there, its compute ticks, and what the worker loop counts for it. Its drain's footprint is
a number of its own, since it depends on no place: it counts from the first byte.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise, repeat
from typing import Any, NamedTuple

import attrs
import numpy as np

from tessbed.firmware_models.band import Band
from tessbed.firmware_models.launch_outline import BandShape
from tessbed.firmware_models.nests.nest import Leaf
from tessbed.firmware_models.worker_loop import wait_groups
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.spec.limits import PAGE_BYTES
from tessbed.sim.transfer.cost import Counts
from tessbed.sim.transfer.descriptor import Descriptor, check_fields
from tessbed.sim.transfer.phase_counts import PhaseCounts, distinct

Array = Any
Statistics = tuple[tuple[str, int], ...]


class BandPart(NamedTuple):
    """A band at some place in its pages: what its wait groups touch and what its drain touches, both as numbers of the
    table, its compute ticks, and what the worker loop counts for it but its order."""

    groups: int
    ticks: int
    chain: int
    counts: Statistics

    def key(self, *, ordered: bool) -> tuple[int, int, int, bool]:
        """What is the same of parts that are one band."""
        return self.groups, self.ticks, self.chain, ordered


@attrs.define(eq=False)
class PartTable:
    """The parts of a launch so far, `listed` by number.

    The footprints are (bytes from the first to behind the last, period, inner).
    """

    spec: DeviceSpec
    parts: dict[BandPart, int] = attrs.field(factory=dict, init=False)
    listed: list[BandPart] = attrs.field(factory=list, init=False)
    footprints: dict[tuple[int, int, int], int] = attrs.field(factory=dict, init=False)
    _bands: dict[int, "BandParts"] = attrs.field(factory=dict, init=False)
    _counts: dict[tuple[str, tuple[int, int, int], int], PhaseCounts] = attrs.field(factory=dict, init=False)
    _touched: dict[tuple[Any, ...], int] = attrs.field(factory=dict, init=False)
    _values: list[tuple[Any, ...]] = attrs.field(factory=list, init=False)

    def part_number(self, part: BandPart) -> int:
        """The number of a part."""
        known = self.parts.setdefault(part, len(self.listed))
        if known == len(self.listed):
            self.listed.append(part)
        return known

    def number(self, touched: tuple[Any, ...]) -> int:
        """The number of what wait groups or a drain touch: a long tuple is looked at once."""
        known = self._touched.setdefault(touched, len(self._values))
        if known == len(self._values):
            self._values.append(touched)
        return known

    def shape(self, part: BandPart, *, ordered: bool) -> BandShape:
        """The band of a part."""
        return BandShape(self._values[part.groups], part.ticks, ordered, self._values[part.chain])

    def band(self, band: Band) -> "BandParts":
        """The parts of a band."""
        known = self._bands.get(id(band))
        if known is None:
            known = self._bands[id(band)] = BandParts.of(self, band)
        return known

    def phase_counts(self, kind: str, descriptor: Descriptor) -> PhaseCounts:
        """What descriptors like this one touch. Raises HazardError for a field that is too narrow."""
        _, _, rows, row_bytes, pitch, scratch_pitch = descriptor
        key = kind, (rows, row_bytes, pitch), scratch_pitch
        known = self._counts.get(key)
        if known is None:
            check_fields(self.spec, descriptor)
            known = self._counts[key] = PhaseCounts(self.spec, kind, key[1])
        return known


@attrs.frozen(eq=False)
class _Columns:
    """Descriptors by what decides what they touch: `groups` of addresses that share phase counts and move together.

    `column` is, of each descriptor, its place in the addresses of all groups.
    """

    groups: list[tuple[PhaseCounts, int, Array]]
    column: list[int]

    @classmethod
    def of(cls, counts: Sequence[PhaseCounts], addresses: Sequence[int], moves_with: Sequence[int]) -> "_Columns":
        """Those of descriptors that move with others of the same number."""
        groups: dict[tuple[int, int], tuple[PhaseCounts, dict[int, int]]] = {}
        at = []
        for of, address, mover in zip(counts, addresses, moves_with, strict=True):
            known = groups.setdefault((id(of), mover), (of, {}))[1]
            at.append(((id(of), mover), known.setdefault(address, len(known))))
        starts = dict(zip(groups, accumulate([0, *[len(known) for _, known in groups.values()]]), strict=False))
        found = [(of, mover, np.asarray([*known], np.int64)) for (_, mover), (of, known) in groups.items()]
        return cls(found, [starts[group] + place for group, place in at])

    def numbers(self, ahead: Sequence[Array]) -> Array:
        """What each touches, in a row; `ahead` are the distances of those that move together, an array each."""
        return np.concatenate([of.numbers((at[:, None] + ahead[mover]) % PAGE_BYTES) for of, mover, at in self.groups])

    def numbers_of(self, number: int, ahead: Array) -> Array:
        """What each of those touches that move with this number, in a row."""
        return np.concatenate(
            [of.numbers((at[:, None] + ahead) % PAGE_BYTES) for of, mover, at in self.groups if mover == number]
        )

    def counts(self, numbers: Sequence[int]) -> tuple[Counts, ...]:
        """What each descriptor touches, by the number of each column."""
        each = [of.counts[number] for of, number in zip(self._owners(), numbers, strict=True)]
        return tuple([each[column] for column in self.column])

    def _owners(self) -> Iterator[PhaseCounts]:
        for of, _, addresses in self.groups:
            yield from repeat(of, len(addresses))


@attrs.define(eq=False)
class Sides:
    """Descriptors that move together, and what they touch by how far ahead of their place they are, modulo a page.

    `touched` are the different answers so far.
    """

    of_each: list[PhaseCounts]
    addresses: list[int]
    touched: list[tuple[Counts, ...]] = attrs.field(factory=list, init=False)
    _columns: dict[tuple[int, ...], _Columns] = attrs.field(factory=dict, init=False)
    _numbers: dict[tuple[int, tuple[int, ...]], int] = attrs.field(factory=dict, init=False)
    _known: Array = attrs.field(factory=lambda: np.full(PAGE_BYTES, -1, np.int32), init=False)

    @classmethod
    def of(cls, table: PartTable, kind: str, descriptors: list[Descriptor]) -> "Sides":
        """The descriptors of a band in one direction."""
        addresses = [descriptor.address % PAGE_BYTES for descriptor in descriptors]
        return cls([table.phase_counts(kind, descriptor) for descriptor in descriptors], addresses)

    def together(self, ahead: Array) -> Array:
        """The places in `touched` where all descriptors are as far ahead."""
        found = self._known[ahead]
        if (found < 0).any():
            wanted = np.zeros(PAGE_BYTES, bool)
            wanted[ahead] = True
            missing = np.flatnonzero(wanted & (self._known < 0))
            self._known[missing] = self.apart((0,) * len(self.of_each), [missing])
            found = self._known[ahead]
        return found

    def apart(self, moves_with: tuple[int, ...], ahead: Sequence[Array]) -> Array:
        """The places in `touched` where each descriptor is as far ahead as those that it moves with."""
        if not self.of_each:
            return np.full(len(ahead[0]), self._number(0, (), _Columns([], [])), np.int32)
        columns = self.columns(moves_with)
        numbers = columns.numbers(ahead)
        firsts, which = distinct(numbers)
        different = [self._number(id(columns), tuple(row), columns) for row in numbers[:, firsts].T.tolist()]
        return np.asarray(different, np.int32)[which]

    def columns(self, moves_with: tuple[int, ...]) -> _Columns:
        """The descriptors as columns."""
        known = self._columns.get(moves_with)
        if known is None:
            known = self._columns[moves_with] = _Columns.of(self.of_each, self.addresses, moves_with)
        return known

    def sums(
        self, moves_with: tuple[int, ...], ahead: Sequence[Array], times: Sequence[Array]
    ) -> Iterator[tuple[Counts, int]]:
        """What all descriptors touch, and how often, where those that move together are `ahead` so many `times`."""
        columns = self.columns(moves_with)
        many, first = np.bincount(columns.column), 0
        for of, mover, addresses in columns.groups:
            numbers = of.numbers((addresses[:, None] + ahead[mover]) % PAGE_BYTES)
            weights = many[first : first + len(addresses), None] * times[mover]
            sums = _sums(numbers.reshape(-1), weights.reshape(-1), len(of.counts))
            yield from ((of.counts[number], int(sums[number])) for number in np.flatnonzero(sums).tolist())
            first += len(addresses)

    def _number(self, columns: int, row: tuple[int, ...], of: _Columns) -> int:
        known = self._numbers.get((columns, row))
        if known is None:
            known = self._numbers[columns, row] = len(self.touched)
            self.touched.append(of.counts(row))
        return known


@attrs.define(eq=False)
class BandParts:
    """The parts of one band by what its reads and its drain touch."""

    table: PartTable
    band: Band
    groups: list[tuple[int, int]]
    reads: Sides
    chain: Sides
    footprint: int
    statistics: Statistics
    _numbers: Array = attrs.field(factory=lambda: np.full((0, 0), -1, np.int32), init=False)
    _parts: dict[tuple[int, int], int] = attrs.field(factory=dict, init=False)
    _grouped: dict[int, int] = attrs.field(factory=dict, init=False)

    @classmethod
    def of(cls, table: PartTable, band: Band) -> "BandParts":
        """Those of a band that was not met before."""
        sizes = [len(group) for group in wait_groups(band, table.spec)]
        ends = np.cumsum([0, *sizes]).tolist()
        place = band.footprint
        footprint = place.high - place.low, place.period, place.inner
        counts = {"wait_groups": len(sizes), "bands": 1, "oversized_pitch_reads": len(band.reads) * band.oversized}
        return cls(
            table,
            band,
            [*pairwise(ends)],
            Sides.of(table, "read", band.reads),
            Sides.of(table, "write", band.chain),
            table.footprints.setdefault(footprint, len(table.footprints)),
            (*counts.items(), *band.counts.items()),
        )

    def numbers(self, leaf: Leaf, turns: tuple[int, ...]) -> Array:
        """The part of a leaf in each of so many turns of each loop around it, as an array of that shape."""
        reads = self._gathered(leaf, turns)
        drains = self.chain.together(_places(leaf.ahead.drain, [move.drain for move in leaf.moves], turns))
        numbers = self._known(reads, drains)
        if (numbers < 0).any():
            missing = numbers < 0
            for pair in dict.fromkeys(zip(reads[missing].tolist(), drains[missing].tolist(), strict=True)):
                self._numbers[pair] = self.number(*pair)
            numbers = self._numbers[reads, drains]
        return numbers

    def _gathered(self, leaf: Leaf, turns: tuple[int, ...]) -> Array:
        """What the reads touch in each turn."""
        moves_with, movers = leaf.movers(len(self.band.reads))
        places = [_places(ahead, moves[: len(turns)], turns) for ahead, *moves in movers]
        if len(places) == 1:
            return self.reads.together(places[0])
        return self.reads.apart(moves_with, [place.reshape(-1) for place in places]).reshape(turns)

    def _known(self, reads: Array, drains: Array) -> Array:
        """The numbers that are known, -1 for the others; there is room for all."""
        shape = len(self.reads.touched), len(self.chain.touched)
        if self._numbers.shape != shape:
            grown = np.full(shape, -1, np.int32)
            grown[: self._numbers.shape[0], : self._numbers.shape[1]] = self._numbers
            self._numbers = grown
        return self._numbers[reads, drains]

    def number(self, reads: int, drain: int) -> int:
        """The part that touches these of `reads.touched` and `chain.touched`."""
        known = self._parts.get((reads, drain))
        if known is None:
            chain = self.table.number(self.chain.touched[drain])
            part = BandPart(self._groups(reads), self.band.ticks, chain, self.statistics)
            known = self._parts[reads, drain] = self.table.part_number(part)
        return known

    def _groups(self, reads: int) -> int:
        known = self._grouped.get(reads)
        if known is None:
            gathered = self.reads.touched[reads]
            groups = tuple([gathered[first:end] for first, end in self.groups])
            known = self._grouped[reads] = self.table.number(groups)
        return known


def _sums(numbers: Array, weights: Array, size: int) -> Array:
    """The weights of each number; in floating point, which is quicker, where no sum leaves the exact integers."""
    if int(weights.sum()) < 1 << 53:
        return np.bincount(numbers, weights, size).astype(np.int64)
    sums = np.zeros(size, np.int64)
    np.add.at(sums, numbers, weights)
    return sums


def _places(ahead: int, moves: list[int], turns: tuple[int, ...]) -> Array:
    """How far ahead, modulo a page, in each turn."""
    total = np.full(turns, ahead % PAGE_BYTES)
    for axis, (move, count) in enumerate(zip(moves, turns, strict=True)):
        steps = np.arange(count) * (move % PAGE_BYTES) % PAGE_BYTES
        total += steps.reshape(-1, *(1,) * (len(turns) - 1 - axis))
    return total & (PAGE_BYTES - 1)
