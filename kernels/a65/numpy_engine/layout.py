"""Layout: how the scalars of a box lie in scratch.

Theory. In the order of the linear side they are contiguous, and numpy converts them a register at a time. Where
channels are scattered on that side, a tile's pixels would be put together byte by byte. There they lie as dense pixels,
whose channels travel as one item; between both orders goes a turn, a copy between two strided views. It takes an
element of each row in turn: rows of a power of two bytes would lie in the same few lines of the first cache, and so lie
apart.
"""

from collections.abc import Sequence
from math import gcd
from typing import NamedTuple

import numpy as np

from tessbed.kernels.a65.blocks import AxisCut, Ints
from tessbed.kernels.operations import TileFormat
from tessbed.kernels.plan import Plan

FEW_TILES = 3
"""Tiles of channels from which on dense pixels have the channels of one tile each, else all of them."""
SHORT_PIXEL_BYTES = 16
"""Bytes of a pixel up to which rows of them lie as they do in tiles: then numpy copies them, and no single pixels."""
APART_BYTES, FEW_LINES_BYTES = 16, 128
"""What lies between pixels that are a multiple of two lines of the caches long."""
ROWS_APART_BYTES, CACHE_WAY_BYTES, CACHE_WAYS = 64, 4096, 6
"""What lies between rows of channels that collide in a first cache, and how many of its lines they may share."""


class PixelTurn(NamedTuple):
    """Channels of the linear side, and the dense pixels with them, both with an axis for tiles of channels.

    `axis` is that of channels behind it; `place` and `steps` say where the pixels are in scratch.
    """

    channels: tuple[slice, ...]
    axis: int
    shape: Ints
    place: int
    steps: Ints
    dense: np.ndarray

    def of(self, linear: np.ndarray) -> np.ndarray:
        """Its view of the linear side."""
        return linear[self.channels].reshape(self.shape)


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

    def turns(self, scalars: np.ndarray, single: bool = False) -> list[PixelTurn]:
        """The turns between the linear side and a row of dense pixels; channels go one by one, if they are `single`."""
        at, size, found, parts = self.channel, scalars.itemsize, [], self.parts
        if single and len(parts) == parts[0][1] == 1:
            parts = [(channel, 1, 1) for channel in range(parts[0][2])]
        for first, count, channels in parts:
            tile, channel = divmod(first, self.parts[0][2])
            shape = (*self.shape[:at], count, channels, *self.shape[at + 1 :])
            steps = tuple([step * size for step in (*self.steps[:at], self.channel_step, 1, *self.steps[at + 1 :])])
            place = (tile * self.channel_step + channel) * size
            dense = np.ndarray(shape, scalars.dtype, scalars.base, place, steps)  # pyright: ignore[reportArgumentType]
            index = (*[slice(None)] * at, slice(first, first + count * channels))
            found.append(PixelTurn(index, at + 1, shape, place, steps, dense))
        return found

    def over(self, scalars: np.ndarray) -> np.ndarray:
        """Scalars in scratch as the shape that they have."""
        steps = [step * scalars.itemsize for step in self.steps]
        return np.ndarray(self.shape, scalars.dtype, scalars.base, 0, steps)  # pyright: ignore[reportArgumentType]


def linear_layout(extents: Sequence[int], order: Ints, channel: int, flat: bool, apart: int = 0) -> Layout:
    """The order of the linear side, as one axis where it is `flat`; rows of channels lie so many scalars apart."""
    strides, size = _strides(extents, order, 1, channel, apart)
    if channel not in order:
        strides[channel] = 1
    shape, steps = ((size,), (1,)) if flat else zip(*[(extents[axis], strides[axis]) for axis in order], strict=True)
    return Layout(tuple(shape), tuple(strides), size, steps=tuple(steps))


def collide(row_bytes: int, rows: int) -> bool:
    """Whether a scalar of each row would not stay in the first cache until the next one is taken."""
    return rows > CACHE_WAYS * (CACHE_WAY_BYTES // gcd(row_bytes, CACHE_WAY_BYTES))


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


def _strides(
    extents: Sequence[int], order: Sequence[int], step: int, channel: int = -1, apart: int = 0
) -> tuple[list[int], int]:
    """Strides of axes in this order, of which the innermost one has `step`, and how much they are together."""
    strides = [0] * len(extents)
    for axis in reversed(order):
        step += apart if axis == channel else 0
        strides[axis], step = step, step * extents[axis]
    return strides, step
