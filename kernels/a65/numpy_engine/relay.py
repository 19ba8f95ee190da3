"""Relay: conversions between the linear side and the tiles by way of scratch, box by box.

Theory. A box of the tensor that fits the caches has its values made at once, whatever classes of tiles it is cut into:
one call of numpy takes as long as a thousand bytes. Between scratch and the tiles go copies of each class, a pixel's
channels as one item. How scalars lie in scratch: `layout`. How a large tensor is cut: `boxes`.

The views of scratch are made once for each shape of a box, by `bind`, and kept by the thread (`steps`).
"""

from collections.abc import Iterator, Sequence
from functools import partial
from math import prod
from operator import mul
from typing import NamedTuple

import attrs
import numpy as np

from tessbed.kernels.a65.blocks import AxisCut, Block, Ints, blocks_of
from tessbed.kernels.a65.numpy_engine.boxes import Box, boxes_of
from tessbed.kernels.a65.numpy_engine.copies import as_long_pixels, padding_of, run_views
from tessbed.kernels.a65.numpy_engine.layout import (
    ROWS_APART_BYTES,
    Layout,
    PixelTurn,
    collide,
    dense_layout,
    linear_layout,
)
from tessbed.kernels.a65.numpy_engine.steps import BYTE, SCRATCH, StridedView, items
from tessbed.kernels.a65.numpy_engine.turns import (
    CALL_PS,
    gathered_ps,
    one_by_one,
    rows_of_columns,
    scattered_ps,
)
from tessbed.kernels.a65.numpy_engine.values import (
    LANE,
    LINEAR,
    LONG,
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
    split_words,
)
from tessbed.kernels.plan import Plan

STRAIGHT_WORDS = 1 << 14
"""From so many on, words that follow each other are taken apart where they are; fewer are quicker to copy first."""
LONG_RUN = 192
"""Scalars in a row from which on numpy calculates on the linear side itself."""


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
    `linear` side. `turned` says that scratch has dense pixels; `row` is how many scalars follow each other there at
    even steps; with `columns` dense pixels become rows by columns of them. `kept` has the boxes, where they are few.
    """

    plan: Plan
    change: Conversion | None
    extents: Ints
    order: Ints
    linear: StridedView
    scalars: int
    turned: bool
    row: int
    columns: bool
    kept: tuple[Box, ...]

    @property
    def calculates(self) -> bool:
        return self.change is not None or self.columns or self.plan.tiled_dtype.width > 1

    @property
    def near(self) -> bool:
        """Whether numpy calculates on the linear side itself."""
        return self.row >= LONG_RUN and self.contiguous

    @property
    def contiguous(self) -> bool:
        """Whether the innermost scalars of the linear side follow each other without gaps."""
        return self.linear.strides[-1:] in ((), (self.linear.dtype.itemsize,))

    @property
    def scattered(self) -> bool:
        """Whether channels do not follow each other on the linear side."""
        return self.channel in self.order[:-1]

    @property
    def single_words(self) -> bool:
        """Whether words that are packed are single channels, whose bytes follow each other in tiles, too."""
        words = self.plan.packs and self.plan.tiled_dtype.width > 1
        return words and all(tiles.stored_channels == 1 for tiles in self.plan.classes)

    @property
    def collides(self) -> bool:
        """Whether rows of channels collide on the linear side."""
        if not self.scattered or not self.contiguous:
            return False
        return collide(self.linear.strides[self.order.index(self.channel)], self.plan.classes[0].extents[0])

    @property
    def channel(self) -> int:
        """The axis of channels."""
        return len(self.plan.outer)

    def run(self, source: np.ndarray, target: np.ndarray) -> None:
        if self.change is None:  # integers report nothing
            self._run(source, target)
            return
        with np.errstate(all="ignore"):
            self._run(source, target)

    def _run(self, source: np.ndarray, target: np.ndarray) -> None:
        packs = self.plan.packs
        tiles, linear = (target, self.linear.over(source)) if packs else (source, self.linear.over(target))
        for box in self.kept or boxes_of(self.plan, self.extents, self.order, self.scalars):
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

    def bind(self, cuts: tuple[AxisCut, ...]) -> Bound:
        """What converts boxes of a shape."""
        extents = list(self.extents)
        for cut in cuts:
            extents[cut.axis] = cut.tiles * cut.elements
        flat, apart = self.linear.shape == (self.scalars,), self._apart(extents)
        rows = linear_layout(extents, self.order, self.channel, flat, apart)
        layout = dense_layout(self.plan, extents, self.order, cuts) if self.turned else rows
        change, planes = self._pack(layout, rows) if self.plan.packs else self._unpack(layout)
        if self.single_words:
            layout = layout._replace(
                strides=tuple([2 * stride for stride in layout.strides]), channel_step=2 * layout.channel_step
            )
        blocks = blocks_of(self.plan, layout.strides, cuts, layout.channel_step)
        return Bound([lane for block in blocks for lane in self._lanes(block, planes)], change)

    def _lanes(self, block: Block, planes: Sequence[np.ndarray]) -> Iterator[Lane]:
        if self.single_words:
            block = block._replace(channels=2, plane_bytes=2, channel_stride_bytes=1)
        fill = padding_of(self.plan, block)
        if fill:
            yield Lane(fill.target, fill.value, block.steps)
        long = as_long_pixels(block) if len(planes) == 1 else block
        for scratch, tiled in run_views(long, self.plan.packs):
            for number, plane in enumerate(planes):
                yield Lane(tiled.later(number * block.plane_bytes), scratch.over(plane), block.steps)

    def _apart(self, extents: Sequence[int]) -> int:
        """Scalars between rows of channels in scratch, which collide where pixels are put together without them."""
        inner = self.order[self.order.index(self.channel) + 1 :] if self.plan.packs and self.scattered else ()
        width = self.plan.tiled_dtype.width
        row = prod([extents[axis] for axis in inner]) * width
        return ROWS_APART_BYTES // width if inner and collide(row, extents[self.channel]) else 0

    def _pack(self, layout: Layout, rows: Layout) -> tuple[Change, Sequence[np.ndarray]]:
        """What makes planes of the linear side, and those."""
        dtype, make = SCALARS[self.plan.tiled_dtype.width], None
        scalars = SCRATCH.array(WORDS, (rows.size,), dtype)
        made = rows.over(scalars)
        if self.change is not None:
            make = self._fetched(layout, self.change(made, dict(self.plan.parameters)))
        elif not self.turned or self.collides:
            make = partial(copy_to, made)
        turns: Sequence[PixelTurn] = ()
        if self.turned:
            scalars = SCRATCH.array(TURNED, (layout.size,), dtype)
            turns = layout.turns(scalars, single=self._one_by_one(layout))
        planes, split = ((scalars,), None) if self.single_words else planes_of(scalars)
        straight = self.change is None and len(planes) > 1 and not self.turned and rows.size >= STRAIGHT_WORDS

        def change(linear: np.ndarray) -> None:
            if straight and linear.flags.c_contiguous:
                split_words(planes, linear.reshape(-1))
                return
            if make:
                make(linear)
                linear = made
            for turn in turns:
                turn.dense[...] = turn.of(linear)
            if split:
                split()

        return change, planes

    def _fetched(self, layout: Layout, make: Change) -> Change:
        """What is given linear scalars, in scratch unless numpy calculates on the linear side itself."""
        if self.near:
            return make
        fetched = SCRATCH.array(LINEAR, layout.shape, self.linear.dtype)

        def change(linear: np.ndarray) -> None:
            self.copy(fetched, linear)
            make(fetched)

        return change

    def _one_by_one(self, layout: Layout) -> bool:
        """Whether rows of channels are put together quicker one by one than pixel by pixel."""
        scalars, channels, width = prod(layout.shape), self.plan.c.extent, self.plan.tiled_dtype.width
        row = prod(layout.shape[layout.channel + 1 :])
        single = scattered_ps(scalars, row, scalars * width) * 3 // 2 + channels * CALL_PS
        return single < gathered_ps(scalars, channels)

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
        shaped = [plane.reshape(layout.shape) for plane in planes]
        if self.change is None and len(planes) == 1:
            return lambda linear: self.copy(linear, shaped[0]), planes
        make = widening(shaped, self.change, dict(self.plan.parameters), self.linear.dtype)
        return self._stored(layout, make), planes

    def _stored(self, layout: Layout, make: Change) -> Change:
        """What makes linear scalars in scratch and copies them, unless numpy calculates on the linear side itself."""
        if self.near:
            return make
        made = SCRATCH.array(MADE, layout.shape, self.linear.dtype)

        def change(linear: np.ndarray) -> None:
            make(made)
            self.copy(linear, made)

        return change

    def _turn(self, layout: Layout, planes: list[np.ndarray]) -> Change:
        """What makes linear scalars of the planes of dense pixels: they are turned while they are short."""
        raised = self.change is None and self.linear.dtype.itemsize > len(planes)
        scalars, join = planes[0], None
        if len(planes) > 1:
            scalars = SCRATCH.array(LINEAR, (layout.size,), WORD)
            join = join_planes(planes, WORD)
        turn = rows_of_columns(layout, scalars, raised) if self.columns else one_by_one(layout, scalars)

        def turned(rows: np.ndarray) -> None:
            if join:
                join(scalars)
            turn(rows)

        if raised:
            return self._stored(layout, turned) if self.columns else self._raised(layout, turned)
        if self.change is None:
            return turned
        goal = SCRATCH.array(TURNED, layout.shape, scalars.dtype)
        widen = self.change(goal, dict(self.plan.parameters))

        def changed(linear: np.ndarray) -> None:
            turned(goal)
            widen(linear)

        return self._stored(layout, changed)

    def _raised(self, layout: Layout, make: Change) -> Change:
        """What makes words in scratch, as the upper halves of linear scalars whose lower ones are zero."""
        longs = SCRATCH.array(LANE + WORD.itemsize, layout.shape, LONG)
        upper = np.ndarray(longs.shape, WORD, longs.base, WORD.itemsize, longs.strides)  # pyright: ignore[reportArgumentType]

        def change(linear: np.ndarray) -> None:
            make(upper)
            self.copy(linear, longs)

        return change


def copy_to(target: np.ndarray, source: np.ndarray) -> None:
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
