"""Relay: conversions between the linear side and the tiles by way of scratch, box by box.

Theory. A box of the tensor that fits the caches has its values made at once, whatever classes of tiles it is cut into:
one call of numpy takes as long as a thousand bytes. Between scratch and the tiles go copies of each class, a pixel's
channels as one item. How scalars lie in scratch: `numpy_layout`. How a large tensor is cut: `numpy_boxes`.

The views of scratch are made once for each shape of a box, by `bind`, and kept by the thread (`numpy_steps`).
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from math import prod
from operator import mul
from typing import NamedTuple

import attrs
import numpy as np

from tessbed.kernels.a65.blocks import AxisCut, Block, Ints, axes_of, blocks_of
from tessbed.kernels.a65.numpy_boxes import WHOLE, Box, boxes_of
from tessbed.kernels.a65.numpy_copies import FEW_CHANNELS, as_long_pixels, padding_of, run_views
from tessbed.kernels.a65.numpy_layout import Layout, dense_layout, linear_layout
from tessbed.kernels.a65.numpy_steps import BYTE, PIECE_SCALARS, SCRATCH, StridedView, items
from tessbed.kernels.a65.numpy_values import (
    LANE,
    LINEAR,
    MADE,
    PLANE,
    SCALARS,
    TURNED,
    WORD,
    WORDS,
    Change,
    Conversion,
    join_planes,
    planes_of,
)
from tessbed.kernels.plan import Plan

LONG_RUN = 192
"""Scalars in a row from which on numpy calculates on the linear side itself."""
SHORT_ROW = 48
"""Pixels in a row of a tile up to which scattered channels are turned in scratch."""
TURNED_CHANNELS = 16
"""From so many on, or where they are 8, words of channels are cheaper to turn than to copy one by one."""


class Lane(NamedTuple):
    """Bytes that are copied between tiles and scratch, which may be a value that fills; `steps` lead to a box's."""

    tiled: StridedView
    scratch: np.ndarray
    steps: Ints


class Bound(NamedTuple):
    """What converts boxes of a shape: `change` is given the linear side."""

    lanes: list[Lane]
    change: Change


@attrs.frozen(eq=False)
class Relay:
    """A plan's conversion.

    `extents` are those of outer axes and C, D, H, W; `order` has the axes of more than one element, as they lie on the
    `linear` side. `turned` says that scratch has dense pixels; `near` that numpy calculates on the linear side itself.
    """

    plan: Plan
    change: Conversion | None
    extents: Ints
    order: Ints
    linear: StridedView
    scalars: int
    turned: bool
    near: bool

    @property
    def calculates(self) -> bool:
        return self.change is not None or self.plan.tiled_dtype.width > 1

    @property
    def scattered(self) -> bool:
        """Whether channels do not follow each other on the linear side."""
        return self.channel in self.order[:-1]

    @property
    def channel(self) -> int:
        """The axis of channels."""
        return len(self.plan.outer)

    def run(self, source: np.ndarray, target: np.ndarray) -> None:
        packs = self.plan.packs
        tiles, linear = (target, self.linear.over(source)) if packs else (source, self.linear.over(target))
        for box in self.boxes():
            lanes, change = SCRATCH.bound(self, box.cuts)
            part = linear[box.slices]
            if packs:
                change(part)
            for (dtype, shape, offset, strides), scratch, steps in lanes:
                if steps:
                    offset += sum(map(mul, box.starts, steps))
                view = np.ndarray(shape, dtype, tiles, offset, strides)  # pyright: ignore[reportArgumentType]
                if packs:
                    view[...] = scratch
                else:
                    scratch[...] = view
            if not packs:
                change(part)

    def boxes(self) -> Iterable[Box]:
        """The tensor, or what it is cut into."""
        if self.scalars <= PIECE_SCALARS:
            return WHOLE
        return boxes_of(self.plan, self.extents, self.order, self.scalars)

    def bind(self, cuts: tuple[AxisCut, ...]) -> Bound:
        """What converts boxes of a shape."""
        extents = list(self.extents)
        for cut in cuts:
            extents[cut.axis] = cut.tiles * cut.elements
        if self.turned:
            layout = dense_layout(self.plan, extents, self.order, cuts)
        else:
            layout = linear_layout(extents, self.order, self.channel, self.linear.shape == (self.scalars,))
        change, planes = (self._pack if self.plan.packs else self._unpack)(layout)
        blocks = blocks_of(self.plan, layout.strides, cuts, layout.channel_step)
        return Bound([lane for block in blocks for lane in self._lanes(block, planes)], change)

    def _lanes(self, block: Block, planes: Sequence[np.ndarray]) -> Iterator[Lane]:
        fill = padding_of(self.plan, block)
        if fill:
            yield Lane(fill.target, fill.value, block.steps)
        long = as_long_pixels(block) if len(planes) == 1 else block
        for scratch, tiled in run_views(long, self.plan.packs):
            for number, plane in enumerate(planes):
                yield Lane(tiled.later(number * block.plane_bytes), scratch.over(plane), block.steps)

    def _pack(self, layout: Layout) -> tuple[Change, Sequence[np.ndarray]]:
        """What makes planes of the linear side, and those."""
        dtype, convert = SCALARS[self.plan.tiled_dtype.width], self.change
        made = None if convert is None and layout.turned else layout.rows(WORDS, dtype)
        narrow = None if made is None or convert is None else convert(made, dict(self.plan.parameters))
        scalars = SCRATCH.array(TURNED, (layout.size,), dtype) if made is None or layout.turned else made.reshape(-1)
        turns = layout.turns(scalars) if layout.turned else []
        planes, split = planes_of(scalars)
        fetched = None if self.near or narrow is None else SCRATCH.array(LINEAR, layout.shape, self.linear.dtype)

        def change(linear: np.ndarray) -> None:
            if fetched is not None:
                self.copy(fetched, linear)
                linear = fetched
            if narrow:
                narrow(linear)
            elif made is not None:
                made[...] = linear
            linear = linear if made is None else made
            for part, dense in turns:
                dense[...] = linear[part].reshape(dense.shape)
            split()

        return change, planes

    def copy(self, target: np.ndarray, source: np.ndarray) -> None:
        """Between scratch and the linear side; contiguous pixels as items."""
        if self.order[-1:] == (self.channel,) and self.linear.strides[-1] == source.itemsize:
            target, source = as_items(target), as_items(source)
        target[...] = source

    def _unpack(self, layout: Layout) -> tuple[Change, Sequence[np.ndarray]]:
        """What makes the linear side of planes, and those."""
        planes = [SCRATCH.array(PLANE + at, (layout.size,), BYTE) for at in range(self.plan.tiled_dtype.width)]
        if layout.turned:
            return self._turn(layout, planes), planes
        dtype = self.linear.dtype
        shaped = [plane.reshape(layout.shape) for plane in planes]
        if self.change is None and len(planes) == 1:
            return lambda linear: self.copy(linear, shaped[0]), planes
        make = widening(shaped, self.change, dict(self.plan.parameters), dtype)
        if self.near:
            return make, planes
        made = SCRATCH.array(LINEAR, layout.shape, dtype)

        def change(linear: np.ndarray) -> None:
            make(made)
            self.copy(linear, made)

        return change, planes

    def _turn(self, layout: Layout, planes: list[np.ndarray]) -> Change:
        """What makes linear scalars of the planes of dense pixels: they are turned while they are short."""
        dtype, words = self.linear.dtype, len(planes) > 1
        scalars = SCRATCH.array(LINEAR, (layout.size,), WORD) if words else planes[0]
        turns, join = layout.turns(scalars), join_planes(planes, WORD) if words else None
        goal = widen = None
        if self.change is not None:
            goal = layout.rows(TURNED, scalars.dtype)
            widen = self.change(goal, dict(self.plan.parameters))
        elif dtype != scalars.dtype:  # to the upper halves of others, whose lower ones are zero
            longs = SCRATCH.array(LANE + 2, layout.shape, dtype)
            goal = np.ndarray(longs.shape, WORD, longs.base, 2, longs.strides)  # pyright: ignore[reportArgumentType]
            widen = partial(copy_to, longs)
        made = SCRATCH.array(MADE, layout.shape, dtype) if self.change is not None and not self.near else None

        def change(linear: np.ndarray) -> None:
            if join:
                join(scalars)
            turned = linear if goal is None else goal
            for part, dense in turns:
                turned[part].reshape(dense.shape)[...] = dense
            if widen:
                widen(linear if made is None else made)
            if made is not None:
                self.copy(linear, made)

        return change


def copy_to(source: np.ndarray, target: np.ndarray) -> None:
    """Copies it."""
    target[...] = source


def as_items(array: np.ndarray) -> np.ndarray:
    """Contiguous rows of an array as one item each."""
    return array.view(items(array.shape[-1] * array.itemsize))[..., 0]


def widening(planes: list[np.ndarray], widen: Conversion | None, parameters: dict[str, int], dtype: np.dtype) -> Change:
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


def relay_of(plan: Plan, change: Conversion | None) -> Relay:
    """The relay of a plan; without a change, words are taken apart or joined, and bytes are as they are."""
    extents, strides = axes_of(plan)
    order = sorted([axis for axis, extent in enumerate(extents) if extent > 1], key=strides.__getitem__, reverse=True)
    channel, width, scalars = len(plan.outer), plan.linear_dtype.width, prod(extents)
    turned = channel in order[:-1] and _turns(plan, _row_of(plan, order[::-1]))
    run = _run_of(extents, strides, order, width)
    shape, steps = tuple([extents[axis] for axis in order]), tuple([strides[axis] for axis in order])
    if run == scalars <= PIECE_SCALARS and not turned:
        shape, steps = (scalars,), (width,)
    linear = StridedView(SCALARS[width], shape, 0, steps)
    return Relay(plan, change, extents, tuple(order), linear, scalars, turned, run >= LONG_RUN)


def _run_of(extents: Ints, strides: Ints, order: Sequence[int], width: int) -> int:
    """Scalars that follow each other on the linear side."""
    run = 1
    for axis in reversed(order):
        if strides[axis] != run * width:
            break
        run *= extents[axis]
    return run


def _row_of(plan: Plan, axes: Sequence[int]) -> int:
    """Pixels of a tile that follow each other on both sides; these are the axes of the linear one, innermost first."""
    tile, outer, row = plan.classes[0].extents, len(plan.outer), 1
    stored = [axis for axis in (3, 2, 1) if tile[axis] > 1]
    for at, axis in enumerate([axis - outer for axis in axes]):
        if axis < 1:
            break
        row *= tile[axis]
        if stored[at : at + 1] != [axis] or tile[axis] < plan.axes[axis].extent:
            break
    return row


def _turns(plan: Plan, row: int) -> bool:
    """Whether scattered channels are turned in scratch: words that are packed are, and short rows that are unpacked."""
    words, channels = plan.tiled_dtype.width > 1, plan.classes[0].extents[0]
    if plan.packs or (words and (channels == FEW_CHANNELS or channels >= TURNED_CHANNELS)):
        return words
    return channels > 3 and row < SHORT_ROW
