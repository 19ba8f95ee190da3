"""Boxes: the tensor in parts that fit the caches, each with one shape of tiles along the axes that are cut.

Axes are numbered: the outer ones, then C, D, H, W. They are cut in the order of the linear side, channels last. The
first ones go one element at a time, the last one that must be cut in pieces: of whole tiles where a box holds some,
else inside of each tile. So a box has a single part of a cut axis, its full tiles or the boundary tile, and all parts
of the others.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tessbed.kernels.a65.blocks import AxisCut, Ints
from tessbed.kernels.a65.numpy_engine.steps import PIECE_SCALARS
from tessbed.kernels.operations import TileFormat
from tessbed.kernels.plan import Plan


class Box(NamedTuple):
    """A part of the tensor: what decides its shape, its slices of the linear side, and where it starts in the tiles."""

    cuts: tuple[AxisCut, ...] = ()
    slices: tuple[Any, ...] = (...,)
    starts: Ints = ()


WHOLE = (Box(),)
"""The tensor itself."""


def boxes_of(plan: Plan, extents: Ints, order: Ints, scalars: int) -> Iterator[Box]:
    """The boxes of a plan with axes of these extents, of which `order` has those that the linear side has."""
    channel, inner, most = len(plan.outer), scalars, []
    last = [channel] if channel in order and plan.tile_format is TileFormat.COMPACT else []
    for axis in (*[axis for axis in order if axis != channel], *last):
        inner //= extents[axis]
        most.append((axis, max(1, PIECE_SCALARS // inner)))
        if inner <= PIECE_SCALARS:
            break
    return _boxes(plan, order, most, Box((), (slice(None),) * len(order)))


def _boxes(plan: Plan, order: Ints, most: Sequence[tuple[int, int]], box: Box) -> Iterator[Box]:
    """The box cut along the first of these axes into pieces of at most so many elements, then along the others."""
    if not most:
        yield box
        return
    at = order.index(most[0][0])
    for first, cut, starts in _pieces(plan, *most[0]):
        slices = (*box.slices[:at], slice(first, first + cut.tiles * cut.elements), *box.slices[at + 1 :])
        yield from _boxes(plan, order, most[1:], Box((*box.cuts, cut), slices, (*box.starts, *starts)))


def _pieces(plan: Plan, axis: int, most: int) -> Iterator[tuple[int, AxisCut, tuple[int, int]]]:
    """Pieces of an axis: the first element, what the piece has, and its first tile and its first element of that."""
    mapped = axis - len(plan.outer)
    parts = plan.axes[mapped].parts if mapped >= 0 else ((0, plan.outer[axis].extent, 1),)
    for part, (first, count, size) in enumerate(parts):
        tiles, elements = _even(count, max(1, most // size)), _even(size, most)
        for tile in range(0, count, tiles):
            for element in range(0, size, elements):
                cut = AxisCut(axis, part, min(tiles, count - tile), min(elements, size - element))
                yield first + tile * size + element, cut, (tile, element)


def _even(count: int, most: int) -> int:
    """At most so many, so that all pieces of a count have about as many."""
    return -(-count // -(-count // most))
