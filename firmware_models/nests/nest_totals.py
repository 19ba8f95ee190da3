"""Nest totals: the different bands of a launch and all that no clock counts, from its nests, without taking any turn.

Traffic is a sum over places in pages, of reads and of drains apart, each as often as it comes (phase_set.py). A band is
a pair of both, and whether its drain waits (order_count.py).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import gcd, prod
from typing import Any

import attrs
import numpy as np

from tessbed.firmware_models.launch_outline import BandShape, add_traffic
from tessbed.firmware_models.nests.nest import Leaf, Move, Node, leaves_in_loops
from tessbed.firmware_models.nests.order_count import OrderCount
from tessbed.firmware_models.nests.parts import BandParts, PartTable, Sides
from tessbed.firmware_models.nests.phase_set import pairs_of, times_at, turns_of
from tessbed.sim.spec.limits import PAGE_BYTES
from tessbed.sim.stats import Traffic
from tessbed.sim.transfer.cost import Counts

MOST_APART = 1 << 14
"""Places of a band whose reads move apart, all of which are listed."""

Array = Any
Triples = list[tuple[int, int, bool]]
"""What reads touch, what a drain touches, and whether it waits."""


class TooManyPlaces(Exception):
    """The reads of a band move apart to more places than are listed."""


@attrs.define(eq=False)
class NestTotals:
    """The bands of a launch, each with its number, and what they touch and count."""

    table: PartTable
    bands: dict[BandShape, int] = attrs.field(factory=dict, init=False)
    numbers: dict[int, int] = attrs.field(factory=dict, init=False)
    """The band of each part, by twice the number of the part, and one where it waits."""
    _reads: Counter[tuple[Counts, ...]] = attrs.field(factory=Counter, init=False)
    _drains: Counter[tuple[Counts, ...]] = attrs.field(factory=Counter, init=False)
    _counts: Counter[str] = attrs.field(factory=Counter, init=False)

    @classmethod
    def of(cls, table: PartTable, workers: Sequence[Sequence[Node]]) -> "NestTotals":
        """Those of workers of these nodes. Raises TooManyPlaces."""
        totals, order = cls(table), OrderCount.of(table, workers)
        totals._counts["ordered_drains"] = sum(order.waits(nodes) for nodes in workers if nodes)
        for nodes in workers:
            for leaf, counts in leaves_in_loops(nodes):
                totals._take(leaf, counts, order.flags[id(leaf)])
        return totals

    def account(self) -> tuple[Traffic, Traffic, dict[str, int]]:
        """Traffic of reads and writes, and what the worker loop counts."""
        reads, writes = Traffic(), Traffic()
        for touched, times in self._reads.items():
            add_traffic(reads, touched, times * len(touched), times)
        for touched, times in self._drains.items():
            add_traffic(writes, touched, times, times)
        return reads, writes, {name: self._counts[name] for name in sorted(self._counts) if self._counts[name]}

    def _take(self, leaf: Leaf, counts: tuple[int, ...], flags: Array) -> None:
        of, times = self.table.band(leaf.band), prod(counts)
        for name, amount in of.statistics:
            self._counts[name] += times * amount
        _add(self._drains, of.chain, leaf.ahead.drain, counts, [move.drain for move in leaf.moves])
        together = all(isinstance(move.reads, int) for move in (leaf.ahead, *leaf.moves))
        if together:
            ahead, *moves = [move.reads_apart[0] for move in (leaf.ahead, *leaf.moves)]
            _add(self._reads, of.reads, ahead, counts, moves)
        else:
            self._add_apart(of, leaf, counts)
        for triple in (_pairs if together else _apart)(of, leaf, counts, flags):
            self._number(of, *triple)

    def _add_apart(self, of: BandParts, leaf: Leaf, counts: tuple[int, ...]) -> None:
        for read, (ahead, *moves) in enumerate(_of_each_read(of, (leaf.ahead, *leaf.moves))):
            one = Sides([of.reads.counts[read]], of.reads.addresses[read : read + 1])
            _add(self._reads, one, ahead, counts, moves)

    def _number(self, of: BandParts, reads: int, drain: int, waits: bool) -> None:
        part = of.number(reads, drain)
        if 2 * part + waits not in self.numbers:
            shape = of.shape(reads, drain)._replace(ordered=bool(waits))
            self.numbers[2 * part + waits] = self.bands.setdefault(shape, len(self.bands))


def _add(
    to: Counter[tuple[Counts, ...]], sides: Sides, ahead: int, counts: tuple[int, ...], moves: Sequence[int]
) -> None:
    """Add what descriptors touch that move together."""
    places, times = times_at(turns_of(counts, moves))
    touched = sides.together((places + ahead) % PAGE_BYTES)
    sums = np.zeros(len(sides.touched), np.int64)
    np.add.at(sums, touched, times)
    for number in np.flatnonzero(sums).tolist():
        to[sides.touched[number]] += int(sums[number])


def _pairs(of: BandParts, leaf: Leaf, counts: tuple[int, ...], flags: Array) -> Triples:
    """The triples of a band whose reads move together."""
    moves = tuple([(move.reads_apart[0] % PAGE_BYTES, move.drain % PAGE_BYTES) for move in leaf.moves])
    pairs = pairs_of(counts, moves)
    places, rests = pairs.reads_and_rests
    reads = of.reads.together((places + leaf.ahead.reads_apart[0]) % PAGE_BYTES)
    among = np.zeros(pairs.step, bool)
    among[rests] = True
    drained = np.flatnonzero(np.tile(among, PAGE_BYTES // pairs.step))
    ends = _ends(of, leaf, drained, flags)
    met = np.zeros((pairs.step, 2 * len(of.chain.touched)), bool)
    for end, possible in ends:
        met[drained[possible] % pairs.step, end[possible]] = True
    together = np.zeros((len(of.reads.touched), met.shape[1]), bool)
    for key in np.unique(reads * pairs.step + rests).tolist():
        together[key // pairs.step] |= met[key % pairs.step]
    return _triples(*np.nonzero(together))


def _apart(of: BandParts, leaf: Leaf, counts: tuple[int, ...], flags: Array) -> Triples:
    """The triples of a band whose reads move apart."""
    aheads = [*_of_each_read(of, (leaf.ahead, *leaf.moves)), tuple([move.drain for move in (leaf.ahead, *leaf.moves)])]
    places = np.zeros((1, len(aheads)), np.int64)
    for count, moves in zip(counts, np.asarray(aheads)[:, 1:].T, strict=True):
        period = PAGE_BYTES // gcd(PAGE_BYTES, *moves.tolist())
        if len(places) * min(count, period) > MOST_APART:
            raise TooManyPlaces
        turned = places[:, None] + np.arange(min(count, period))[:, None] * moves
        places = np.unique(turned.reshape(-1, len(aheads)) % PAGE_BYTES, axis=0)
    gathered = [place + ahead[0] for place, ahead in zip(places.T[:-1], aheads, strict=False)]
    reads = of.reads.apart(gathered, len(places))
    found = np.zeros((len(of.reads.touched), 2 * len(of.chain.touched)), bool)
    for end, possible in _ends(of, leaf, places[:, -1], flags):
        if found.shape[1] < 2 * len(of.chain.touched):
            found = np.zeros((len(of.reads.touched), 2 * len(of.chain.touched)), bool)
        found[reads[possible], end[possible]] = True
    return _triples(*np.nonzero(found))


def _ends(of: BandParts, leaf: Leaf, places: Array, flags: Array) -> Iterator[tuple[Array, Array]]:
    """What the drain touches at each place, twice its number and one where it waits, and whether that may be."""
    ahead = places + leaf.ahead.drain
    touched = of.chain.together(ahead % PAGE_BYTES)
    possible = flags[(ahead + leaf.band.footprint.low) % len(flags)]
    return iter([(2 * touched + waits, possible[:, waits]) for waits in (0, 1)])


def _triples(reads: Array, ends: Array) -> Triples:
    return [(read, end // 2, bool(end % 2)) for read, end in zip(reads.tolist(), ends.tolist(), strict=True)]


def _of_each_read(of: BandParts, moves: Sequence[Move]) -> list[tuple[int, ...]]:
    """The moves of each read."""
    count = len(of.band.reads)
    return [*zip(*[move.reads if isinstance(move.reads, tuple) else (move.reads,) * count for move in moves], strict=True)]
