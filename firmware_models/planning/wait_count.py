"""Wait counts: how many drains of a nest wait for earlier ones, without taking its turns.

## Theory

`drain_order.py` says what decides: of each drain the *distance* to the nearest earlier one that it meets, and how many
drains are *held*, that is in flight. So a drain is a function from the number held before it to the number held behind
it, and to whether it waits; and so are drains one after the other, a turn of a loop, and a loop (`Effect`). Effects
compose, and a loop of n turns is composed of log n of them.

A distance depends on where drains are in their granules. In a loop that changes from turn to turn, and all drains move
alike: a nest has one *shift*, the sum of the moves of the loops around it, of which only the rest modulo a granule
matters. So an effect is kept for every rest at once. A loop that moves by `move` composes effects whose shifts are
`move` apart. Once it does not matter any more how many were held before a turn, the turns are a plain sum, which
`place_counts.spread` takes.

The first turn of a loop comes behind other drains than the next ones. What is behind is a *window* of the last drains,
relative to the turn: it is the same from one turn to the next as soon as it holds drains of the loop alone.

What nodes do depends on how their drains lie to each other and to the window, not on where all of that is but for its
shift. So what is known of one node is known of every other one of the same *structure*, such as those of other workers.
"""

from collections.abc import Sequence
from math import gcd
from typing import Any

import attrs
import numpy as np

from tessbed.firmware_models.nests.nest import Leaf, Loop, Node
from tessbed.firmware_models.planning.drain_order import meetings
from tessbed.firmware_models.planning.parts import PartTable
from tessbed.firmware_models.planning.place_counts import rolled, spread

Array = Any
Window = tuple[tuple[int, int], ...]
"""The last drains, the latest last: the footprint of each, and its first byte where the shift is 0."""


@attrs.frozen(eq=False)
class Effect:
    """What drains do, by shift and by how many are held before: how many are held behind, and how many waited."""

    held: Array
    waits: Array

    def then(self, other: "Effect") -> "Effect":
        """Both, one after the other, at the same shift."""
        behind = _behind(self.held)
        return Effect(other.held.take(behind), self.waits + other.waits.take(behind))

    def shifted(self, by: int) -> "Effect":
        """The same effect by the shift that is `by` places ahead of each."""
        return Effect(rolled(self.held, -by), rolled(self.waits, -by)) if by % len(self.held) else self

    @property
    def forgets(self) -> bool:
        """Whether it does not matter how many were held before, if there were any."""
        return self.held.shape[1] <= 2 or bool((self.held[:, 1:] == self.held[:, 1:2]).all())

    def repeated(self, count: int, move: int) -> "Effect":
        """`count` of them, one at least, each `move` places ahead of the one before."""
        if count == 1:
            return self
        done: Effect | None = None
        at, unit, size = 0, self, 1
        while count:
            if unit.forgets:
                rest = unit.shifted(at * move)._summed(count, size * move)
                return done.then(rest) if done else rest
            if count % 2:
                following = unit.shifted(at * move)
                done, at = done.then(following) if done else following, at + size
            count //= 2
            if count:
                unit, size = unit.then(unit.shifted(size * move)), 2 * size
        assert done
        return done

    def _summed(self, count: int, move: int) -> "Effect":
        """`repeated` where it forgets: the later ones wait as what the one before them leaves held lets them."""
        if count == 1:
            return self
        last = self.shifted((count - 1) * move)
        later = self.waits.take(_behind(rolled(self.held, move))[:, -1])
        sums = rolled(spread(later, count - 1, move), (1 - count) * move)
        return Effect(last.held[:, -1:].repeat(self.held.shape[1], axis=1), self.waits + sums[:, None])


@attrs.define(eq=False)
class WaitCount:
    """Counts the drains of a worker that wait; one for all workers of a launch.

    `unit` divides the move of every loop and a granule.
    """

    table: PartTable
    unit: int
    _effects: dict[tuple[int, int, Window], tuple[Effect, Window]] = attrs.field(factory=dict, init=False)
    _structures: dict[int, tuple[int, int]] = attrs.field(factory=dict, init=False)
    _numbers: dict[tuple[Any, ...], int] = attrs.field(factory=dict, init=False)

    @classmethod
    def of(cls, table: PartTable, workers: Sequence[Sequence[Node]]) -> "WaitCount":
        """For workers of these nodes."""
        granule = table.spec.write_unit_bytes
        moves = (move.drain for nodes in workers for node in nodes for leaf in node.leaves() for move in leaf.moves)
        return cls(table, gcd(granule, *moves))

    @property
    def granule(self) -> int:
        """What a drain writes at the least."""
        return self.table.spec.write_unit_bytes

    def waits(self, nodes: Sequence[Node]) -> int:
        """How many drains of a worker wait."""
        effect, _ = self._nodes(nodes, 0, ())
        return int(effect.waits[0, 0])

    def _nodes(self, nodes: Sequence[Node], depth: int, window: Window) -> tuple[Effect, Window]:
        """What they do behind a window, and the window behind them."""
        total: Effect | None = None
        for node in nodes:
            effect, window = self._node(node, depth, window)
            total = total.then(effect) if total else effect
        assert total
        return total, window

    def _node(self, node: Node, depth: int, window: Window) -> tuple[Effect, Window]:
        """The same of one node; what is kept has it begin where shifts begin."""
        structure, origin = self._structure(node, depth)
        begin, ahead = origin % self.unit, origin // self.unit
        key = structure, begin, _moved(window, -origin)
        known = self._effects.get(key)
        if known is None:
            effect, behind = self._leaf(node, window) if isinstance(node, Leaf) else self._loop(node, depth, window)
            known = self._effects[key] = effect.shifted(-ahead), _moved(behind, -origin)
        effect, behind = known
        return effect.shifted(ahead), _moved(behind, origin)

    def _structure(self, node: Node, depth: int) -> tuple[int, int]:
        """The number of a node's structure, and where its first drain begins."""
        known = self._structures.get(id(node))
        if known is None:
            if isinstance(node, Leaf):
                origin, structure = self._low(node), (self.table.footprint(node.band),)
            else:
                parts = [self._structure(each, depth + 1) for each in node.body]
                origin = parts[0][1]
                structure = node.count, node.drain_move(depth), *[(number, low - origin) for number, low in parts]
            known = self._structures[id(node)] = self._numbers.setdefault(structure, len(self._numbers)), origin
        return known

    @staticmethod
    def _low(leaf: Leaf) -> int:
        """Where a drain begins the first time."""
        return leaf.band.footprint.low + leaf.ahead.drain

    def _loop(self, loop: Loop, depth: int, window: Window) -> tuple[Effect, Window]:
        """Turn by turn until the window is the same, then all others at once."""
        move, total = loop.drain_move(depth), None
        for turn in range(loop.count):
            effect, behind = self._nodes(loop.body, depth + 1, window)
            following = _moved(behind, -move)
            left = 1 if following != window else loop.count - turn
            effect = effect.repeated(left, move // self.unit).shifted(turn * move // self.unit)
            total, window = total.then(effect) if total else effect, following
            if left > 1:
                break
        assert total
        return total, _moved(window, loop.count * move)

    def _leaf(self, leaf: Leaf, window: Window) -> tuple[Effect, Window]:
        foot, low, most = self.table.footprint(leaf.band), self._low(leaf), self.table.spec.slots - 1
        held, nearest = np.arange(most + 1), self._met(foot, low, window)
        waits = nearest[:, None] <= held
        effect = Effect(np.where(waits, min(1, most), np.minimum(held + 1, most)), waits.astype(np.int64))
        return effect, ((*window, (foot, low))[-most:] if most else ())

    def _met(self, foot: int, low: int, window: Window) -> Array:
        """By shift, how many before is the nearest drain of the window that it meets; `slots` where it meets none."""
        shifts, none = np.arange(0, self.granule, self.unit), self.table.spec.slots
        if not window:
            return np.full(len(shifts), none)
        others = [(other, its + shifts) for other, its in reversed(window)]
        met = meetings(self.table, foot, low + shifts, others)
        return np.where(met.any(axis=0), 1 + met.argmax(axis=0), none)


def _behind(held: Array) -> Array:
    """Where, among values by shift and by how many are held, those are where so many are."""
    return held + np.arange(0, held.size, held.shape[1])[:, None]


def _moved(window: Window, by: int) -> Window:
    return tuple([(foot, low + by) for foot, low in window])
