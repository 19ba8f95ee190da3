"""Copies: bytes that move from one side of a block to the other as they are, and what fills the bytes between them.

Runs of contiguous bytes travel as one item each. Few channels travel channel by channel where the pixels make the
longer loop. Words can move so, too, their low bytes and then their high ones: slower than words taken apart by casts
(`numpy_values`), but nothing here touches the floating-point environment.
"""

from collections.abc import Iterator
from functools import lru_cache

import attrs
import numpy as np

from tessbed.kernels.a65.blocks import Block, Gap, Loop
from tessbed.kernels.a65.numpy_steps import BYTE, Copy, FillStep, Step, StridedView, items
from tessbed.kernels.a65.numpy_values import WORD
from tessbed.kernels.plan import Plan

FEW_CHANNELS = 8
ZERO = np.array(0, WORD)


def gap_step(gap: Gap) -> FillStep:
    """Zeros the alignment bytes of a class of tiles."""
    shape, strides = tuple([extent for extent, _ in gap.loops]), tuple([stride for _, stride in gap.loops])
    return FillStep(StridedView(items(gap.length), shape, gap.tiled_offset, strides), item_of(0, gap.length))


@lru_cache(maxsize=256)
def item_of(value: int, size_bytes: int) -> np.ndarray:
    """An item of equal bytes."""
    return np.frombuffer(bytes([value % 256]) * size_bytes, items(size_bytes))[0:1].reshape(())


def is_padded(plan: Plan, block: Block) -> bool:
    """Whether the block's pixels have bytes beyond their channels, which must be written."""
    return plan.packs and block.plane_bytes > block.channels


def padding_steps(plan: Plan, block: Block) -> Iterator[Step]:
    """Fills what is left of each plane of a block's pixels, if anything is."""
    if not is_padded(plan, block):
        return
    planes, missing = plan.tiled_dtype.width, block.plane_bytes - block.channels
    shape, strides = layout(block.loops, planes, block.plane_bytes, 1)
    view = StridedView(items(missing), shape, block.tiled_offset + block.channels, strides)
    yield FillStep(view, item_of(plan.channel_fill, missing))


def byte_steps(plan: Plan, block: Block, word: int) -> Iterator[Step]:
    """The steps for words, at `word` of the linear scalar, byte by byte."""
    yield from padding_steps(plan, block)
    if word:
        yield FillStep(_lanes(block, WORD, 0, tiled=False), ZERO)
    yield from _word_steps(block, plan.packs, word)


def run_steps(block: Block, packs: bool) -> Iterator[Copy]:
    """Bytes: contiguous ones as items; channel by channel where the pixels make the longer loop."""
    few = block.channels < FEW_CHANNELS and block.loops and block.loops[-1][0] >= 16
    scattered = block.channels > 1 and block.channel_stride_bytes != 1
    if few and (scattered or block.channels == 3):
        for part in _lanes_of(block):
            yield _copy(_lanes(part, BYTE, 0, tiled=False), _lanes(part, BYTE, 0, tiled=True), packs)
    elif scattered:
        yield _copy(_lanes(block, BYTE, 0, tiled=False), _lanes(block, BYTE, 0, tiled=True), packs)
    else:
        item = (items(block.channels), 0, 1, 1)
        yield _copy(_view(block, *item, tiled=False), _view(block, *item, tiled=True), packs)


def _word_steps(block: Block, packs: bool, word: int) -> Iterator[Step]:
    if block.channels == 1 and block.plane_bytes == 1:
        yield _copy(_lanes(block, WORD, word, tiled=False), _lanes(block, WORD, 0, tiled=True), packs)
    else:
        yield from _plane_steps(block, packs, word)


def _copy(linear: StridedView, tiled: StridedView, packs: bool) -> Copy:
    return Copy(tiled, linear) if packs else Copy(linear, tiled)


def as_long_pixels(block: Block) -> Block:
    """Pixels that follow each other without a gap on both sides become channels of one long pixel."""
    if block.loops and block.channel_stride_bytes == 1 and block.loops[-1][1:] == (block.channels, block.channels):
        return attrs.evolve(block, loops=block.loops[:-1], channels=block.channels * block.loops[-1][0])
    return block


def _plane_steps(block: Block, packs: bool, word: int) -> Iterator[Step]:
    """BF16, its two bytes at `word` of the linear scalar: the low bytes, then the high ones."""
    few = block.channels < min(FEW_CHANNELS, block.loops[-1][0] if block.loops else 0)
    for part in _lanes_of(block) if few else (block,):
        for byte, plane in ((0, 0), (1, part.plane_bytes)):
            yield _copy(_lanes(part, BYTE, word + byte, tiled=False), _lanes(part, BYTE, plane, tiled=True), packs)


def _lanes_of(block: Block) -> Iterator[Block]:
    """The block's channels one by one."""
    tiled, linear, step = block.tiled_offset, block.linear_offset, block.channel_stride_bytes
    for channel in range(block.channels):
        yield Block(block.loops, 1, block.plane_bytes, step, tiled + channel, linear + channel * step)


def _lanes(block: Block, dtype: np.dtype, byte: int, *, tiled: bool) -> StridedView:
    """One `dtype` at `byte` of every channel's scalar (linear) or pixel (tiled)."""
    return _view(block, dtype, byte, block.channels, 1 if tiled else block.channel_stride_bytes, tiled=tiled)


def _view(block: Block, dtype: np.dtype, first: int, count: int, step: int, *, tiled: bool) -> StridedView:
    shape, strides = layout(block.loops, count, step, 1 if tiled else 2)
    return StridedView(dtype, shape, (block.tiled_offset if tiled else block.linear_offset) + first, strides)


@lru_cache(maxsize=64)  # every lane of a block has the same
def layout(loops: tuple[Loop, ...], count: int, step: int, side: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and strides of `count` elements, `step` bytes apart, for each pixel of a side."""
    shape, strides = tuple([loop[0] for loop in loops]), tuple([loop[side] for loop in loops])
    return ((*shape, count), (*strides, step)) if count > 1 else (shape, strides)
