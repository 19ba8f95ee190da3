"""Loop nests: the bands of a worker as loops around a few bands, so that planning need not take them one by one.

## Theory

Tiles, and the pieces that a tile is cut into, lie in grids. Along an axis of a grid all are alike but the first and the
last, so a grid is a tree: a *loop* around what is alike, its first and last beside it, and inside each the next axis.
In the body of a loop nothing changes from one turn to the next but addresses, and each address by the same number of
bytes each turn: an offset is a sum of products of an index and a stride, and the stride of an axis depends on extents,
which are alike throughout the loop. So a leaf needs a band as it is in the first turn of all loops around it, and for
each of these loops its *move*: what a turn adds to addresses. All drains in the body of a loop move alike. Reads do
not: a loop may stand around whole tiles and cut ones, whose strides differ; and where a band reads several tiles of
which the last is cut, even those of one band do not.

Where a move is not known from the strides, it is found by making the second turn, too, and comparing: `looped` does so.

What a band costs depends on addresses modulo 4096 alone. Turn i and turn i + period of a loop cost the same, where
period is 4096 divided by the greatest common divisor of 4096 and all moves in its body.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import gcd
from typing import Any, NamedTuple

import attrs
import numpy as np

from tessbed.firmware_models.nests.planned_band import DescriptorArray, PlannedBand
from tessbed.sim.spec.limits import PAGE_BYTES

Array = Any


class Move(NamedTuple):
    """What a turn of a loop adds to the addresses of a band: to all its reads, or to those of each number in
    `moves_with` their own; and to its drain."""

    reads: int | tuple[int, ...]
    drain: int

    @property
    def reads_apart(self) -> tuple[int, ...]:
        """The different moves of reads."""
        return self.reads if isinstance(self.reads, tuple) else (self.reads,)

    def times(self, turns: int) -> "Move":
        """The move of so many turns."""
        reads = self.reads
        return Move(
            tuple([turns * by for by in reads]) if isinstance(reads, tuple) else turns * reads, turns * self.drain
        )

    def plus(self, other: "Move") -> "Move":
        """Both moves, one after the other."""
        mine, its = self.reads, other.reads
        if isinstance(mine, int) and isinstance(its, int):
            return Move(mine + its, self.drain + other.drain)
        count = max(len(self.reads_apart), len(other.reads_apart))
        pairs = zip(*(of if isinstance(of, tuple) else (of,) * count for of in (mine, its)), strict=True)
        return Move(tuple(one + two for one, two in pairs), self.drain + other.drain)


STAYS = Move(0, 0)


@attrs.frozen(eq=False)
class Leaf:
    """A band `ahead` of where it was made, and its moves in the loops around it, those of the outermost first."""

    band: PlannedBand
    ahead: Move = STAYS
    moves: tuple[Move, ...] = ()

    @property
    def bands(self) -> int:
        """How many bands it stands for."""
        return 1

    def leaves(self) -> "Iterator[Leaf]":
        """Itself."""
        yield self

    @property
    def movers(self) -> tuple[Array, list[tuple[int, ...]]]:
        """With which others each read moves here, and how those do: how far ahead they are, then their moves."""
        moves, numbers = [move.reads_apart for move in (self.ahead, *self.moves)], dict[tuple[int, ...], int]()
        most = max(map(len, moves))
        each = zip(*[move if len(move) == most else most * move for move in moves], strict=True)
        which = [numbers.setdefault(mover, len(numbers)) for mover in each]
        together = np.zeros(len(self.band.reads), np.int64)
        return np.asarray(which)[self.band.moves_with] if len(numbers) > 1 else together, [*numbers]

    def turned(self, change: "Callable[[Leaf], Leaf]") -> "Leaf":
        """Changed."""
        return change(self)


@attrs.frozen(eq=False)
class Loop:
    """What comes again and again, two times at least."""

    count: int
    body: "tuple[Node, ...]"
    bands: int = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "bands", self.count * sum(node.bands for node in self.body))

    def leaves(self) -> Iterator[Leaf]:
        """The leaves of its body."""
        for node in self.body:
            yield from node.leaves()

    def turned(self, change: Callable[[Leaf], Leaf]) -> "Loop":
        """The same loop around changed leaves."""
        return Loop(self.count, tuple([node.turned(change) for node in self.body]))

    def period(self, depth: int) -> int:
        """Turns after which all addresses are where they were in their pages; `depth` loops are around this one."""
        moves = [by for leaf in self.leaves() for by in (*leaf.moves[depth].reads_apart, leaf.moves[depth].drain)]
        return PAGE_BYTES // gcd(PAGE_BYTES, *moves)

    def drain_move(self, depth: int) -> int:
        """What a turn adds to the address of each drain."""
        (move,) = {leaf.moves[depth].drain for leaf in self.leaves()}
        return move


Node = Leaf | Loop


def loop_of(count: int, body: Sequence[Node], depth: int) -> list[Node]:
    """`body` so many times; its leaves know their moves, those in this loop at place `depth`.

    A loop around a loop alone is one loop, where the inner one ends where the outer one goes on.
    """
    if not body or count == 1:
        return [node.turned(lambda leaf: _without(leaf, depth)) for node in body]
    if len(body) == 1 and isinstance(body[0], Loop):
        inner = body[0]
        if all(leaf.moves[depth] == leaf.moves[depth + 1].times(inner.count) for leaf in inner.leaves()):
            return [Loop(count * inner.count, inner.turned(lambda leaf: _without(leaf, depth)).body)]
    return [Loop(count, tuple(body))]


def looped(count: int, turn: Callable[[int], Sequence[Node]]) -> list[Node]:
    """The nodes of so many turns, all alike: the moves are those between the first and the second."""
    first = turn(0)
    if count == 1:
        return [*first]
    return loop_of(count, moved(first, _moves_between(first, turn(1))), 0)


def moved(nodes: Iterable[Node], moves: Iterable[Move]) -> list[Node]:
    """The nodes in one more loop around them all, in which their leaves have these moves."""
    following = iter(moves)
    return [node.turned(lambda leaf: Leaf(leaf.band, leaf.ahead, (next(following), *leaf.moves))) for node in nodes]


def _moves_between(first: Sequence[Node], second: Sequence[Node]) -> list[Move]:
    """What moves each leaf of one turn to where it is in the next."""
    return [_move(*pair) for pair in zip(_leaves(first), _leaves(second), strict=True)]


def advanced(nodes: Iterable[Node], turn: int) -> list[Node]:
    """The body of an outermost loop as it is in a turn of it."""
    return [node.turned(lambda leaf: _fixed(leaf, turn)) for node in nodes]


def placed(nodes: Iterable[Node], ahead: Callable[[Leaf], Move]) -> list[Node]:
    """The nodes with each leaf so far ahead."""
    return [node.turned(lambda leaf: Leaf(leaf.band, leaf.ahead.plus(ahead(leaf)), leaf.moves)) for node in nodes]


def leaves_in_loops(nodes: Iterable[Node], counts: tuple[int, ...] = ()) -> Iterator[tuple[Leaf, tuple[int, ...]]]:
    """Every leaf, and the counts of the loops around it, that of the outermost first."""
    for node in nodes:
        if isinstance(node, Leaf):
            yield node, counts
        else:
            yield from leaves_in_loops(node.body, (*counts, node.count))


def _leaves(nodes: Iterable[Node]) -> list[Leaf]:
    return [leaf for node in nodes for leaf in node.leaves()]


def _without(leaf: Leaf, depth: int) -> Leaf:
    return Leaf(leaf.band, leaf.ahead, (*leaf.moves[:depth], *leaf.moves[depth + 1 :]))


def _fixed(leaf: Leaf, turn: int) -> Leaf:
    return Leaf(leaf.band, leaf.ahead.plus(leaf.moves[0].times(turn)), leaf.moves[1:])


def _move(first: Leaf, second: Leaf) -> Move:
    """Both bands are alike but for addresses: anything else is an error of whoever calls them alike."""
    one, two = first.band, second.band
    assert one.reads.alike(two.reads)
    assert (one.ticks, one.counts, first.moves) == (two.ticks, two.counts, second.moves)
    reads = _between(one.reads, two.reads, one.moves_with)
    (drain,) = _between(one.chain, two.chain, np.zeros(len(one.chain), np.int64))
    by = Move(reads[0] if len({*reads}) == 1 else reads, drain)
    return by.plus(second.ahead.plus(first.ahead.times(-1)))


def _between(first: DescriptorArray, second: DescriptorArray, moves_with: Array) -> tuple[int, ...]:
    """How far the second ones are ahead of the first, by what moves alike."""
    ahead, each = second.addresses - first.addresses, np.zeros(1 + int(moves_with.max(initial=0)), np.int64)
    each[moves_with] = ahead
    assert np.array_equal(each[moves_with], ahead)
    return tuple(each.tolist())
