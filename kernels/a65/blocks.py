"""Blocks: a plan taken apart into few rectangular moves, the form that every row engine executes.

A tile class of a pixel-major layout is one block: loops over outer slices, tiles and pixels around a run of channels.
A channel-blocked class is a block of full groups of 16, and one of the rest. Inside a block everything is affine, so
a block is a strided view for numpy and a loop nest for the native rows. Unit loops are dropped, and neighbouring
loops that advance alike on both sides are merged: then an identity layout is one long row.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tessbed.kernels.operations import TileFormat
from tessbed.kernels.plan import Plan
from tessbed.kernels.tiling import CHANNEL_BLOCK, TileClass

Loop = tuple[int, int, int]
"""(extent, tiled stride in bytes, linear stride in bytes)"""


class Block(NamedTuple):
    """One move; loops are outermost first. A named tuple, because a preparation is measured by them.

    `plane_bytes` leads from a channel's low byte to its high byte; INT8 has only low bytes.
    """

    loops: tuple[Loop, ...]
    channels: int
    plane_bytes: int
    channel_stride_bytes: int
    tiled_offset: int
    linear_offset: int


class Gap(NamedTuple):
    """The alignment bytes at the end of every tile of a class; loops are (extent, tiled stride in bytes)."""

    loops: tuple[tuple[int, int], ...]
    tiled_offset: int
    length: int


def blocks_of(plan: Plan, classes: tuple[TileClass, ...]) -> Iterator[Block]:
    """The blocks of `classes`, which together move every logical scalar once."""
    take = _channel_blocks if plan.tile_format is TileFormat.CBLOCKED else _pixel_major
    for tiles in classes:
        yield from take(plan, tiles)


def gaps_of(plan: Plan, classes: tuple[TileClass, ...]) -> Iterator[Gap]:
    """The alignment gaps of the classes that have one."""
    for tiles in classes:
        payload = tiles.pixels * tiles.stored_channels * plan.tiled_dtype.width
        if payload < tiles.span_bytes:
            loops = tuple((extent, tiled) for extent, tiled, _ in _merged(_tile_loops(plan, tiles)))
            yield Gap(loops, tiles.tiled_offset + payload, tiles.span_bytes - payload)


def _tile_loops(plan: Plan, tiles: TileClass) -> list[Loop]:
    """Outer slices, then tiles. Channel tiles come innermost: together they touch the same pixels."""
    outer = [(axis.extent, axis.tiled_stride_bytes, axis.linear_stride_bytes) for axis in plan.outer]
    channels, *others = zip(tiles.counts, tiles.tiled_steps, tiles.linear_steps, strict=True)
    return [*outer, *others, channels]


def _pixel_loops(plan: Plan, tiles: TileClass, pixel_bytes: int) -> tuple[Loop, ...]:
    _, depth, height, width = tiles.extents
    row_bytes = width * pixel_bytes
    return (
        (depth, height * row_bytes, plan.d.stride_bytes),
        (height, row_bytes, plan.h.stride_bytes),
        (width, pixel_bytes, plan.w.stride_bytes),
    )


def _pixel_major(plan: Plan, tiles: TileClass) -> Iterator[Block]:
    pixel_bytes = tiles.stored_channels * plan.tiled_dtype.width
    loops = _merged((*_tile_loops(plan, tiles), *_pixel_loops(plan, tiles, pixel_bytes)))
    places = (tiles.tiled_offset, tiles.linear_offset)
    yield Block(loops, tiles.extents[0], tiles.stored_channels, plan.c.stride_bytes, *places)


def _channel_blocks(plan: Plan, tiles: TileClass) -> Iterator[Block]:
    """Full groups of 16 channels, then the rest. Source: DetessCast document, "Compiler channel-block input"."""
    pixel_bytes = CHANNEL_BLOCK * plan.tiled_dtype.width
    group_bytes = pixel_bytes * tiles.pixels
    group_stride = CHANNEL_BLOCK * plan.c.stride_bytes
    full, rest = divmod(tiles.extents[0], CHANNEL_BLOCK)
    loops = (*_tile_loops(plan, tiles), *_pixel_loops(plan, tiles, pixel_bytes))
    for first, groups, channels in ((0, full, CHANNEL_BLOCK), (full, min(rest, 1), rest)):
        if groups:
            yield Block(
                loops=_merged((*loops, (groups, group_bytes, group_stride))),
                channels=channels,
                plane_bytes=CHANNEL_BLOCK,
                channel_stride_bytes=plan.c.stride_bytes,
                tiled_offset=tiles.tiled_offset + first * group_bytes,
                linear_offset=tiles.linear_offset + first * group_stride,
            )


def _merged(loops: Iterable[Loop]) -> tuple[Loop, ...]:
    """Without unit loops; an outer loop that continues the inner one on both sides becomes part of it."""
    merged: list[Loop] = []
    for extent, tiled, linear in loops:
        if extent == 1:
            continue
        if merged and merged[-1][1:] == (extent * tiled, extent * linear):
            merged[-1] = (merged[-1][0] * extent, tiled, linear)
        else:
            merged.append((extent, tiled, linear))
    return tuple(merged)
