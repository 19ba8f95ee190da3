"""Grids of work items as loops: along each axis stretches of what is alike, the last axis fastest."""

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import attrs

from tessbed.firmware_models.band import WorkItem
from tessbed.firmware_models.nests.nest import Move, Node, loop_of, moved, moves_between, placed


class AxisRange(NamedTuple):
    """Neighbours along an axis that are alike: the first, and how many."""

    first: int
    size: int


Index = tuple[int, ...]
ItemAt = Callable[[Index], WorkItem]


@attrs.define(eq=False)
class ItemNests:
    """The nests of work items; equal items share theirs, each made by `make` where the first of them is."""

    make: Callable[[WorkItem], list[Node]]
    _known: dict[Hashable, tuple[WorkItem, list[Node]]] = attrs.field(factory=dict, init=False)

    def of(self, item: WorkItem) -> list[Node]:
        """The bands of a work item."""
        known = self._known.get(item.key)
        if known is None:
            known = self._known[item.key] = item, self.make(item)
        by = _move(known[0], item)
        return placed(known[1], by) if by != (0, 0) else known[1]

    def grid(
        self, axes: Sequence[Sequence[AxisRange]], item_at: ItemAt, chosen: tuple[AxisRange, ...] = ()
    ) -> list[Node]:
        """The bands of all items of a grid; `chosen` are the stretches of the axes before."""
        if not axes:
            return self._items(chosen, item_at)
        nodes: list[Node] = []
        depth = sum(stretch.size > 1 for stretch in chosen)
        for stretch in axes[0]:
            body = self.grid(axes[1:], item_at, (*chosen, stretch))
            nodes += loop_of(stretch.size, body, depth) if stretch.size > 1 else body
        return nodes

    def _items(self, chosen: tuple[AxisRange, ...], item_at: ItemAt) -> list[Node]:
        """The bands of one item, with its moves along each axis of more than one, added innermost first."""
        first = tuple([stretch.first for stretch in chosen])
        item = item_at(first)
        nodes = self.of(item)
        for axis in reversed([axis for axis, stretch in enumerate(chosen) if stretch.size > 1]):
            following = item_at((*first[:axis], first[axis] + 1, *first[axis + 1 :]))
            nodes = moved(nodes, self._moves(item, following))
        return nodes

    def _moves(self, item: WorkItem, following: WorkItem) -> list[Move]:
        """The move of each band from one item to the next."""
        nodes = self.of(item)
        if item.key != following.key:
            return moves_between(nodes, self.make(following))
        return [_move(item, following)] * sum(1 for node in nodes for _ in node.leaves())


def _move(item: WorkItem, following: WorkItem) -> Move:
    return Move(following.input - item.input, following.output - item.output)
