"""Copies: bytes that move from one side of a block to the other as they are, and what fills the bytes between them.

Runs of contiguous bytes travel as one item each. Few channels travel channel by channel where the pixels make the
longer loop. Words can move so, too, their low bytes and then their high ones: slower than words taken apart by casts
(`values`), but nothing here touches the floating-point environment.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from tessbed.kernels.a65.blocks import Block, Gap
from tessbed.kernels.a65.numpy_engine.steps import (
    BYTE,
    PIECE_PIXELS,
    Copy,
    FillStep,
    PieceCopies,
    Step,
    StridedView,
    items,
)
from tessbed.kernels.a65.numpy_engine.turns import item_ps
from tessbed.kernels.a65.numpy_engine.values import LONG, WORD
from tessbed.kernels.plan import Plan

FEW_CHANNELS = 8
"""Fewer than that are moved channel by channel where the pixels make the longer loop."""
FILL_BYTE_PS = 30
"""What a byte takes that is filled among others; of pixels with little padding, only that is filled."""
FEW_PIXELS = 512
"""Fewer are copied in one step."""
LONGEST_ITEM = 1 << 30
"""An item of numpy has less than 2 GiB; longer runs are bytes with an axis of their own."""
HERE = ((0, 0),)

Views = tuple[StridedView, StridedView]
"""One of the linear side, and one of the tiled side."""


def gap_step(gap: Gap) -> FillStep:
    """Zeros the alignment bytes of a class of tiles."""
    dtype = items(gap.length)
    return FillStep(StridedView(dtype, gap.extents, gap.tiled_offset, gap.tiled), np.zeros((), dtype))


def padding_of(plan: Plan, block: Block) -> FillStep | None:
    """Fills the pixels of a block that has padding: all of their bytes, or what long channels leave of each plane."""
    missing, planes = block.plane_bytes - block.channels, plan.tiled_dtype.width
    if not plan.packs or missing <= 0:
        return None
    if planes * block.plane_bytes * FILL_BYTE_PS < planes * item_ps(missing):
        shape, strides = (*block.extents, planes * block.plane_bytes), (*block.tiled, 1)
        return FillStep(StridedView(BYTE, shape, block.tiled_offset, strides), fill_of(plan))
    shape, strides = (*block.extents, planes), (*block.tiled, block.plane_bytes)
    view = StridedView(items(missing), shape, block.tiled_offset + block.channels, strides)
    return FillStep(view, np.full(missing, fill_of(plan)).view(view.dtype).reshape(()))


def fill_of(plan: Plan) -> np.ndarray:
    """The byte of padded channels."""
    return np.array(plan.channel_fill % 256, BYTE)


def lower_halves(block: Block) -> FillStep:
    """Zeros the FP32 words whose upper halves are written: pixels that follow each other as bytes, others as items."""
    channels, shape, steps, pixel = block.channels, block.extents, block.linear, block.channels * LONG.itemsize
    if channels == 1:
        dtype = LONG
    elif block.channel_stride_bytes != LONG.itemsize:
        dtype, shape, steps = LONG, (*shape, channels), (*steps, block.channel_stride_bytes)
    elif steps[-1:] == (pixel,):
        dtype, shape, steps = BYTE, (*shape, pixel), (*steps, 1)
    else:
        dtype = items(pixel)
    return FillStep(StridedView(dtype, shape, block.linear_offset, steps), np.zeros((), dtype))


def byte_steps(plan: Plan, block: Block, word: int) -> Sequence[Step]:
    """The steps for words, at `word` of the linear scalar, byte by byte: the low bytes, then the high ones."""
    if is_word(block):
        linear, tiled = word_views(block)
        views = [(linear.later(word), tiled)]
    else:
        views = run_views(block, plan.packs, ((word, 0), (word + 1, block.plane_bytes)))
    return view_copies(block, views, plan.packs, lower_halves(block) if word else padding_of(plan, block))


def straight_steps(plan: Plan, block: Block) -> Sequence[Step]:
    """The steps for bytes as they are."""
    long = as_long_pixels(block)
    return view_copies(long, run_views(long, plan.packs), plan.packs, padding_of(plan, block))


def is_word(block: Block) -> bool:
    """Whether both bytes of a word follow each other on the tiled side, too: a single channel."""
    return block.channels == block.plane_bytes == 1


def word_views(block: Block) -> Views:
    """Single channels as the words of both sides."""
    linear = StridedView(WORD, block.extents, block.linear_offset, block.linear)
    return linear, StridedView(WORD, block.extents, block.tiled_offset, block.tiled)


def view_copies(block: Block, views: list[Views], packs: bool, fill: FillStep | None = None) -> Sequence[Step]:
    """The copies from one side to the other, over what is filled; in pieces of all where there are several."""
    found = [Copy(tiled, linear) if packs else Copy(linear, tiled) for linear, tiled in views]
    if fill is None and (len(found) == 1 or prod(block.extents) <= PIECE_PIXELS):
        return found
    return (PieceCopies(tuple(found), block.extents, fill),)


def run_views(block: Block, packs: bool, places: tuple[tuple[int, int], ...] = HERE) -> list[Views]:
    """Where bytes lie on the linear side and on the tiled one; all again at each of `places`.

    Contiguous ones are items; few channels are views of their own where the pixels make the longer loop.
    """
    channels, first, to, linear = block.channels, block.linear_offset, block.tiled_offset, block.linear
    step, shape, tiled, dtype, lanes = block.channel_stride_bytes, block.extents, block.tiled, BYTE, 1
    if channels == 1:
        pass
    elif channels <= LONGEST_ITEM and step == 1 and (channels != 3 or prod(shape) < FEW_PIXELS):
        dtype = items(channels)
    elif channels >= FEW_CHANNELS or prod(shape) < FEW_PIXELS or not has_long_rows(block, packs):
        shape, linear, tiled = (*shape, channels), (*linear, step), (*tiled, 1)
    else:
        lanes = channels
    if lanes == 1 and places is HERE:
        return [(StridedView(dtype, shape, first, linear), StridedView(dtype, shape, to, tiled))]
    return [
        (
            StridedView(dtype, shape, first + at + lane * step, linear),
            StridedView(dtype, shape, to + tiled_at + lane, tiled),
        )
        for at, tiled_at in places
        for lane in range(lanes)
    ]


def has_long_rows(block: Block, packs: bool) -> bool:
    """Whether channels follow each other on the side that is written, in rows of more pixels than there are channels.

    numpy's innermost loop is the one of the shortest steps in the target, and takes ten nanoseconds to begin.
    """
    steps, step = (block.tiled, 1) if packs else (block.linear, block.channel_stride_bytes)
    if not steps:
        return False
    least = min(steps)
    return step < least and block.extents[steps.index(least)] > block.channels


def as_long_pixels(block: Block) -> Block:
    """Pixels that follow each other as their channels do, on both sides, become channels of one long pixel."""
    while block.channels in block.tiled:
        at = block.tiled.index(block.channels)
        if block.linear[at] != block.channels * block.channel_stride_bytes:
            break
        extents, tiled, linear = [side[:at] + side[at + 1 :] for side in block[:3]]
        block = block._replace(extents=extents, tiled=tiled, linear=linear, channels=block.channels * block.extents[at])
    return block
