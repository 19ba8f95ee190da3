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
from tessbed.kernels.a65.numpy_steps import BYTE, Copy, FillStep, Step, StridedView, bytes_later, items
from tessbed.kernels.a65.numpy_values import WORD
from tessbed.kernels.plan import Plan

FEW_CHANNELS = 8
"""Fewer than that are moved channel by channel where the pixels make the longer loop."""
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
    """The steps for words, at `word` of the linear scalar, byte by byte: the low bytes, then the high ones."""
    yield from padding_steps(plan, block)
    if word:
        extents, _, linear = columns(block.loops)
        shape, strides = (*extents, block.channels), (*linear, block.channel_stride_bytes)
        yield FillStep(StridedView(WORD, shape, block.linear_offset, strides), ZERO)
    packs, runs = plan.packs, run_views(block, plan.packs)
    if block.channels == 1 and block.plane_bytes == 1:  # both bytes of one channel
        runs = [(StridedView(WORD, *linear[1:]), StridedView(WORD, *tiled[1:])) for linear, tiled in runs]
        yield from [_copy(bytes_later(linear, word), tiled, packs) for linear, tiled in runs]
        return
    for byte in range(2):
        shift = byte * block.plane_bytes
        yield from [_copy(bytes_later(linear, word + byte), bytes_later(tiled, shift), packs) for linear, tiled in runs]


def run_steps(block: Block, packs: bool) -> list[Copy]:
    """The steps for bytes."""
    return [_copy(linear, tiled, packs) for linear, tiled in run_views(block, packs)]


def run_views(block: Block, packs: bool, width: int = 1) -> list[tuple[StridedView, StridedView]]:
    """Where bytes lie on the linear side, in scalars of `width`, and on the tiled one.

    Contiguous ones are items; few channels are views of their own where the pixels make the longer loop.
    """
    channels, step, first = block.channels, block.channel_stride_bytes // width, block.linear_offset // width
    extents, tiled, linear = columns(block.loops)
    if width > 1:
        linear = tuple([stride // width for stride in linear])
    if channels <= LONGEST_ITEM and (channels == 1 or (step == 1 and channels != 3)):
        item = items(channels) if channels > 1 else BYTE
        return [(StridedView(item, extents, first, linear), StridedView(item, extents, block.tiled_offset, tiled))]
    if channels >= FEW_CHANNELS or not has_long_rows(block, packs):
        shape = (*extents, channels)
        return [
            (
                StridedView(BYTE, shape, first, (*linear, step)),
                StridedView(BYTE, shape, block.tiled_offset, (*tiled, 1)),
            )
        ]
    offsets = [(first + channel * step, block.tiled_offset + channel) for channel in range(channels)]
    return [(StridedView(BYTE, extents, at, linear), StridedView(BYTE, extents, to, tiled)) for at, to in offsets]


def has_long_rows(block: Block, packs: bool) -> bool:
    """Whether channels follow each other on the side that is written, in rows of more pixels than there are channels.

    numpy's innermost loop is the one of the shortest steps in the target, and takes ten nanoseconds to begin.
    """
    side, step = (1, 1) if packs else (2, block.channel_stride_bytes)
    row = min(block.loops, key=itemgetter(side), default=(1, 0, 0))
    return row[0] > block.channels and step < row[side]


def _copy(linear: StridedView, tiled: StridedView, packs: bool) -> Copy:
    return Copy(tiled, linear) if packs else Copy(linear, tiled)


def as_long_pixels(block: Block) -> Block:
    """Pixels that follow each other as their channels do, on both sides, become channels of one long pixel."""
    row = (block.channels, block.channels * block.channel_stride_bytes)
    for number, loop in enumerate(block.loops):
        if loop[1:] == row:
            return Block(block.loops[:number] + block.loops[number + 1 :], block.channels * loop[0], *block[2:])
    return block


def columns(loops: tuple[Loop, ...]) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Extents, strides of the tiled side, and strides of the linear side."""
    return tuple(zip(*loops, strict=True)) if loops else ((), (), ())  # type: ignore[return-value]
