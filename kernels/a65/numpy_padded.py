"""Padded pixels: channels are put together with their padding in scratch, then written in one go.

Theory. The bytes of a pixel's padding lie between those of its channels, so to fill them apart takes a short run for
each plane of each pixel. Scratch keeps the padding: a piece of pixels is filled once, and again only where other pixels
were made there meanwhile; only the channels' bytes change from piece to piece. The pixels are stored in scratch in the
order of the tiles, so that they go out as long runs.
"""

import attrs
import numpy as np

from tessbed.kernels.a65.numpy_pieces import PackPieces, copy_channels
from tessbed.kernels.a65.numpy_steps import BYTE, PIECE_SCALARS, SCRATCH, StridedView, cut_pieces
from tessbed.kernels.a65.numpy_values import Shape

PIXELS = 10
"""The part of the scratch for padded pixels."""
PIXEL_BYTES = PIECE_SCALARS * 2
"""Bytes of padded pixels in a piece."""


@attrs.frozen(eq=False)
class PaddedPixels:
    """Pixels of a block, each with all of its bytes as one item.

    `order` lists the loops as they are stored, outermost first.
    """

    view: StridedView
    order: tuple[int, ...]
    fill: int

    @property
    def size(self) -> int:
        """Bytes of a pixel."""
        return self.view.dtype.itemsize

    def bind(self, shape: Shape) -> tuple[np.ndarray, np.ndarray]:
        """Room for some pixels as they are stored, and the same in the order of loops."""
        step, strides = self.size, [0] * len(shape)
        for axis in reversed(self.order):
            strides[axis], step = step, step * shape[axis]
        room = SCRATCH.array(PIXELS, (step,), BYTE)
        return room, np.ndarray(shape, self.view.dtype, room, 0, strides)  # pyright: ignore[reportArgumentType]

    def prepare(self, room: np.ndarray) -> None:
        """Fills the room, unless these pixels were the last that were made there. Their first piece is the largest."""
        pixels, storage = SCRATCH.padded
        if pixels is not self or storage is not room.base:
            room.fill(self.fill)
            SCRATCH.padded = self, room.base


@attrs.frozen(eq=False)
class PadCopies:
    """Few channels to padded pixels: `sources`, bytes or words, and where in a pixel each of them goes."""

    pixels: PaddedPixels
    sources: tuple[StridedView, ...]
    places: tuple[int, ...]
    calculates = False

    @property
    def written(self) -> tuple[StridedView, ...]:
        return (self.pixels.view,)

    def run(self, source: np.ndarray, target: np.ndarray) -> None:
        pixels, sources = self.pixels.view.over(target), [view.over(source) for view in self.sources]
        for cut in cut_pieces(pixels.shape, max(1, PIXEL_BYTES // self.pixels.size)):
            part = pixels[cut]
            room, whole, goals = SCRATCH.bound(self, part.shape)
            self.pixels.prepare(room)
            for goal, lane in zip(goals, sources, strict=True):
                goal[...] = lane[cut]
            part[...] = whole

    def bind(self, shape: Shape) -> tuple:
        """Room for pixels, the same in the order of loops, and the bytes of each source there."""
        room, whole = self.pixels.bind(shape)
        goals = [
            np.ndarray(shape, view.dtype, room, place, whole.strides)  # pyright: ignore[reportArgumentType]
            for view, place in zip(self.sources, self.places, strict=True)
        ]
        return room, whole, goals


@attrs.frozen(eq=False)
class PackPadded:
    """Values, or more channels, to padded pixels."""

    pack: PackPieces
    pixels: PaddedPixels

    @property
    def written(self) -> tuple[StridedView, ...]:
        return (self.pixels.view,)

    @property
    def calculates(self) -> bool:
        return self.pack.calculates

    def run(self, source: np.ndarray, target: np.ndarray) -> None:
        sides = self.pack.sides
        pixels = self.pixels.view.over(target)
        for part, fetched, _, loops in sides.pieces(source, self.most):
            room, whole, goals, planes, make = SCRATCH.bound(self, part.shape)
            self.pixels.prepare(room)
            make(fetched)
            for into, plane in zip(goals, planes, strict=True):
                copy_channels(into, plane, sides.by_channel and sides.bytes_first)
            pixels[loops] = whole

    def bind(self, shape: Shape) -> tuple:
        """Room for whole pixels as stored, the same in the order of loops, its planes, and what the pack gives."""
        sides, goals = self.pack.sides, []
        planes, make = self.pack.bind(shape)
        room, whole = self.pixels.bind(sides.pixels_last(shape)[:-1])
        strides, plane_bytes = whole.strides, self.pixels.size // len(planes)
        for number, (plane, view) in enumerate(zip(planes, sides.planes, strict=True)):
            steps = (1, *strides) if sides.bytes_first else strides if view.dtype.kind == "V" else (*strides, 1)
            goals.append(np.ndarray(plane.shape, view.dtype, room, number * plane_bytes, steps))  # pyright: ignore[reportArgumentType]
        return room, whole, goals, planes, make

    @property
    def most(self) -> int:
        """Scalars in a piece: its pixels must stay in the caches, too."""
        channels = self.pack.sides.pixels_last(self.pack.sides.linear.shape)[-1]
        return max(1, PIXEL_BYTES // self.pixels.size) * channels
