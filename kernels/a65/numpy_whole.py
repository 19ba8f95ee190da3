"""Whole tensors: conversions of a dense linear side at once, where all of its values fit the caches.

Small tensors of several tile classes take more calls than bytes. So their values are made in one go, the linear side as
one row; between scratch and the tiles go the copies of each class, with the strides that they would have for bytes.
"""

import attrs
import numpy as np

from tessbed.kernels.a65.numpy_pieces import widening
from tessbed.kernels.a65.numpy_steps import BYTE, SCRATCH, Copy, Room, StridedView
from tessbed.kernels.a65.numpy_values import PLANE, Narrow, Parameters, Shape, Widen, keep_words, planes_of


@attrs.frozen(eq=False)
class WholePack:
    """A linear row to tiles; `copies` has those from each plane in scratch."""

    linear: StridedView
    narrow: Narrow | None
    parameters: Parameters
    copies: tuple[tuple[Copy, ...], ...]
    calculates = True

    @property
    def written(self) -> tuple[StridedView, ...]:
        return tuple(copy.target for copies in self.copies for copy in copies)

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
        pairs = zip(planes, self.copies, strict=True)
        return narrow, split, [(copy.target, copy.source.over(plane)) for plane, copies in pairs for copy in copies]


@attrs.frozen(eq=False)
class WholeUnpack:
    """Tiles to a linear row; `copies` has those into each plane in scratch."""

    linear: StridedView
    widen: Widen | None
    parameters: Parameters
    copies: tuple[tuple[Copy, ...], ...]
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
        planes = [SCRATCH.array(PLANE + number, shape, BYTE) for number in range(len(self.copies))]
        change = widening(planes, self.widen, self.parameters, self.linear.dtype)
        pairs = zip(planes, self.copies, strict=True)
        return change, [(copy.source, copy.target.over(plane)) for plane, copies in pairs for copy in copies]
