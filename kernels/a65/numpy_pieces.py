"""Pieces: conversions between the two sides of a block, in pieces whose values stay in the caches.

Theory. What is calculated lies contiguous in scratch, in the order of the linear side. For each shape of a piece the
views of scratch are made once, by `bind`, and kept by the thread (`numpy_steps`); a piece is then a slice of each side
and a few calls of numpy. Pieces are as large as the caches allow, since Python takes microseconds for each.
How the sides are reached: `numpy_sides`.
"""

from collections.abc import Callable
from functools import partial
from math import prod

import attrs
import numpy as np

from tessbed.kernels.a65.numpy_sides import BlockSides
from tessbed.kernels.a65.numpy_steps import (
    BYTE,
    PIECE_PIXELS,
    PIECE_SCALARS,
    SCRATCH,
    FillStep,
    Room,
    StridedView,
    lines_held,
)
from tessbed.kernels.a65.numpy_values import (
    LANE,
    LONG,
    PLANE,
    WORD,
    WORDS,
    Change,
    Narrow,
    Parameters,
    Shape,
    Widen,
    join_planes,
    planes_of,
)

LINEAR, TURNED, MADE = 8, 9, 11
"""Parts of the scratch: what comes from or goes to the linear side, scalars in the other order, and linear scalars that
are made of those."""


@attrs.frozen(eq=False)
class PackPieces:
    """Linear scalars of a block to the planes of its tiles."""

    sides: BlockSides
    narrow: Narrow | None
    parameters: Parameters
    fill: FillStep | None

    @property
    def written(self) -> tuple[StridedView, ...]:
        return self.sides.planes

    @property
    def most(self) -> int:
        """Scalars in a piece: its pixels must stay in the caches, too."""
        channels = self.sides.pixels_last(self.sides.linear.shape)[-1]
        return min(PIECE_SCALARS, PIECE_PIXELS * channels) if self.fill else PIECE_SCALARS

    @property
    def calculates(self) -> bool:
        return self.narrow is not None or len(self.sides.planes) > 1

    def run(self, source: np.ndarray, target: np.ndarray) -> None:
        sides = self.sides
        goals = [view.over(target) for view in sides.planes]
        padded = self.fill.target.over(target) if self.fill else target
        for part, fetched, at, loops in sides.pieces(source, self.most):
            planes, make = SCRATCH.bound(self, part.shape)
            make(fetched)
            if self.fill:
                padded[loops] = self.fill.value
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
class UnpackPieces:
    """The planes of a block's tiles to linear scalars."""

    sides: BlockSides
    widen: Widen | None
    parameters: Parameters
    fill = None

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
        if sides.turned:
            return self._bind_turned(shape)
        moved = self.widen is None and len(sides.planes) == 1
        room = Room(shape, 0, sides.place)
        planes, loaded = self._planes(room)
        change = None if moved else widening(planes, self.widen, self.parameters, sides.linear.dtype)
        if not moved and (sides.near or sides.scattered):
            return loaded, change, None, None
        made = planes[0] if moved else room.array(LINEAR, sides.linear.dtype)
        return loaded, change, made, as_items(made, sides.far)

    def _planes(self, room: Room) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """The planes of a piece in scratch, as bytes, and as they are loaded."""
        views = self.sides.planes
        planes = [room.array(PLANE + number, BYTE) for number in range(len(views))]
        return planes, [as_items(plane, view) for plane, view in zip(planes, views, strict=True)]

    def _bind_turned(self, shape: Shape) -> tuple:
        """The same where tiled scalars are turned: while they are short, before they become linear ones."""
        sides, pixels = self.sides, self.sides.pixels_last(shape)
        moved = self.widen is None and len(sides.planes) == 1
        if sides.spread and not moved:
            planes, loaded = self._planes(Room(pixels))
            spread = widening(planes, self.widen, self.parameters, sides.linear.dtype)
            return loaded, lambda target: spread(channels_last(target)), None, None
        words = len(sides.planes) > 1
        crowded = lines_held(pixels[-1] * len(sides.planes)) < prod(pixels[sides.place : -1])
        apart = Room(pixels, len(pixels) - 1 if crowded else 0)
        planes, loaded = self._planes(Room(pixels) if words else apart)
        scalars = apart.array(LINEAR, WORD) if words else planes[0]
        room, linear = Room(shape, 0, sides.place), sides.linear
        turn = turned(planes, scalars, self.widen, self.parameters, room, linear.dtype)
        last = channels_first(scalars)
        sparse = self.widen is not None and linear.strides[-1] != linear.dtype.itemsize
        made = room.array(MADE, linear.dtype) if sparse else None  # numpy calculates contiguous values at once
        return loaded, lambda target: turn(target, partial(copy_to, last)), made, made


def copy_to(source: np.ndarray, target: np.ndarray) -> None:
    """Copies it."""
    target[...] = source


def channels_first(pixels: np.ndarray) -> np.ndarray:
    """The same array with its last axis first."""
    return pixels.transpose(-1, *range(pixels.ndim - 1))


def channels_last(linear: np.ndarray) -> np.ndarray:
    """The same array with its first axis last."""
    return linear.transpose(*range(1, linear.ndim), 0)


def turned(
    planes: list[np.ndarray],
    scalars: np.ndarray,
    widen: Widen | None,
    parameters: Parameters,
    room: Room,
    dtype: np.dtype,
) -> Callable[[np.ndarray, Change], None]:
    """What makes linear scalars of the planes of pixels: joined as `scalars`, they are turned while they are short.

    It is given the linear side, and what copies the scalars to linear ones, or to the same in a room.
    """
    join = join_planes(planes, scalars.dtype) if len(planes) > 1 else None
    goal = change = None
    if widen is not None:
        goal = room.array(TURNED, scalars.dtype)
        change = widen(goal, parameters)
    elif dtype != scalars.dtype:  # to the upper halves of others, whose lower ones are zero
        longs = room.array(LANE + 2, dtype)
        goal = np.ndarray(longs.shape, WORD, longs.base, 2, longs.strides)  # pyright: ignore[reportArgumentType]
        change = partial(copy_to, longs)

    def make(target: np.ndarray, turn: Change) -> None:
        if join:
            join(scalars)
        turn(target if goal is None else goal)
        if change:
            change(target)

    return make


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
    axes = len(like.shape)  # an item is a pixel, or a row of them
    return np.ndarray(plane.shape[:axes], like.dtype, plane.base, 0, plane.strides[:axes])  # pyright: ignore[reportArgumentType]


def copy_channels(target: np.ndarray, source: np.ndarray, by_channel: bool) -> None:
    """Copies it at once, or channel by channel where those come first."""
    if by_channel:
        for goal, lane in zip(target, source, strict=True):
            goal[...] = lane
    else:
        target[...] = source
