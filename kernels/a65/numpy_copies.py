"""Copies: bytes that move from one side of a block to the other as they are, and what fills the bytes between them.

Runs of contiguous bytes travel as one item each. Few channels travel channel by channel where the pixels make the
longer loop. Words can move so, too, their low bytes and then their high ones: slower than words taken apart by casts
(`numpy_values`), but nothing here touches the floating-point environment.
"""

from collections.abc import Iterator
from functools import lru_cache
from operator import itemgetter

import numpy as np

from tessbed.kernels.a65.blocks import Block, Gap, Loop
from tessbed.kernels.a65.numpy_steps import BYTE, Copy, FillStep, Step, StridedView, items
from tessbed.kernels.a65.numpy_values import WORD
from tessbed.kernels.plan import Plan

FEW_CHANNELS = 8
"""Fewer than that are moved channel by channel where the pixels make the longer loop."""
LEAST_ROW = 16
"""Pixels that make a longer loop than few channels."""
LONGEST_ITEM = 1 << 30
"""An item of numpy has less than 2 GiB; longer runs are bytes with an axis of their own."""
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
    (shape, strides, _), first = columns(block.loops), block.tiled_offset + block.channels
    if planes > 1:
        shape, strides = (*shape, planes), (*strides, block.plane_bytes)
    yield FillStep(StridedView(items(missing), shape, first, strides), item_of(plan.channel_fill, missing))


def byte_steps(plan: Plan, block: Block, word: int) -> Iterator[Step]:
    """The steps for words, at `word` of the linear scalar, byte by byte."""
    yield from padding_steps(plan, block)
    if word:
        extents, _, linear = columns(block.loops)
        shape, strides = (*extents, block.channels), (*linear, block.channel_stride_bytes)
        yield FillStep(StridedView(WORD, shape, block.linear_offset, strides), ZERO)
    yield from _word_steps(block, plan.packs, word)


def run_steps(block: Block, packs: bool, planes: int = 1) -> Iterator[Copy]:
    """Bytes: contiguous ones as items; channel by channel where the pixels make the longer loop.

    With more `planes`, the same bytes of the linear side go to each of them in turn.
    """
    channels, (extents, tiled, linear) = block.channels, columns(block.loops)
    if channels > LONGEST_ITEM or (channels > 1 and (block.channel_stride_bytes != 1 or channels == 3)):
        yield from _scattered_steps(block, packs, planes)
        return
    item = items(channels)
    source = StridedView(item, extents, block.linear_offset, linear)
    for first in range(block.tiled_offset, block.tiled_offset + planes * block.plane_bytes, block.plane_bytes):
        yield _copy(source, StridedView(item, extents, first, tiled), packs)


def _scattered_steps(block: Block, packs: bool, planes: int) -> Iterator[Copy]:
    extents, tiled, linear = columns(block.loops)
    channels, step = block.channels, block.channel_stride_bytes
    few = channels < FEW_CHANNELS and has_long_rows(block, packs)
    for first in range(block.tiled_offset, block.tiled_offset + planes * block.plane_bytes, block.plane_bytes):
        if not few:
            shape = (*extents, channels)
            source = StridedView(BYTE, shape, block.linear_offset, (*linear, step))
            yield _copy(source, StridedView(BYTE, shape, first, (*tiled, 1)), packs)
            continue
        for channel in range(channels):
            source = StridedView(BYTE, extents, block.linear_offset + channel * step, linear)
            yield _copy(source, StridedView(BYTE, extents, first + channel, tiled), packs)


def has_long_rows(block: Block, packs: bool) -> bool:
    """Whether channels follow each other on the side that is written, in more than a few pixels at the same distance.

    numpy's innermost loop is the one of the shortest steps in the target: where it is the channels', it should be long.
    """
    side, step = (1, 1) if packs else (2, block.channel_stride_bytes)
    row = min(block.loops, key=itemgetter(side), default=(1, 0, 0))
    return row[0] >= LEAST_ROW and step < row[side]


def _word_steps(block: Block, packs: bool, word: int) -> Iterator[Step]:
    """BF16, its two bytes at `word` of the linear scalar: the low bytes, then the high ones; or both of one channel."""
    channels, (extents, tiled, linear) = block.channels, columns(block.loops)
    if channels == 1 and block.plane_bytes == 1:
        source = StridedView(WORD, extents, block.linear_offset + word, linear)
        yield _copy(source, StridedView(WORD, extents, block.tiled_offset, tiled), packs)
        return
    for byte, plane in ((word, 0), (word + 1, block.plane_bytes)):
        at = Block(
            block.loops,
            channels,
            block.plane_bytes,
            block.channel_stride_bytes,
            block.tiled_offset + plane,
            block.linear_offset + byte,
        )
        yield from _scattered_steps(at, packs, 1)


def _copy(linear: StridedView, tiled: StridedView, packs: bool) -> Copy:
    return Copy(tiled, linear) if packs else Copy(linear, tiled)


def as_long_pixels(block: Block) -> Block:
    """Pixels that follow each other without a gap on both sides become channels of one long pixel."""
    if block.loops and block.loops[-1][1:] == (block.channels, block.channels * block.channel_stride_bytes):
        return block._replace(loops=block.loops[:-1], channels=block.channels * block.loops[-1][0])
    return block


def columns(loops: tuple[Loop, ...]) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Extents, strides of the tiled side, and strides of the linear side."""
    return tuple(zip(*loops, strict=True)) if loops else ((), (), ())  # type: ignore[return-value]
