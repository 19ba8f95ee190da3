"""Sides: how the two sides of a block lie in storage, as views for numpy, and which way to them is the quickest.

Theory. A side whose contiguous runs are long is *near*: casts and arithmetic read or write it themselves. Between
scratch and a side of short runs a pixel's bytes travel as one item: numpy takes about a nanosecond for an item of 1, 2,
4, 8 or 16 bytes, three for one of up to 64, and ten to begin an inner loop.

Channels that are scattered on the linear side come first there, so that scratch has that side's long rows. They are
turned in scratch where they are words, and where the rows of a tile are short: elsewhere on their way to or from the
tiled side.
"""

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

import numpy as np

from tessbed.kernels.a65.blocks import Block
from tessbed.kernels.a65.numpy_copies import FEW_CHANNELS, has_long_rows
from tessbed.kernels.a65.numpy_steps import (
    BYTE,
    CACHE_LINES,
    FEW_LINES_BYTES,
    StridedView,
    cut_pieces,
    items,
    lines_held,
)
from tessbed.kernels.a65.numpy_values import SCALARS, Shape
from tessbed.kernels.plan import Plan

LONG_RUN = 192
"""Scalars in a row from which on a side is near."""
TURNED_CHANNELS = 16
"""From so many on, or where they are 8, channels are cheaper to copy as an item and to turn than one by one."""
SPREAD_CHANNELS = 48
"""Turned channels from which a pixel is long enough to be written one channel after the other."""
SHORT_ROW = 48
"""Pixels in a row up to which scattered channels are turned in scratch."""


class BlockSides(NamedTuple):
    """How both sides of a block lie, all loops in the order of the linear side.

    `linear` holds whole scalars, channels last, or first where they are `scattered`; `far` is the same with a pixel as
    one item, None where the side is `near` or its channels are scattered. `planes` has a view for each byte of a tiled
    scalar: with a pixel's channels as one item; or bytes, channels last, or first where they are scattered and not
    `turned` in scratch. `by_channel` says that scattered channels are so few that each is copied alone; `place` is the
    number of loops with longer steps than theirs on the linear side. `spread` says that what is calculated of turned
    pixels is better written straight to the linear side.
    """

    linear: StridedView
    far: StridedView | None
    planes: tuple[StridedView, ...]
    near: bool
    scattered: bool
    turned: bool
    by_channel: bool
    place: int
    spread: bool

    @property
    def bytes_first(self) -> bool:
        """Whether the planes are bytes with their channels first, too."""
        return self.scattered and not self.turned

    def cuts(self, most: int) -> Iterator[tuple[tuple, tuple]]:
        """Slices of pieces of at most so many scalars: of `linear`, and of views that begin with the loops."""
        shape = self.linear.shape
        if self.scattered:
            for cut in cut_pieces((*shape[1:], shape[0]), most, max(1, len(shape) - len(self.planes[0].shape))):
                yield (slice(None), *cut), cut
        else:
            whole = 0 if self.far is None and self.planes[0].dtype == BYTE else 1
            for cut in cut_pieces(shape, most, whole):
                yield cut, cut

    def pieces(self, storage: np.ndarray, most: int) -> Iterator[tuple[np.ndarray, np.ndarray, tuple, tuple]]:
        """Pieces of the linear side: as scalars, as `far` has them, their place in `planes`, and that in the loops."""
        linear = self.linear.over(storage)
        far = None if self.far is None else self.far.over(storage)
        for cut, loops in self.cuts(most):
            part = linear[cut]
            yield part, part if far is None else far[loops], cut if self.bytes_first else loops, loops

    def pixels_last(self, shape: Shape) -> Shape:
        """The shape of a piece of `linear`, with channels last."""
        return (*shape[1:], shape[0]) if self.scattered else shape


def sides_of(plan: Plan, block: Block) -> BlockSides:
    width, planes, channels = plan.linear_dtype.width, plan.tiled_dtype.width, block.channels
    extents, strides, step = block.extents, block.linear, block.channel_stride_bytes if channels > 1 else width
    scattered, far, place, spread = is_scattered(block), None, 0, False
    if scattered:
        place = sum([stride > step for stride in strides])
        shape, steps = (*extents[:place], channels, *extents[place:]), (*strides[:place], step, *strides[place:])
        near = row_of(shape, steps, width) >= LONG_RUN
        shape, steps = (channels, *extents), (step, *strides)
    else:
        shape, steps = (*extents, channels), (*strides, step)
        near = step == width and row_of(extents, strides, step, channels) >= LONG_RUN
        if not near and step == width and channels > 1:
            far = StridedView(items(channels * width), extents, block.linear_offset, strides)
    words = planes > 1 and (plan.packs or channels == 8 or channels >= TURNED_CHANNELS)
    turned = scattered and (words or (not plan.packs and short_rows(block)))
    if turned and channels >= SPREAD_CHANNELS:
        spread = _spreads(prod(extents[place:]), channels, step)
    linear = StridedView(SCALARS[width], shape, block.linear_offset, steps)
    views = _plane_views(block, planes, scattered, turned)
    by_channel = scattered and channels < FEW_CHANNELS and has_long_rows(block, packs=True)
    return BlockSides(linear, far, views, near, scattered, turned, by_channel, place, spread)


def _plane_views(block: Block, planes: int, scattered: bool, turned: bool) -> tuple[StridedView, ...]:
    """The tiled side as it is copied: by bytes, or by items that are a pixel, or a row of them."""
    channels, shape, steps, dtype = block.channels, block.extents, block.tiled, BYTE
    run = row_of(shape, steps, 1, channels) if planes == 1 and not turned else channels
    if scattered and not turned:
        shape, steps = (channels, *shape), (1, *steps)
    elif channels == 1 or run >= LONG_RUN:
        shape, steps = (*shape, channels), (*steps, 1)
    elif turned and planes == 1 and steps[-1] == channels and channels % FEW_LINES_BYTES:
        dtype, shape, steps = items(channels * shape[-1]), shape[:-1], steps[:-1]
    else:
        dtype = items(channels)
    first, plane_bytes = block.tiled_offset, block.plane_bytes
    return tuple([StridedView(dtype, shape, first + plane * plane_bytes, steps) for plane in range(planes)])


def _spreads(pixels: int, channels: int, step: int) -> bool:
    """Whether the first cache holds the lines of all channels where a pixel is written, but not those of all pixels."""
    return pixels > CACHE_LINES and lines_held(step) >= 2 * channels


def is_scattered(block: Block) -> bool:
    """Whether the linear side has something between the channels of a pixel, so that they come first there."""
    return block.channels > 1 and bool(block.linear) and block.linear[-1] < block.channel_stride_bytes


def short_rows(block: Block) -> bool:
    """Whether the rows of scattered channels are so short that turning them in scratch is better."""
    several = block.channels > 3 or block.channels == block.tiled[-1]
    return several and bool(block.extents) and block.extents[-1] < SHORT_ROW


def row_of(extents: tuple[int, ...], strides: tuple[int, ...], width: int, run: int = 1) -> int:
    """Scalars that follow each other on a side: runs of `run`, from the innermost loop on."""
    for extent, stride in zip(reversed(extents), reversed(strides), strict=True):
        if stride != run * width:
            break
        run *= extent
    return run
