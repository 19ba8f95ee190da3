"""Blocks: a plan taken apart into few rectangular moves, which the numpy rows make steps of.

A tile class of a pixel-major layout is one block: loops over outer slices, tiles and pixels around a run of channels.
A channel-blocked class is a block of full groups of 16, and one of the rest. Inside a block everything is affine, so
a block is a strided view of each side. The other side of the tiles is the linear one, or scratch that holds a box of
the tensor in another order: whatever has a stride for each axis. All classes have the same loops, so which of them do
something, and their order, is found once.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from operator import itemgetter
from typing import NamedTuple

from tessbed.kernels.operations import TileFormat
from tessbed.kernels.plan import Plan
from tessbed.kernels.tiling import CHANNEL_BLOCK, TileClass

Ints = tuple[int, ...]
Loop = tuple[int, int, int]
"""(extent, tiled stride, the other side's stride)"""
OTHER_STRIDE = itemgetter(2)


class Block(NamedTuple):
    """One move, as a view of each side: loops are outermost first, in the order of the linear side, and have strides
    in bytes. A named tuple, because a preparation is measured by them.

    `plane_bytes` leads from a channel's low byte to its high byte; INT8 has only low bytes. `steps` has the tiled
    strides of tiles and of elements along each cut axis.
    """

    extents: Ints
    tiled: Ints
    linear: Ints
    channels: int
    plane_bytes: int
    channel_stride_bytes: int
    tiled_offset: int
    linear_offset: int
    steps: Ints = ()


class AxisCut(NamedTuple):
    """What a box of the tensor has of an axis: `tiles` tiles of the part `part`, and `elements` elements of each."""

    axis: int
    part: int
    tiles: int
    elements: int


OUTSIDE = -(1 << 62)
"""Where a class begins that is not in a box."""


class Gap(NamedTuple):
    """The alignment bytes at the end of every tile of a class, and the loops over these tiles."""

    extents: Ints
    tiled: Ints
    tiled_offset: int
    length: int


def axes_of(plan: Plan) -> tuple[Ints, Ints]:
    """Extents of all axes, and their strides on the linear side: outer ones, then C, D, H, W."""
    outer, axes = plan.outer, plan.axes
    extents = tuple([axis.extent for axis in (*outer, *axes)])
    channel, *others = [axis.stride_bytes for axis in axes]
    channel = channel if plan.c.extent > 1 else plan.linear_dtype.width
    return extents, (*[axis.linear_stride_bytes for axis in outer], channel, *others)


def blocks_of(plan: Plan, strides: Ints, box: Sequence[AxisCut] = (), channel_step: int = 0) -> list[Block]:
    """The blocks that together move every logical scalar once, or those of a box; `strides` are the other side's.

    `channel_step` leads there from a tile of channels to the next, where another stride does than that of channels.
    """
    side = _side_of(plan, strides, channel_step)
    blocks = _channel_blocks if plan.tile_format is TileFormat.CBLOCKED else _pixel_major
    found: list[Block] = []
    for tiles, place in zip(plan.classes, _places(plan, side, box), strict=True):
        if place >= 0:
            found += blocks(plan, side, tiles, place, box)
    return found


class _Side(NamedTuple):
    """The other side of the tiles: strides of outer axes, of tiles (D, H, W, C) and of elements (C, D, H, W)."""

    outer: Ints
    tiles: Ints
    elements: Ints


def _side_of(plan: Plan, strides: Ints, channel_step: int) -> _Side:
    outer, elements = strides[: len(plan.outer)], strides[len(plan.outer) :]
    c, d, h, w = [axis.tile * stride for axis, stride in zip(plan.axes, elements, strict=True)]
    return _Side(outer, (d, h, w, channel_step or c), elements)


def _pixel_major(plan: Plan, side: _Side, tiles: TileClass, place: int, box: Sequence[AxisCut]) -> list[Block]:
    pixel_bytes = tiles.stored_channels * plan.tiled_dtype.width
    channels, loops, steps = _loops(plan, side, tiles, pixel_bytes, box)
    sides = (tiles.stored_channels, side.elements[0], tiles.tiled_offset, place, steps)
    return [Block(*_merged(loops), channels, *sides)]


def _channel_blocks(plan: Plan, side: _Side, tiles: TileClass, place: int, box: Sequence[AxisCut]) -> Iterator[Block]:
    """Full groups of 16 channels, then the rest. Source: DetessCast document, "Compiler channel-block input"."""
    pixel_bytes = CHANNEL_BLOCK * plan.tiled_dtype.width
    group_bytes, group_stride = pixel_bytes * tiles.pixels, CHANNEL_BLOCK * side.elements[0]
    channels, loops, steps = _loops(plan, side, tiles, pixel_bytes, box)
    full, rest = divmod(channels, CHANNEL_BLOCK)
    for first, groups, size in ((0, full, CHANNEL_BLOCK), (full, min(rest, 1), rest)):
        if groups:
            views = _merged([*loops, (groups, group_bytes, group_stride)])
            places = (tiles.tiled_offset + first * group_bytes, place + first * group_stride)
            yield Block(*views, size, CHANNEL_BLOCK, side.elements[0], *places, steps)


def _loops(
    plan: Plan, side: _Side, tiles: TileClass, pixel_bytes: int, box: Sequence[AxisCut]
) -> tuple[int, list[Loop], Ints]:
    """Channels of a pixel, the loops around them, and the steps along what is cut."""
    _, _, height, width = tiles.extents
    elements = (1, height * width * pixel_bytes, width * pixel_bytes, pixel_bytes)
    outer, counts, sizes, steps = [axis.extent for axis in plan.outer], [*tiles.counts], [*tiles.extents], []
    slices = [axis.tiled_stride_bytes for axis in plan.outer]
    for axis, _, count, size in box:
        mapped = axis - len(outer)
        if mapped < 0:
            outer[axis] = count
            steps += [slices[axis], 0]
        else:
            counts[mapped], sizes[mapped] = count, size
            steps += [tiles.tiled_steps[mapped], elements[mapped]]
    extents = (*outer, *counts[1:], counts[0], *sizes[1:])
    tiled = (*slices, *tiles.tiled_steps[1:], tiles.tiled_steps[0], *elements[1:])
    others = (*side.outer, *side.tiles, *side.elements[1:])
    return sizes[0], [loop for loop in zip(extents, tiled, others, strict=True) if loop[0] > 1], tuple(steps)


def _places(plan: Plan, side: _Side, box: Sequence[AxisCut]) -> Iterable[int]:
    """Where each class begins on the other side, or in the box; negative for one outside of it."""
    if len(plan.classes) == 1:
        return (0,)
    steps = (side.tiles[3], *side.tiles[:3])
    starts = [
        [first // axis.tile * step for first, _, _ in axis.parts] for axis, step in zip(plan.axes, steps, strict=True)
    ]
    for axis, part, *_ in box:
        if axis >= len(plan.outer):
            at = axis - len(plan.outer)
            starts[at] = [0 if number == part else OUTSIDE for number in range(len(starts[at]))]
    return map(sum, product(*starts))


def _merged(loops: list[Loop]) -> tuple[Ints, Ints, Ints]:
    """Extents, tiled strides and others, in the order of the other side; a loop that continues the next on both sides
    becomes part of it."""
    if len(loops) > 1:
        loops.sort(key=OTHER_STRIDE, reverse=True)
    merged: list[Loop] = []
    count = tiled = other = 0
    for loop in loops:
        extent, step, other_step = loop
        if merged and other == extent * other_step and tiled == extent * step:
            count *= extent
            merged[-1] = (count, step, other_step)
        else:
            count = extent
            merged.append(loop)
        tiled, other = step, other_step
    return tuple(zip(*merged, strict=True)) if merged else ((), (), ())  # type: ignore[return-value]


def gaps_of(plan: Plan) -> Iterator[Gap]:
    """The alignment gaps of the classes that have one."""
    for tiles in plan.classes:
        payload = tiles.pixels * tiles.stored_channels * plan.tiled_dtype.width
        if payload < tiles.span_bytes:
            loops = [(axis.extent, axis.tiled_stride_bytes) for axis in plan.outer]
            loops += zip(tiles.counts, tiles.tiled_steps, strict=True)
            extents, steps = zip(*loops, strict=True)
            yield Gap(extents, steps, tiles.tiled_offset + payload, tiles.span_bytes - payload)
