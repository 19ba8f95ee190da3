"""Ways: by which steps the blocks of a plan are converted, decided by shape alone.

Theory. A user of numpy transposes a region of tiles and casts the result. What can be gained over that is calls, passes
and caches; so there are four ways, and each writes every byte of the output once:

- bytes that only move are copied from one side to the other (`numpy_copies`);
- few words, and pixels of few channels, move byte by byte, which needs no floating-point environment;
- a dense tensor that fits the caches is converted at once, and its classes are copied to or from scratch
  (`numpy_whole`);
- all other blocks are converted by pieces that stay in the caches (`numpy_pieces`).

Padding of few channels is written with them, from scratch that keeps it; that of more channels is filled apart.
"""

from collections.abc import Callable, Iterator, Sequence
from math import prod

from tessbed.kernels.a65.blocks import Block
from tessbed.kernels.a65.fp_environment import keeps_environment
from tessbed.kernels.a65.numpy_copies import (
    FEW_CHANNELS,
    as_long_pixels,
    byte_steps,
    is_padded,
    is_word,
    padding_step,
    run_views,
    view_copies,
    word_views,
)
from tessbed.kernels.a65.numpy_padded import PackPadded, PadCopies, PaddedPixels
from tessbed.kernels.a65.numpy_pieces import PackPieces, UnpackPieces
from tessbed.kernels.a65.numpy_sides import is_scattered, is_sparse, short_rows, sides_of
from tessbed.kernels.a65.numpy_steps import APART_BYTES, BYTE, FEW_LINES_BYTES, Step, StridedView, items
from tessbed.kernels.a65.numpy_values import LONG, SCALARS, Narrow, Widen
from tessbed.kernels.a65.numpy_whole import DensePixels, PlaneViews, WholePack, WholeUnpack
from tessbed.kernels.operations import TileFormat
from tessbed.kernels.plan import Plan

NARROW_CHANNELS, WIDE_CHANNELS = 32, 64
"""Fewer channels than these are always written together with a pixel's padding; from so many on, it is filled apart."""
SMALL_SCALARS, SMALL_BLOCK_SCALARS = 1024, 1 << 13
"""Words of a plan up to which they move byte by byte: of any, and of one with a single block."""
LANES = 6
"""Fewer channels are always moved byte by byte."""
TURNED_SCALARS = 1 << 13
"""Bytes of a block from which they are turned in scratch where rows are short."""
LONG_PIXEL = 1024
"""Scattered channels to which neighbouring pixels may add up."""
ITEM_CHANNELS = 16
"""Channels from which pixels of scratch are copied to and from tiles before or behind a turn of all."""
FEW_PIXELS = 512
"""Pixels of a block up to which bytes are copied without scratch."""
WHOLE_SCALARS = 1 << 18
"""Scalars of a plan up to which it is converted at once."""

Rows = Callable[[Plan, Sequence[Block]], Iterator[Step]]
"""The steps for the blocks of a plan, whose loops are in the order of the linear side."""


def values(change: Narrow | Widen | None) -> Rows:
    """The rows of a conversion of values between tiled and linear scalars; None takes words apart or joins them."""

    def rows(plan: Plan, blocks: Sequence[Block]) -> Iterator[Step]:
        if _fits_whole(plan, blocks):
            return _whole_steps(plan, blocks, change)
        return (step for block in blocks for step in _piece_steps(plan, block, change))

    return rows


def _pixels_of(block: Block) -> int:
    return prod(block.extents)


def _fits_whole(plan: Plan, blocks: Sequence[Block]) -> bool:
    """Whether the values of the plan are made at once: few ones, dense on the linear side, hardly padded."""
    scalars = prod(plan.shape)
    if scalars > WHOLE_SCALARS or plan.linear.required_bytes != scalars * plan.linear_dtype.width:
        return False
    if is_scattered(blocks[0]) and not _turns_whole(plan, blocks):
        return False
    return not (plan.packs and any(_put_together(plan, block) for block in blocks))


def _turns_whole(plan: Plan, blocks: Sequence[Block]) -> bool:
    """Whether the pixels of several blocks are put together in scratch, and all turned at once."""
    first = blocks[0]
    if len(blocks) == 1 or first.channels < ITEM_CHANNELS or plan.tile_format is TileFormat.CBLOCKED:
        return False
    return is_scattered(first) and short_rows(first)


def _put_together(plan: Plan, block: Block) -> bool:
    """Whether pixels are written with their padding, from scratch that keeps it."""
    return is_padded(plan, block) and block.channels < NARROW_CHANNELS and _pixels_of(block) > FEW_PIXELS


def _whole_steps(plan: Plan, blocks: Sequence[Block], change: Narrow | Widen | None) -> Iterator[Step]:
    width, planes, packs, scalars = plan.linear_dtype.width, plan.tiled_dtype.width, plan.packs, prod(plan.shape)
    turn, lanes = _turn_of(plan) if _turns_whole(plan, blocks) else None, []
    places = _Places(width, turn)
    for block in blocks:
        if is_padded(plan, block):
            yield padding_step(plan, block)
        pixels = _in_scratch(block, places)
        run = as_long_pixels(pixels) if planes == 1 else pixels
        lanes += [PlaneViews(*views, block.plane_bytes) for views in run_views(run, packs)]
    linear = StridedView(SCALARS[width], (scalars,), 0, (width,))
    step_of = WholePack if packs else WholeUnpack
    yield step_of(linear, change, dict(plan.parameters), planes, tuple(lanes), turn)  # type: ignore[arg-type]


def _turn_of(plan: Plan) -> DensePixels:
    channels, pixels = plan.c.extent, plan.c.stride_bytes // plan.linear_dtype.width
    row_bytes = channels * plan.tiled_dtype.width
    pitch = channels if row_bytes % FEW_LINES_BYTES else channels + APART_BYTES // plan.tiled_dtype.width
    return DensePixels(prod(plan.shape) // (channels * pixels), channels, pixels, pitch)


def _in_scratch(block: Block, places: "_Places") -> Block:
    """The block with a plane of scratch for its linear side: bytes in the order of that side, or dense pixels."""
    linear = tuple([places[stride] for stride in block.linear])
    step, first = places[block.channel_stride_bytes], places[block.linear_offset]
    return Block(block.extents, block.tiled, linear, *block[3:5], step, block.tiled_offset, first)


class _Places(dict[int, int]):
    """Where a byte of the linear side lies in scratch, or where a step leads there: found once for all blocks."""

    def __init__(self, width: int, turn: DensePixels | None) -> None:
        self._width, self._turn = width, turn

    def __missing__(self, byte: int) -> int:
        scalar = byte // self._width
        self[byte] = place = self._turn.place(scalar) if self._turn else scalar
        return place


def _piece_steps(plan: Plan, block: Block, change: Narrow | Widen | None) -> Iterator[Step]:
    """The steps for a block. Narrow pixels are put together with their padding; that of wide ones is filled apart."""
    long = as_long_pixels(block)
    if plan.tiled_dtype.width == 1 and (long.channels <= LONG_PIXEL or not is_scattered(long)):
        block = long  # a piece of scratch holds all scattered channels of a pixel
    padded = is_padded(plan, block)
    if padded and change is None and block.channels < FEW_CHANNELS:
        yield _pad_copies(plan, block)
        return
    sides = sides_of(plan, block)
    step = (PackPieces if plan.packs else UnpackPieces)(sides, change, dict(plan.parameters))  # type: ignore[arg-type]
    if padded and block.channels < WIDE_CHANNELS:
        yield PackPadded(step, _padded_pixels(plan, block))  # type: ignore[arg-type]
        return
    if padded:
        yield padding_step(plan, block)
    yield step


def _pad_copies(plan: Plan, block: Block) -> PadCopies:
    """Few channels that only move, byte by byte, with the padding of their pixels."""
    bytes_of = [(channel, byte) for byte in range(plan.tiled_dtype.width) for channel in range(block.channels)]
    offsets = [block.linear_offset + channel * block.channel_stride_bytes + byte for channel, byte in bytes_of]
    sources = tuple([StridedView(BYTE, block.extents, offset, block.linear) for offset in offsets])
    places = tuple([byte * block.plane_bytes + channel for channel, byte in bytes_of])
    return PadCopies(_padded_pixels(plan, block), sources, places)


def _padded_pixels(plan: Plan, block: Block) -> PaddedPixels:
    item = items(plan.tiled_dtype.width * block.plane_bytes)
    view = StridedView(item, block.extents, block.tiled_offset, block.tiled)
    order = sorted(range(len(block.tiled)), key=block.tiled.__getitem__, reverse=True)
    return PaddedPixels(view, tuple(order), plan.channel_fill)


def _raised_copies(block: Block) -> PadCopies:
    """Few words to the upper halves of others, byte by byte or whole, with the lower halves as their padding."""
    extents, tiled, linear, channels, width = block.extents, block.tiled, block.linear, block.channels, LONG.itemsize
    step, lanes = block.channel_stride_bytes, range(channels)
    if is_scattered(block):  # a loop over channels, each of them a pixel
        at, lanes = sum(stride > step for stride in linear), range(1)
        extents, tiled = (*extents[:at], channels, *extents[at:]), (*tiled[:at], 1, *tiled[at:])
        linear = (*linear[:at], step, *linear[at:])
    view = StridedView(items(width * len(lanes)), extents, block.linear_offset, linear)
    bytes_of = [(lane, byte) for byte in range(2) for lane in lanes]
    offsets = [block.tiled_offset + byte * block.plane_bytes + lane for lane, byte in bytes_of]
    sources = tuple([StridedView(BYTE, extents, offset, tiled) for offset in offsets])
    if is_word(block):
        sources, bytes_of = (word_views(block)[1],), bytes_of[:1]
    places = tuple([width * lane + 2 + byte for lane, byte in bytes_of])
    return PadCopies(PaddedPixels(view, tuple(range(len(extents))), 0), sources, places)


def copy_rows(plan: Plan, blocks: Sequence[Block]) -> Iterator[Step]:
    """INT8 as it is: runs of contiguous channels as items."""
    packs = plan.packs
    for block in blocks:
        if _takes_scratch(plan, block):
            yield from _piece_steps(plan, block, None)
        else:
            if is_padded(plan, block):
                yield padding_step(plan, block)
            long = as_long_pixels(block)
            yield from view_copies(long, run_views(long, packs), packs)


def _takes_scratch(plan: Plan, block: Block) -> bool:
    """Whether bytes are put together with their padding, or turned, rather than copied straight."""
    if plan.packs:
        return is_padded(plan, block) and block.channels < WIDE_CHANNELS and _pixels_of(block) > FEW_PIXELS
    turned = is_scattered(block) and short_rows(block)
    return turned and _pixels_of(block) * block.channels > TURNED_SCALARS


def word_rows(word: int) -> Rows:
    """BF16 on the tiled side, its two bytes at `word` of the linear scalar: as words, or by bytes."""

    def rows(plan: Plan, blocks: Sequence[Block]) -> Iterator[Step]:
        bytewise = _is_small(plan, blocks) or not keeps_environment()
        if not bytewise and blocks[0].channels >= LANES and _fits_whole(plan, blocks):
            yield from _whole_steps(plan, blocks, None)
            return
        for block in blocks:
            if word and block.channels < FEW_CHANNELS and _pixels_of(block) > FEW_PIXELS and not is_sparse(block):
                yield _raised_copies(block)
            elif bytewise or (block.channels < FEW_CHANNELS and not _put_together(plan, block)):
                yield from byte_steps(plan, block, word)
            else:
                yield from _piece_steps(plan, block, None)

    return rows


def _is_small(plan: Plan, blocks: Sequence[Block]) -> bool:
    """Whether words take fewer calls than their environment does."""
    most = SMALL_BLOCK_SCALARS // len(blocks) // (4 if is_padded(plan, blocks[0]) else 1)
    return prod(plan.shape) <= max(SMALL_SCALARS, most)
