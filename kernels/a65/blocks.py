"""Blocks: a plan taken apart into few rectangular moves, which the numpy rows make steps of.

A tile class of a pixel-major layout is one block: loops over outer slices, tiles and pixels around a run of channels.
A channel-blocked class is a block of full groups of 16, and one of the rest. Inside a block everything is affine, so
a block is a strided view of each side. Unit loops are dropped, and neighbouring loops that advance alike on both sides
are merged: then an identity layout is one long row. What is left is put in the order of the linear side, where whole
rows then follow each other. Preparation takes most of its time here, so each class is gone through once.
"""

from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import NamedTuple

from tessbed.kernels.operations import TileFormat
from tessbed.kernels.plan import Plan
from tessbed.kernels.tiling import CHANNEL_BLOCK, TileClass

Loop = tuple[int, int, int]
"""(extent, tiled stride in bytes, linear stride in bytes)"""
LINEAR_STRIDE = itemgetter(2)


class Block(NamedTuple):
    """One move, as a view of each side: loops are outermost first, in the order of the linear side, and have strides
    in bytes. A named tuple, because a preparation is measured by them.

    `plane_bytes` leads from a channel's low byte to its high byte; INT8 has only low bytes.
    """

    extents: tuple[int, ...]
    tiled: tuple[int, ...]
    linear: tuple[int, ...]
    channels: int
    plane_bytes: int
    channel_stride_bytes: int
    tiled_offset: int
    linear_offset: int


class Gap(NamedTuple):
    """The alignment bytes at the end of every tile of a class, and the loops over these tiles."""

    extents: tuple[int, ...]
    tiled: tuple[int, ...]
    tiled_offset: int
    length: int


def blocks_of(plan: Plan, classes: tuple[TileClass, ...]) -> list[Block]:
    """The blocks of `classes`, which together move every logical scalar once."""
    outer = _outer_loops(plan)
    if plan.tile_format is TileFormat.CBLOCKED:
        return [block for tiles in classes for block in _channel_blocks(plan, outer, tiles)]
    scattered = plan.c.stride_bytes != plan.linear_dtype.width
    step = plan.c.tile * plan.c.stride_bytes if scattered else 0
    return [_pixel_major(plan, outer, step, tiles) for tiles in classes]


def gaps_of(plan: Plan, classes: tuple[TileClass, ...]) -> Iterator[Gap]:
    """The alignment gaps of the classes that have one."""
    outer = _outer_loops(plan)
    for tiles in classes:
        payload = tiles.pixels * tiles.stored_channels * plan.tiled_dtype.width
        if payload < tiles.span_bytes:
            extents, tiled, _ = _columns(_merged(_tile_loops(outer, tiles)))
            yield Gap(extents, tiled, tiles.tiled_offset + payload, tiles.span_bytes - payload)


def _outer_loops(plan: Plan) -> list[Loop]:
    return [(axis.extent, axis.tiled_stride_bytes, axis.linear_stride_bytes) for axis in plan.outer]


def _tile_loops(outer: list[Loop], tiles: TileClass) -> tuple[Loop, ...]:
    """Outer slices, then tiles. Channel tiles come innermost: together they touch the same pixels."""
    (c, d, h, w), (c_tiled, d_tiled, h_tiled, w_tiled) = tiles.counts, tiles.tiled_steps
    c_linear, d_linear, h_linear, w_linear = tiles.linear_steps
    return (*outer, (d, d_tiled, d_linear), (h, h_tiled, h_linear), (w, w_tiled, w_linear), (c, c_tiled, c_linear))


def _loops(plan: Plan, outer: list[Loop], tiles: TileClass, pixel_bytes: int) -> tuple[Loop, ...]:
    """The loops over tiles and over the pixels of each."""
    _, depth, height, width = tiles.extents
    row_bytes = width * pixel_bytes
    return (
        *_tile_loops(outer, tiles),
        (depth, height * row_bytes, plan.d.stride_bytes),
        (height, row_bytes, plan.h.stride_bytes),
        (width, pixel_bytes, plan.w.stride_bytes),
    )


def _pixel_major(plan: Plan, outer: list[Loop], scattered_step: int, tiles: TileClass) -> Block:
    stored = tiles.stored_channels
    loops = _merged(_loops(plan, outer, tiles, stored * plan.tiled_dtype.width), scattered_step)
    places = (tiles.tiled_offset, tiles.linear_offset)
    return Block(*_columns(loops), tiles.extents[0], stored, plan.c.stride_bytes, *places)


def _channel_blocks(plan: Plan, outer: list[Loop], tiles: TileClass) -> Iterator[Block]:
    """Full groups of 16 channels, then the rest. Source: DetessCast document, "Compiler channel-block input"."""
    pixel_bytes = CHANNEL_BLOCK * plan.tiled_dtype.width
    group_bytes = pixel_bytes * tiles.pixels
    group_stride = CHANNEL_BLOCK * plan.c.stride_bytes
    full, rest = divmod(tiles.extents[0], CHANNEL_BLOCK)
    loops = _loops(plan, outer, tiles, pixel_bytes)
    for first, groups, channels in ((0, full, CHANNEL_BLOCK), (full, min(rest, 1), rest)):
        if groups:
            columns = _columns(_merged([*loops, (groups, group_bytes, group_stride)]))
            places = (tiles.tiled_offset + first * group_bytes, tiles.linear_offset + first * group_stride)
            yield Block(*columns, channels, CHANNEL_BLOCK, plan.c.stride_bytes, *places)


def _merged(loops: Iterable[Loop], apart: int = 0) -> list[Loop]:
    """Without unit loops; an outer loop that continues the inner one on both sides becomes part of it.

    One of the linear step `apart` does not: tiles of scattered channels, which have a step of their own where pixels
    are dense (`numpy_whole`).
    """
    merged: list[Loop] = []
    count, tiled_step, linear_step = 0, 0, 0  # of the last one; none continues a loop of no steps
    for extent, tiled, linear in loops:
        if extent == 1:
            continue
        if (
            count
            and tiled_step == extent * tiled
            and linear_step == extent * linear
            and apart not in (linear, linear_step)
        ):
            count *= extent
            merged[-1] = (count, tiled, linear)
        else:
            count = extent
            merged.append((extent, tiled, linear))
        tiled_step, linear_step = tiled, linear
    return merged


def _columns(loops: list[Loop]) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Extents, tiled strides and linear strides, in the order of the linear side."""
    if len(loops) > 1:
        loops.sort(key=LINEAR_STRIDE, reverse=True)
    return tuple(zip(*loops, strict=True)) if loops else ((), (), ())  # type: ignore[return-value]
