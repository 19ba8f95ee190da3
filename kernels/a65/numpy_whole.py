"""Whole tensors: conversions of a dense linear side at once, where all of its values fit the caches.

Small tensors of several tile classes take more calls than bytes. So their values are made in one go, the linear side as
one row; between scratch and the tiles go copies of each class, with the strides that they would have for bytes.
"""

from collections.abc import Iterator
from typing import NamedTuple

import attrs
import numpy as np

from tessbed.kernels.a65.numpy_pieces import widening
from tessbed.kernels.a65.numpy_steps import BYTE, SCRATCH, Room, StridedView
from tessbed.kernels.a65.numpy_values import PLANE, Narrow, Parameters, Shape, Widen, keep_words, planes_of


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


@attrs.frozen(eq=False)
class WholePack:
    """A linear row to `planes` planes of tiles."""

    linear: StridedView
    narrow: Narrow | None
    parameters: Parameters
    planes: int
    lanes: tuple[PlaneViews, ...]
    calculates = True

    @property
    def written(self) -> tuple[StridedView, ...]:
        return tuple(view for lane in self.lanes for view in lane.tiled_planes(self.planes))

    def run(self, source: np.ndarray, target: np.ndarray) -> None:
        narrow, split, sources = SCRATCH.bound(self, self.linear.shape)
        narrow(self.linear.over(source))
        split()
        for view, made in sources:
            view.over(target)[...] = made

    def bind(self, shape: Shape) -> tuple:
        """What makes tiled scalars, what takes them apart, and each target's view with the scratch that goes there."""
        made, narrow = (self.narrow or keep_words)(Room(shape), self.parameters)
        planes, split = planes_of(made)
        return narrow, split, pairs(self.lanes, list(planes))


@attrs.frozen(eq=False)
class WholeUnpack:
    """`planes` planes of tiles to a linear row."""

    linear: StridedView
    widen: Widen | None
    parameters: Parameters
    planes: int
    lanes: tuple[PlaneViews, ...]
    calculates = True

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
        planes = [SCRATCH.array(PLANE + number, shape, BYTE) for number in range(self.planes)]
        change = widening(planes, self.widen, self.parameters, self.linear.dtype)
        return change, pairs(self.lanes, planes)
