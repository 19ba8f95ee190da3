"""Blocks: the nest of a worker as few sequences of bands, some of which come again and again.

A loop becomes a block of as many turns as it takes until all addresses are alike in their pages. That block is
written out, with the loops inside it, which are short or repeat by themselves. A loop that does not repeat, or whose
block would be longer than its turns by themselves, is taken turn by turn. The measure is what an engine has to walk: a
block that comes again costs it a few rounds.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from tessbed.firmware_models.nests.nest import Leaf, Loop, Node, advanced
from tessbed.firmware_models.planning.drain_order import BandBlock
from tessbed.firmware_models.planning.parts import PartTable

FEWEST_TIMES = 8
"""Shorter repeats are not worth a block of their own."""
ROUNDS = 4
"""A block that comes again costs about so many rounds of it,"""
OVERHEAD = 256
"""and as much as so many bands."""

Array = Any
Columns = tuple[Array, Array, Array]
"""Parts, footprints, and the first bytes of drains: arrays whose last axis is the sequence, the others turns."""


@attrs.define(eq=False)
class BlockMaker:
    """Makes blocks of nests; one for all workers of a launch."""

    table: PartTable

    def blocks(self, nodes: Sequence[Node]) -> Iterator[BandBlock]:
        """The bands of these nodes, one after the other."""
        pending: list[Node] = []
        for node in nodes:
            form = self._form(node, 0)[1]
            if form == "flat":
                pending.append(node)
            else:
                yield from self._flat(pending)
                pending = []
                assert isinstance(node, Loop)
                yield from self._repeated(node) if form == "repeat" else self._turn_by_turn(node)
        yield from self._flat(pending)

    def written(self, nodes: Sequence[Node]) -> int:
        """About how many bands the blocks of these nodes hold."""
        return sum(self._form(node, 0)[2] for node in nodes)

    def _form(self, node: Node, depth: int) -> tuple[int, str, int]:
        """What an engine walks about for it, the form in which that is least, and about how many bands that holds."""
        if isinstance(node, Leaf):
            return 1, "flat", 1
        period, body = self._period(node, depth), node.bands // node.count
        inner = [self._form(each, depth + 1) for each in node.body]
        once, written = sum(walked for walked, _, _ in inner), sum(held for _, _, held in inner)
        forms = [(node.bands, "flat", node.bands), (node.count * (once + OVERHEAD), "turns", node.count * written)]
        repeat = ROUNDS * period * body + OVERHEAD, "repeat", 2 * period * body
        return min(forms + [repeat] * (node.count >= FEWEST_TIMES * period))

    def _period(self, loop: Loop, depth: int) -> int:
        """Turns of a loop that make a block: its period, or as many as can hold all drains in flight."""
        period = loop.period(depth)
        least = -(-max(1, self.table.spec.slots - 1) // (loop.bands // loop.count))
        return -(-least // period) * period

    def _flat(self, nodes: Sequence[Node]) -> Iterator[BandBlock]:
        if nodes:
            yield BandBlock(*self._columns(nodes, ()))

    def _repeated(self, loop: Loop) -> Iterator[BandBlock]:
        period, move = self._period(loop, 0), loop.drain_move(0)
        parts, feet, lows = (column.reshape(-1) for column in self._columns(loop.body, (period,)))
        times, rest = divmod(loop.count, period)
        yield BandBlock(parts, feet, lows, times, period * move)
        if rest:
            end = rest * (loop.bands // loop.count)
            yield BandBlock(parts[:end], feet[:end], lows[:end] + times * period * move)

    def _turn_by_turn(self, loop: Loop) -> Iterator[BandBlock]:
        for turn in range(loop.count):
            yield from self.blocks(advanced(loop.body, turn))

    def _columns(self, nodes: Sequence[Node], turns: tuple[int, ...]) -> Columns:
        """The sequence of these nodes in each of so many turns of each loop around them."""
        columns = [self._leaf(node, turns) if isinstance(node, Leaf) else self._loop(node, turns) for node in nodes]
        parts, feet, lows = (np.concatenate(column, axis=-1) for column in zip(*columns, strict=True))
        return parts, feet, lows

    def _leaf(self, leaf: Leaf, turns: tuple[int, ...]) -> Columns:
        of = self.table.band(leaf.band).form
        lows = np.full((*turns, 1), leaf.band.footprint.low + leaf.ahead.drain)
        for axis, (move, count) in enumerate(zip(leaf.moves, turns, strict=True)):
            lows += (np.arange(count) * move.drain).reshape(-1, *(1,) * (len(turns) - axis))
        return of.numbers(leaf, turns)[..., None], np.full((*turns, 1), of.footprint, np.int32), lows

    def _loop(self, loop: Loop, turns: tuple[int, ...]) -> Columns:
        """All turns of a loop: those of its period, repeated."""
        depth = len(turns)
        period = min(loop.count, loop.period(depth))
        parts, feet, lows = self._columns(loop.body, (*turns, period))
        moved = (np.arange(loop.count) * loop.drain_move(depth))[:, None]
        lows = lows[..., :1, :] + moved
        return (*(_repeated(column, loop.count) for column in (parts, feet)), lows.reshape(*turns, -1))


def _repeated(column: Array, count: int) -> Array:
    """So many turns of a column whose last axes are the turns of a period and their bands."""
    *turns, period, bands = column.shape
    whole = np.tile(column.reshape(*turns, period * bands), -(-count // period))
    return whole[..., : count * bands]
