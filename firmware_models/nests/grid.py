"""Grids of work items as loops: along each axis stretches of what is alike, the last axis fastest."""

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import attrs

from tessbed.firmware_models.band import WorkItem
from tessbed.firmware_models.nests.nest import Leaf, Move, Node, loop_of, moved, placed


class AxisRange(NamedTuple):
    """Neighbours along an axis that are alike: the first, and how many."""

    first: int
    size: int


Index = tuple[int, ...]
ItemAt = Callable[[Index], WorkItem]
MoveTo = Callable[[Leaf, WorkItem, WorkItem], Move]
"""How far the second of two items that are alike has a band of the first ahead."""


def with_item(leaf: Leaf, item: WorkItem, other: WorkItem) -> Move:
    """The move of a band all of whose reads move with the input of its item."""
    return Move(other.input - item.input, other.output - item.output)


@attrs.define(eq=False)
class ItemNests:
    """The nests of work items. Items that are `alike` share theirs, each made by `make` where the first of them is."""

    make: Callable[[WorkItem], list[Node]]
    alike: Callable[[WorkItem], Hashable]
    move: MoveTo = with_item
    _known: dict[Hashable, tuple[WorkItem, list[Node]]] = attrs.field(factory=dict, init=False)

    def of(self, item: WorkItem) -> list[Node]:
        """The bands of a work item."""
        key = self.alike(item)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = item, self.make(item)
        first, nodes = known
        same = (first.input, first.output) == (item.input, item.output)
        return nodes if same else placed(nodes, lambda leaf: self.move(leaf, first, item))

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
            moves = [self.move(leaf, item, following) for node in nodes for leaf in node.leaves()]
            nodes = moved(nodes, moves)
        return nodes
