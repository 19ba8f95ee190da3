"""Whole tensors: conversions of a dense linear side at once, where all of its values fit the caches.

Small tensors of several tile classes take more calls than bytes. So their values are made in one go, the linear side as
one row; between scratch and the tiles go copies of each class, with the strides that they would have for bytes. Where
channels are scattered on the linear side and rows of tiles short, scratch has dense pixels, which travel as items, and
all of them are turned at once.
"""

from collections.abc import Iterator
from typing import NamedTuple

import attrs
import numpy as np

from tessbed.kernels.a65.numpy_pieces import LINEAR, TURNED, copy_to, turned, widening
from tessbed.kernels.a65.numpy_steps import BYTE, SCRATCH, FillStep, Room, StridedView
from tessbed.kernels.a65.numpy_values import (
    PLANE,
    WORD,
    Change,
    Narrow,
    Parameters,
    Shape,
    Widen,
    keep_words,
    planes_of,
)


class PlaneViews(NamedTuple):
    """Bytes of the low plane: where they lie in scratch and in the tiles; and how far behind them the next plane is."""

    scratch: StridedView
    tiled: StridedView
    plane_bytes: int

    def tiled_planes(self, planes: int) -> Iterator[StridedView]:
        """Where the bytes of each plane lie in the tiles."""
        for plane in range(planes):
            yield self.tiled.later(plane * self.plane_bytes)


def pairs(lanes: tuple[PlaneViews, ...], planes: list[np.ndarray]) -> list[tuple[StridedView, np.ndarray]]:
    """The view of the tiles for each lane of each plane, with its bytes in scratch."""
    return [
        (view, lane.scratch.over(plane))
        for lane in lanes
        for view, plane in zip(lane.tiled_planes(len(planes)), planes, strict=True)
    ]


class DensePixels(NamedTuple):
    """Scalars whose channels are scattered on the linear side, as dense pixels in scratch: each of `slices` holds
    `channels` rows of `pixels` there, and here pixels that begin `pitch` scalars apart.

    Rows of a power of two would share the lines of a cache, so such pixels have a gap behind them.
    """

    slices: int
    channels: int
    pixels: int
    pitch: int

    def place(self, scalar: int) -> int:
        """Where a scalar of the linear side is here; of a step along one axis, the step here."""
        outer, scalar = divmod(scalar, self.channels * self.pixels)
        channel, pixel = divmod(scalar, self.pixels)
        return (outer * self.pixels + pixel) * self.pitch + channel

    @property
    def size(self) -> int:
        """Scalars here, gaps included."""
        return self.slices * self.pixels * self.pitch

    def linear(self, row: np.ndarray) -> np.ndarray:
        """The linear row with its channels last."""
        return row.reshape(self.slices, self.channels, self.pixels).transpose(0, 2, 1)

    def dense(self, row: np.ndarray) -> np.ndarray:
        """The same of a row here."""
        return row.reshape(self.slices, self.pixels, self.pitch)[..., : self.channels]


@attrs.frozen(eq=False)
class WholePack:
    """A linear row to `planes` planes of tiles."""

    linear: StridedView
    narrow: Narrow | None
    parameters: Parameters
    planes: int
    lanes: tuple[PlaneViews, ...]
    turn: DensePixels | None
    fill: FillStep | None
    calculates = True

    @property
    def written(self) -> tuple[StridedView, ...]:
        return tuple(view for lane in self.lanes for view in lane.tiled_planes(self.planes))

    def run(self, source: np.ndarray, target: np.ndarray) -> None:
        narrow, split, sources = SCRATCH.bound(self, self.linear.shape)
        narrow(self.linear.over(source))
        split()
        if self.fill:
            self.fill.run(source, target)
        for view, made in sources:
            view.over(target)[...] = made

    def bind(self, shape: Shape) -> tuple:
        """What makes tiled scalars, what takes them apart, and each target's view with the scratch that goes there."""
        made, narrow = (self.narrow or keep_words)(Room(shape), self.parameters)
        if self.turn:
            made, narrow = self._turned(self.turn, made, narrow if self.narrow else None)
        planes, split = planes_of(made)
        return narrow, split, pairs(self.lanes, list(planes))

    def _turned(self, turn: DensePixels, made: np.ndarray, narrow: Change | None) -> tuple[np.ndarray, Change]:
        """The same as dense pixels; what is not narrowed is turned at once."""
        room = SCRATCH.array(TURNED, (turn.size,), made.dtype)
        dense = turn.dense(room)

        def change(source: np.ndarray) -> None:
            if narrow:
                narrow(source)
            dense[...] = turn.linear(made if narrow else source)

        return room, change


@attrs.frozen(eq=False)
class WholeUnpack:
    """`planes` planes of tiles to a linear row."""

    linear: StridedView
    widen: Widen | None
    parameters: Parameters
    planes: int
    lanes: tuple[PlaneViews, ...]
    turn: DensePixels | None
    calculates = True
    fill = None

    @property
    def written(self) -> tuple[StridedView, ...]:
        return (self.linear,)

    def run(self, source: np.ndarray, target: np.ndarray) -> None:
        change, targets = SCRATCH.bound(self, self.linear.shape)
        for view, plane in targets:
            plane[...] = view.over(source)
        change(self.linear.over(target))

    def bind(self, shape: Shape) -> tuple:
        """What makes linear scalars, and each source's view with the scratch where it goes."""
        size = (self.turn.size,) if self.turn else shape
        planes = [SCRATCH.array(PLANE + number, size, BYTE) for number in range(self.planes)]
        if self.turn:
            change = self._turned(self.turn, planes)
        else:
            change = widening(planes, self.widen, self.parameters, self.linear.dtype)
        return change, pairs(self.lanes, planes)

    def _turned(self, turn: DensePixels, planes: list[np.ndarray]) -> Change:
        """What makes linear scalars of the planes of dense pixels."""
        scalars = SCRATCH.array(LINEAR, planes[0].shape, WORD) if self.planes > 1 else planes[0]
        make = turned(planes, scalars, self.widen, self.parameters, Room(self.linear.shape), self.linear.dtype)
        dense = turn.dense(scalars)

        def change(target: np.ndarray) -> None:
            make(target, lambda row: copy_to(dense, turn.linear(row)))

        return change
