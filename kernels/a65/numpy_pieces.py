"""Pieces: conversions between the two sides of a block, in pieces whose values stay in the caches.

Theory. What is calculated lies contiguous in scratch, in the order of the linear side. For each shape of a piece the
views of scratch are made once, by `bind`, and kept by the thread (`numpy_steps`); a piece is then a slice of each side
and a few calls of numpy. Pieces are as large as the caches allow, since Python takes microseconds for each.
How the sides are reached: `numpy_sides`.
"""

from collections.abc import Callable
from math import prod

import attrs
import numpy as np

from tessbed.kernels.a65.numpy_sides import BlockSides
from tessbed.kernels.a65.numpy_steps import BYTE, PIECE_SCALARS, SCRATCH, Room, StridedView
from tessbed.kernels.a65.numpy_values import (
    LONG,
    PLANE,
    WORD,
    WORDS,
    Narrow,
    Parameters,
    Shape,
    Widen,
    join_planes,
    planes_of,
)

LINEAR, TURNED, PIXELS, WIDENED = 8, 9, 10, 11
"""Parts of the scratch: what comes from or goes to the linear side, words in the other order, padded pixels, and words
in the upper halves of others, whose lower halves stay zero."""
PIXEL_BYTES = PIECE_SCALARS * 2


@attrs.frozen(eq=False)
class PackPieces:
    """Linear scalars of a block to the planes of its tiles."""

    sides: BlockSides
    narrow: Narrow | None
    parameters: Parameters

    @property
    def written(self) -> tuple[StridedView, ...]:
        return self.sides.planes

    @property
    def calculates(self) -> bool:
        return self.narrow is not None or len(self.sides.planes) > 1

    def run(self, source: np.ndarray, target: np.ndarray) -> None:
        sides = self.sides
        goals = [view.over(target) for view in sides.planes]
        for part, fetched, at, _ in sides.pieces(source, PIECE_SCALARS):
            planes, make = SCRATCH.bound(self, part.shape)
            make(fetched)
            for goal, plane in zip(goals, planes, strict=True):
                copy_channels(goal[at], plane, sides.by_channel and sides.bytes_first)

    def bind(self, shape: Shape) -> tuple[list[np.ndarray], Callable[[np.ndarray], None]]:
        """The planes of a piece in scratch, of the types of the sides, and what makes them of its linear scalars."""
        sides = self.sides
        room = Room(shape, sides.place + 1 if sides.scattered else 0, sides.place)
        words = (room if self.narrow is None else room.contiguous()).array(LINEAR, sides.linear.dtype)
        direct = self.narrow is None and sides.turned
        fetch = not direct and (self.narrow is None or not sides.near)
        fetched = as_items(words, sides.far)
        made, narrow = (words, None) if self.narrow is None else self.narrow(room, self.parameters)
        pixels = SCRATCH.array(TURNED, sides.pixels_last(shape), made.dtype) if sides.turned else made
        turned = channels_first(pixels) if sides.turned else None
        direct_planes = sides.planes[0].dtype == BYTE and pixels.shape[-1] > 1
        planes, split = planes_of(pixels, cast=not direct_planes)

        def make(part: np.ndarray) -> None:
            if fetch:
                fetched[...] = part
            if narrow:
                narrow(words if fetch else part)
            if turned is not None:
                copy_channels(turned, part if direct else made, sides.by_channel)
            split()

        return [as_items(plane, view) for plane, view in zip(planes, sides.planes, strict=True)], make


@attrs.frozen(eq=False)
class PackPadded:
    """Packs padded pixels: a piece of them is put together in scratch, then written in one go.

    `pixels` has their bytes last; `order` lists the loops as they are stored, outermost first.
    """

    pack: PackPieces
    pixels: StridedView
    order: tuple[int, ...]
    fill: int

    @property
    def written(self) -> tuple[StridedView, ...]:
        return (self.pixels,)

    @property
    def calculates(self) -> bool:
        return self.pack.calculates

    def run(self, source: np.ndarray, target: np.ndarray) -> None:
        sides = self.pack.sides
        pixels = self.pixels.over(target)
        for part, fetched, _, loops in sides.pieces(source, self.most):
            room, whole, goals, planes, make = SCRATCH.bound(self, part.shape)
            if SCRATCH.padded is not room:  # else what fills the pixels is still there
                room.fill(self.fill)
                SCRATCH.padded = room
            make(fetched)
            for into, plane in zip(goals, planes, strict=True):
                copy_channels(into, plane, sides.by_channel and sides.bytes_first)
            pixels[loops] = whole

    def bind(self, shape: Shape) -> tuple:
        """Room for whole pixels as stored, the same in the order of loops, its planes, and what the pack gives."""
        planes, make = self.pack.bind(shape)
        loops, size = self.pack.sides.pixels_last(shape)[:-1], self.pixels.shape[-1]
        step, strides = size, [1] * len(loops)
        for axis in reversed(self.order):
            strides[axis], step = step, step * loops[axis]
        room = SCRATCH.array(PIXELS, (step,), BYTE)
        whole = np.ndarray((*loops, size), BYTE, room, 0, (*strides, 1))  # pyright: ignore[reportArgumentType]
        goals = []
        for number, (plane, view) in enumerate(zip(planes, self.pack.sides.planes, strict=True)):
            steps = tuple(strides) if view.dtype.kind == "V" else (*strides, 1)
            if self.pack.sides.bytes_first:
                steps = (1, *strides)
            first = number * (size // len(planes))
            goals.append(np.ndarray(plane.shape, view.dtype, room, first, steps))  # pyright: ignore[reportArgumentType]
        return room, whole, goals, planes, make

    @property
    def most(self) -> int:
        """Scalars in a piece: its pixels must stay in the caches, too."""
        channels = self.pack.sides.pixels_last(self.pack.sides.linear.shape)[-1]
        return max(1, PIXEL_BYTES // self.pixels.shape[-1]) * channels


@attrs.frozen(eq=False)
class UnpackPieces:
    """The planes of a block's tiles to linear scalars."""

    sides: BlockSides
    widen: Widen | None
    parameters: Parameters

    @property
    def calculates(self) -> bool:
        return self.widen is not None or len(self.sides.planes) > 1

    @property
    def written(self) -> tuple[StridedView, ...]:
        return (self.sides.linear,)

    @property
    def most(self) -> int:
        """Scalars in a piece: fewer where many words of 32 bits are scattered, which then stay in the second cache."""
        linear = self.sides.linear
        many = self.sides.scattered and linear.dtype == LONG and 4 * prod(linear.shape) > 3 * PIECE_SCALARS
        return PIECE_SCALARS // 4 if many else PIECE_SCALARS

    def run(self, source: np.ndarray, target: np.ndarray) -> None:
        sides = self.sides
        planes = [view.over(source) for view in sides.planes]
        for goal, sent_to, at, _ in sides.pieces(target, self.most):
            loaded, change, made, sent = SCRATCH.bound(self, goal.shape)
            for lane, plane in zip(loaded, planes, strict=True):
                lane[...] = plane[at]
            if made is None:
                change(goal)
                continue
            if change:
                change(made)
            sent_to[...] = sent

    def bind(self, shape: Shape) -> tuple:
        """Planes of a piece as they are loaded, what makes scalars of them, those in scratch, and as they are sent."""
        sides = self.sides
        wanted = sides.pixels_last(shape) if sides.turned else shape
        pixels = Room(wanted, len(wanted) - 1) if sides.turned else Room(wanted, 0, sides.place)
        moved = self.widen is None and len(sides.planes) == 1
        rooms = pixels if moved or not sides.turned else Room(wanted)
        planes = [rooms.array(PLANE + number, BYTE) for number in range(len(sides.planes))]
        loaded = [as_items(plane, view) for plane, view in zip(planes, sides.planes, strict=True)]
        if sides.turned and sides.near and self.widen is None and sides.linear.dtype == LONG:
            return loaded, *self._turn_and_widen(planes, shape)
        change = None if moved else widening(planes, self.widen, self.parameters, sides.linear.dtype)
        if not moved and not sides.turned and (sides.near or sides.scattered):
            return loaded, change, None, None
        made = planes[0] if moved else pixels.array(LINEAR, sides.linear.dtype)
        return loaded, change, made, channels_first(made) if sides.turned else as_items(made, sides.far)

    def _turn_and_widen(self, planes: list[np.ndarray], shape: Shape) -> tuple:
        """Words are turned while they are short, straight into the upper halves of the long ones."""
        words = Room(planes[0].shape, planes[0].ndim - 1).array(LINEAR, WORD)
        wide = Room(shape, 0, self.sides.place).array(WIDENED, LONG)
        upper = np.ndarray(shape, WORD, wide.base, 2, wide.strides)  # pyright: ignore[reportArgumentType]
        join, turned = join_planes(planes, WORD), channels_first(words)

        def change(made: np.ndarray) -> None:
            join(words)
            upper[...] = turned

        return change, wide, wide


def channels_first(pixels: np.ndarray) -> np.ndarray:
    """The same array with its last axis first."""
    return pixels.transpose(-1, *range(pixels.ndim - 1))


def widening(
    planes: list[np.ndarray], widen: Widen | None, parameters: Parameters, dtype: np.dtype
) -> Callable[[np.ndarray], object]:
    """What makes linear scalars of the planes of tiled ones."""
    if widen is None:
        return join_planes(planes, dtype)
    if len(planes) == 1:
        return widen(planes[0], parameters)
    words = SCRATCH.array(WORDS, planes[0].shape, WORD)
    join, change = join_planes(planes, WORD), widen(words, parameters)

    def both(target: np.ndarray) -> None:
        join(words)
        change(target)

    return both


def as_items(plane: np.ndarray, like: StridedView | None) -> np.ndarray:
    """Contiguous scratch as the items that a side has, or as it is."""
    if like is None or like.dtype.kind != "V":
        return plane
    return np.ndarray(plane.shape[:-1], like.dtype, plane.base, 0, plane.strides[:-1])  # pyright: ignore[reportArgumentType]


def copy_channels(target: np.ndarray, source: np.ndarray, by_channel: bool) -> None:
    """Copies it at once, or channel by channel where those come first."""
    if by_channel:
        for goal, lane in zip(target, source, strict=True):
            goal[...] = lane
    else:
        target[...] = source
