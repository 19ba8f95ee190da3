"""Copies: bytes that move from one side of a block to the other as they are, and what fills the bytes between them.

Runs of contiguous bytes travel as one item each. Few channels travel channel by channel where the pixels make the
longer loop. Words can move so, too, their low bytes and then their high ones: slower than words taken apart by casts
(`numpy_values`), but nothing here touches the floating-point environment.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import prod

import numpy as np

from tessbed.kernels.a65.blocks import Block, Gap
from tessbed.kernels.a65.numpy_steps import BYTE, Copy, FillStep, PieceCopies, Step, StridedView, items
from tessbed.kernels.a65.numpy_values import WORD
from tessbed.kernels.plan import Plan

FEW_CHANNELS = 8
"""Fewer than that are moved channel by channel where the pixels make the longer loop."""
LONGEST_ITEM = 1 << 30
"""An item of numpy has less than 2 GiB; longer runs are bytes with an axis of their own."""
LARGE_BYTES = 1 << 20
"""Bytes of a plane of a block's tiles from which copies of single channels go through more than a cache."""
ZERO = np.array(0, WORD)
HERE = ((0, 0),)

Views = tuple[StridedView, StridedView]
"""One of the linear side, and one of the tiled side."""


def gap_step(gap: Gap) -> FillStep:
    """Zeros the alignment bytes of a class of tiles."""
    return FillStep(StridedView(items(gap.length), gap.extents, gap.tiled_offset, gap.tiled), item_of(0, gap.length))


@lru_cache(maxsize=256)
def item_of(value: int, size_bytes: int) -> np.ndarray:
    """An item of equal bytes."""
    return np.frombuffer(bytes([value % 256]) * size_bytes, items(size_bytes))[0:1].reshape(())


def is_padded(plan: Plan, block: Block) -> bool:
    """Whether the block's pixels have bytes beyond their channels, which must be written."""
    return plan.packs and block.plane_bytes > block.channels


def padding_step(plan: Plan, block: Block) -> FillStep:
    """Fills what the channels leave of each plane of a padded block's pixels."""
    planes, missing = plan.tiled_dtype.width, block.plane_bytes - block.channels
    shape, strides = block.extents, block.tiled
    if planes > 1:
        shape, strides = (*shape, planes), (*strides, block.plane_bytes)
    view = StridedView(items(missing), shape, block.tiled_offset + block.channels, strides)
    return FillStep(view, item_of(plan.channel_fill, missing))


def byte_steps(plan: Plan, block: Block, word: int) -> Iterator[Step]:
    """The steps for words, at `word` of the linear scalar, byte by byte: the low bytes, then the high ones."""
    if is_padded(plan, block):
        yield padding_step(plan, block)
    if word:
        shape, strides = (*block.extents, block.channels), (*block.linear, block.channel_stride_bytes)
        yield FillStep(StridedView(WORD, shape, block.linear_offset, strides), ZERO)
    if is_word(block):
        linear, tiled = word_views(block)
        yield from view_copies(block, [(linear.later(word), tiled)], plan.packs)
    else:
        places = ((word, 0), (word + 1, block.plane_bytes))
        yield from view_copies(block, run_views(block, plan.packs, places), plan.packs)


def is_word(block: Block) -> bool:
    """Whether both bytes of a word follow each other on the tiled side, too: a single channel."""
    return block.channels == block.plane_bytes == 1


def word_views(block: Block) -> Views:
    """Single channels as the words of both sides."""
    linear = StridedView(WORD, block.extents, block.linear_offset, block.linear)
    return linear, StridedView(WORD, block.extents, block.tiled_offset, block.tiled)


def view_copies(block: Block, views: list[Views], packs: bool) -> Sequence[Step]:
    """The copies from one side to the other; where each would go through more than a cache, in pieces of all."""
    found = [Copy(tiled, linear) if packs else Copy(linear, tiled) for linear, tiled in views]
    if len(found) > 1 and prod(block.extents) * block.plane_bytes > LARGE_BYTES:
        return (PieceCopies(tuple(found), LARGE_BYTES // block.plane_bytes),)
    return found


def run_views(block: Block, packs: bool, places: tuple[tuple[int, int], ...] = HERE) -> list[Views]:
    """Where bytes lie on the linear side and on the tiled one; all again at each of `places`.

    Contiguous ones are items; few channels are views of their own where the pixels make the longer loop.
    """
    channels, first, to, linear = block.channels, block.linear_offset, block.tiled_offset, block.linear
    step, shape, tiled, dtype, lanes = block.channel_stride_bytes, block.extents, block.tiled, BYTE, 1
    if channels == 1:
        pass
    elif channels <= LONGEST_ITEM and step == 1 and channels != 3:
        dtype = items(channels)
    elif channels >= FEW_CHANNELS or not has_long_rows(block, packs):
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
    if block.channels not in block.tiled:
        return block
    at = block.tiled.index(block.channels)
    if block.linear[at] != block.channels * block.channel_stride_bytes:
        return block
    extents, tiled, linear = [side[:at] + side[at + 1 :] for side in block[:3]]
    return Block(extents, tiled, linear, block.channels * block.extents[at], *block[4:])
