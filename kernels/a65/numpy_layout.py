"""Layout: how the scalars of a box lie in scratch.

Theory. In the order of the linear side they are contiguous, and numpy converts them a register at a time. Where
channels are scattered on that side, a tile's pixels would be put together byte by byte. There they lie as dense pixels,
whose channels travel as one item; between both orders goes a turn, a copy between two strided views. It takes an
element of each row in turn: rows of a power of two bytes would lie in the same few lines of the first cache, and so lie
apart.
"""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from tessbed.kernels.a65.blocks import AxisCut, Ints
from tessbed.kernels.a65.numpy_copies import FEW_CHANNELS
from tessbed.kernels.a65.numpy_steps import SCRATCH, items
from tessbed.kernels.operations import TileFormat
from tessbed.kernels.plan import Plan

FEW_TILES = 3
"""Tiles of channels from which on dense pixels have the channels of one tile each, else all of them."""
SHORT_PIXEL_BYTES = 16
"""Bytes of a pixel up to which rows of them lie as they do in tiles: then numpy copies them, and no single pixels."""
APART_BYTES, FEW_LINES_BYTES = 16, 128
"""What lies between rows that are a multiple of two lines of the caches long."""

Turn = tuple[tuple[slice, ...], np.ndarray]
"""Channels of the linear side, and the dense pixels that have them, with an axis for tiles of channels."""


class Layout(NamedTuple):
    """`shape` is in the order of the linear side; `strides` has scalars for outer axes and C, D, H, W.

    Dense pixels begin `channel_step` behind those of the tile of channels before. `channel` is the place of that axis,
    and `parts` has the first channel, the tiles and the channels of each.
    """

    shape: Ints
    strides: Ints
    size: int
    turned: bool = False
    channel: int = 0
    channel_step: int = 0
    parts: Sequence[tuple[int, int, int]] = ()
    steps: Ints = ()

    def turns(self, scalars: np.ndarray) -> list[Turn]:
        """The turns between the linear side and a row of dense pixels; few channels go one by one."""
        at, size, found = self.channel, scalars.itemsize, []
        parts = self.parts
        if len(parts) == parts[0][1] == 1 and parts[0][2] < FEW_CHANNELS:
            parts = [(channel, 1, 1) for channel in range(parts[0][2])]
        for first, count, channels in parts:
            tile, channel = divmod(first, self.parts[0][2])
            shape = (*self.shape[:at], count, channels, *self.shape[at + 1 :])
            steps = [step * size for step in (*self.steps[:at], self.channel_step, 1, *self.steps[at + 1 :])]
            place = (tile * self.channel_step + channel) * size
            dense = np.ndarray(shape, scalars.dtype, scalars, place, steps)  # pyright: ignore[reportArgumentType]
            found.append(((*[slice(None)] * at, slice(first, first + count * channels)), dense))
        return found

    def rows(self, part: int, dtype: np.dtype) -> np.ndarray:
        """Scratch in the order of the linear side; what is turned has a row for each channel, which lie apart."""
        inner = self.shape[self.channel + 1 :]
        row = prod(inner) * dtype.itemsize
        if not self.turned or row % FEW_LINES_BYTES:
            return SCRATCH.array(part, self.shape, dtype)
        apart = SCRATCH.array(part, self.shape[: self.channel + 1], items(row + APART_BYTES))
        strides = (*apart.strides, *np.ndarray(inner, dtype, apart.base).strides)  # pyright: ignore[reportArgumentType]
        return np.ndarray(self.shape, dtype, apart.base, 0, strides)  # pyright: ignore[reportArgumentType]


def linear_layout(extents: Sequence[int], order: Ints, channel: int, flat: bool) -> Layout:
    """The order of the linear side, as one axis where it is `flat`."""
    strides, size = _strides(extents, order, 1)
    if channel not in order:
        strides[channel] = 1
    return Layout((size,) if flat else tuple([extents[axis] for axis in order]), tuple(strides), size)


def dense_layout(plan: Plan, extents: Sequence[int], order: Ints, cuts: Sequence[AxisCut]) -> Layout:
    """Dense pixels of a box, in the order of the linear side; short ones in that of the tiles."""
    channel, width = len(plan.outer), plan.tiled_dtype.width
    parts = [(0, cut.tiles, cut.elements) for cut in cuts if cut.axis == channel] or plan.c.parts
    if plan.tile_format is TileFormat.CBLOCKED or parts[0][1] < FEW_TILES:
        parts = ((0, 1, extents[channel]),)
    pixel, tiles = parts[0][2], sum([count for _, count, _ in parts])
    pitch = pixel if pixel * width % FEW_LINES_BYTES else pixel + APART_BYTES // width
    pixels = [axis for axis in (sorted(order) if pixel * width < SHORT_PIXEL_BYTES else order) if axis != channel]
    strides, step = _strides(extents, pixels, pitch)
    strides[channel] = 1
    shape, steps = tuple([extents[axis] for axis in order]), tuple([strides[axis] for axis in order])
    places = (order.index(channel), step if tiles > 1 else 0)
    return Layout(shape, tuple(strides), step * tiles, True, *places, parts, steps)


def _strides(extents: Sequence[int], order: Sequence[int], step: int) -> tuple[list[int], int]:
    """Strides of axes in this order, of which the innermost one has `step`, and how much they are together."""
    strides = [0] * len(extents)
    for axis in reversed(order):
        strides[axis], step = step, step * extents[axis]
    return strides, step
