"""Parts: the different bands of a launch as numbers, each at all places where it is in a page.

A part is what a band touches there, its compute ticks, and what the worker loop counts for it. Its drain's footprint is
a number of its own, since it depends on no place: it counts from the first byte.
"""

from itertools import pairwise
from typing import Any

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


@attrs.frozen
class BandPart:
    """A band at some place in its pages, and what the worker loop counts for it but its order."""

    shape: BandShape
    counts: Statistics


@attrs.define(eq=False)
class PartTable:
    """The parts of a launch so far, and the footprints as (bytes from the first to behind the last, period, inner)."""

    spec: DeviceSpec
    parts: dict[BandPart, int] = attrs.field(factory=dict, init=False)
    footprints: dict[tuple[int, int, int], int] = attrs.field(factory=dict, init=False)
    _bands: dict[int, "BandParts"] = attrs.field(factory=dict, init=False)
    _counts: dict[tuple[str, tuple[int, int, int], int], PhaseCounts] = attrs.field(factory=dict, init=False)

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


@attrs.define(eq=False)
class Sides:
    """Descriptors that move together, and what they touch by how far ahead of their place they are, modulo a page.

    `touched` are the different answers so far.
    """

    counts: list[PhaseCounts]
    addresses: Array
    touched: list[tuple[Counts, ...]] = attrs.field(factory=list, init=False)
    _numbers: dict[tuple[int, ...], int] = attrs.field(factory=dict, init=False)
    _known: Array = attrs.field(factory=lambda: np.full(PAGE_BYTES, -1, np.int32), init=False)

    @classmethod
    def of(cls, table: PartTable, kind: str, descriptors: list[Descriptor]) -> "Sides":
        """The descriptors of a band in one direction."""
        addresses = np.asarray([descriptor.address % PAGE_BYTES for descriptor in descriptors], np.int64)
        return cls([table.phase_counts(kind, descriptor) for descriptor in descriptors], addresses)

    def together(self, ahead: Array) -> Array:
        """The places in `touched` where all descriptors are as far ahead."""
        found = self._known[ahead]
        if (found < 0).any():
            wanted = np.zeros(PAGE_BYTES, bool)
            wanted[ahead] = True
            missing = np.flatnonzero(wanted & (self._known < 0))
            self._known[missing] = self.apart([missing] * len(self.counts), len(missing))
            found = self._known[ahead]
        return found

    def apart(self, ahead: list[Array], count: int) -> Array:
        """The places in `touched` where each descriptor has its own distances, `count` of them."""
        if not self.counts:
            return np.full(count, self._number(()), np.int32)
        columns = [
            counts.numbers((address + by) % PAGE_BYTES)
            for counts, address, by in zip(self.counts, self.addresses, ahead, strict=True)
        ]
        firsts, numbers = distinct(columns)
        different = zip(*[column[firsts].tolist() for column in columns], strict=True)
        return np.asarray([self._number(row) for row in different], np.int32)[numbers]

    def _number(self, row: tuple[int, ...]) -> int:
        known = self._numbers.get(row)
        if known is None:
            known = self._numbers[row] = len(self.touched)
            self.touched.append(tuple([of.counts[at] for of, at in zip(self.counts, row, strict=True)]))
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
        moves = [leaf.ahead, *leaf.moves[: len(turns)]]
        if all(isinstance(move.reads, int) for move in moves):
            ahead, *by = [move.reads_apart[0] for move in moves]
            return self.reads.together(_places(ahead, by, turns))
        count = len(self.band.reads)
        each = [move.reads if isinstance(move.reads, tuple) else (move.reads,) * count for move in moves]
        places = [_places(ahead, by, turns).reshape(-1) for ahead, *by in zip(*each, strict=True)]
        return self.reads.apart(places, len(places[0])).reshape(turns)

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
        part = BandPart(self.shape(reads, drain), self.statistics)
        return self.table.parts.setdefault(part, len(self.table.parts))

    def shape(self, reads: int, drain: int) -> BandShape:
        """The shape of that part, its drain not waiting."""
        gathered = self.reads.touched[reads]
        groups = tuple([gathered[first:end] for first, end in self.groups])
        return BandShape(groups, self.band.ticks, False, self.chain.touched[drain])


def _places(ahead: int, moves: list[int], turns: tuple[int, ...]) -> Array:
    """How far ahead, modulo a page, in each turn."""
    total = np.full(turns, ahead % PAGE_BYTES)
    for axis, (move, count) in enumerate(zip(moves, turns, strict=True)):
        steps = np.arange(count) * (move % PAGE_BYTES) % PAGE_BYTES
        total += steps.reshape(-1, *(1,) * (len(turns) - 1 - axis))
    return total & (PAGE_BYTES - 1)
