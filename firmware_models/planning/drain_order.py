"""Drain order: which drains of a sequence must wait for all earlier ones, found for the whole sequence at once.

The rule is that of `worker_loop.in_order`: a drain waits where it may share a granule with one in flight, of which
there are at most `slots` - 1. A drain that waits leaves none in flight but itself. So all that matters of the past is
how many are in flight, and all that matters of a drain is the distance to the nearest earlier one that it meets: it
waits exactly if that one is still in flight. Distances depend on places alone, and are taken for all drains together.
In a block that comes again they are the same each time, and the numbers in flight at its beginning, of which there are
few, soon repeat.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from tessbed.firmware_models.planning.parts import PartTable

Array = Any


@attrs.frozen(eq=False)
class BandBlock:
    """Bands one after the other, `times` over, their drains each time `move` further.

    Of each band: its part, its footprint, the first byte of its drain the first time.
    """

    parts: Array
    feet: Array
    lows: Array
    times: int = 1
    move: int = 0

    def __len__(self) -> int:
        return len(self.parts)


@attrs.define(eq=False)
class DrainOrder:
    """The drains of a worker in flight: the last ones, `held` of which have not been waited for."""

    table: PartTable
    feet: Array = attrs.field(factory=lambda: np.zeros(0, np.int64), init=False)
    lows: Array = attrs.field(factory=lambda: np.zeros(0, np.int64), init=False)
    held: int = attrs.field(default=0, init=False)

    @property
    def window(self) -> int:
        """The most drains that may be in flight before the next."""
        return self.table.spec.slots - 1

    def ordered(self, block: BandBlock) -> Iterator[tuple[Array, int]]:
        """Whether each drain of the block waits, and how many times over that is so, from its first time to its last.

        A block that comes again has as many bands as can be in flight, at least.
        """
        flags, held = self._turn(self._distances(block, self.feet, self.lows), self.held)
        self._remember(block)
        self.held = held
        if block.times == 1:
            yield flags, 1
            return
        again = self._distances(block, block.feet[-self.window :], block.lows[-self.window :] - block.move)
        turns, firsts = [flags], {}
        while self.held not in firsts and len(turns) < block.times:
            firsts[self.held] = len(turns)
            flags, self.held = self._turn(again, self.held)
            turns.append(flags)
        yield from self._repeated(turns, firsts, block.times)

    def _repeated(self, turns: list[Array], firsts: dict[int, int], times: int) -> Iterator[tuple[Array, int]]:
        """The turns that have been taken, of which those from one on come again and again."""
        first = firsts.get(self.held, len(turns))
        cycle, left = turns[first:], times - first
        if len(cycle) == 1 and all(np.array_equal(turn, cycle[0]) for turn in turns):
            yield cycle[0], times
            return
        yield from ((turn, 1) for turn in turns[:first])
        if cycle:
            whole, rest = divmod(left, len(cycle))
            yield np.concatenate(cycle), whole
            self.held = list(firsts)[first - 1 + rest]
            yield from ((turn, 1) for turn in cycle[:rest])

    def _remember(self, block: BandBlock) -> None:
        """The last drains, behind the last time of the block."""
        window, ahead = self.window, (block.times - 1) * block.move
        if window:
            self.feet = np.concatenate((self.feet, block.feet))[-window:]
            self.lows = np.concatenate((self.lows, block.lows + ahead))[-window:]

    def _distances(self, block: BandBlock, feet: Array, lows: Array) -> Array:
        """Of each drain, how many before is the nearest that it meets, where `feet` and `lows` came before the block.

        One more than can be in flight where it meets none of them.
        """
        nearest = np.full(len(block), self.window + 1, np.int8)
        drains = _Drains.of(self.table, np.concatenate((feet, block.feet)), np.concatenate((lows, block.lows)))
        for distance in range(min(self.window, len(drains.feet) - 1), 0, -1):
            skipped = max(0, distance - len(feet))
            nearest[skipped:][drains.meet(len(feet) + skipped, distance)] = distance
        return nearest

    def _turn(self, nearest: Array, held: int) -> tuple[Array, int]:
        """Whether each drain waits, with so many in flight before the first; and how many are after the last."""
        flags = nearest <= min(1, self.window)
        last = -held
        for at, distance, certain in self._candidates(nearest, flags):
            if distance <= at - max(last, certain):
                flags[at] = True
                last = at
        return flags, min(len(nearest) - max(last, *np.flatnonzero(flags)[-1:].tolist(), -held), self.window)

    def _candidates(self, nearest: Array, flags: Array) -> Iterator[tuple[int, int, int]]:
        """The drains that wait if none since the one they meet has: where, how far before it is, and the last drain
        before them that meets its neighbour and therefore waits for certain."""
        places = np.flatnonzero((nearest <= self.window) & ~flags)
        certain = np.concatenate(([-len(nearest) - self.window], np.flatnonzero(flags)))
        before = certain[np.searchsorted(certain, places) - 1]
        return zip(places.tolist(), nearest[places].tolist(), before.tolist(), strict=True)


def meetings(table: PartTable, foot: int, lows: Array, others: Sequence[tuple[int, Array]]) -> Array:
    """Whether drains of one footprint meet each of the others, in a row for each, given the first bytes of all."""
    pairs = len(others) * len(lows)
    feet = np.repeat([*(other for other, _ in others), foot], [len(lows)] * len(others) + [pairs])
    drains = _Drains.of(table, feet, np.concatenate([*(its for _, its in others), *(lows for _ in others)]))
    return drains.meet(pairs, pairs).reshape(len(others), len(lows))


@attrs.frozen(eq=False)
class _Drains:
    """Drains one after the other: their footprints, and the granules of their first and last bytes."""

    shapes: Array
    granule: int
    feet: Array
    lows: Array
    first: Array
    end: Array

    @classmethod
    def of(cls, table: PartTable, feet: Array, lows: Array) -> "_Drains":
        """Drains with these footprints and first bytes."""
        shapes = np.asarray([*table.footprints], np.int64).reshape(-1, 3)
        granule = table.spec.write_unit_bytes
        shift = granule.bit_length() - 1
        return cls(shapes, granule, feet, lows, lows >> shift, (lows + (shapes[:, 0] - 1)[feet]) >> shift)

    def meet(self, begin: int, distance: int) -> Array:
        """Of the drains from `begin` on, whether each meets the one that is so far before it."""
        mine, its = slice(begin, None), slice(begin - distance, len(self.feet) - distance)
        met = (self.first[mine] <= self.end[its]) & (self.first[its] <= self.end[mine])
        places = np.flatnonzero(met) + begin
        if len(places):
            met[places - begin] = self._interleaved(places, places - distance)
        return met

    def _interleaved(self, one: Array, other: Array) -> Array:
        """`DrainFootprint.meets` of pairs whose spans meet: false where both repeat and their granules are apart."""
        granule = self.granule
        _, period, inner = self.shapes[self.feet[one]].T
        _, other_period, other_inner = self.shapes[self.feet[other]].T
        apart = (period == other_period) & (period > 0) & (period % granule == 0)
        if not apart.any():
            return ~apart
        turn = np.maximum(period // granule, 1)
        ahead = (self.first[other] - self.first[one]) % turn
        granules = (self.lows[one] + inner - 1) // granule - self.first[one] + 1
        other_granules = (self.lows[other] + other_inner - 1) // granule - self.first[other] + 1
        return ~apart | (ahead < granules) | (turn - ahead < other_granules) | (ahead == 0)
