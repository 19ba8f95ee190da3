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
    fill_of,
    padding_of,
    run_views,
    view_copies,
)
from tessbed.kernels.a65.numpy_pieces import PackPieces, UnpackPieces
from tessbed.kernels.a65.numpy_sides import is_scattered, short_rows, sides_of
from tessbed.kernels.a65.numpy_steps import APART_BYTES, BYTE, FEW_LINES_BYTES, FillStep, Step, StridedView
from tessbed.kernels.a65.numpy_values import SCALARS, Narrow, Widen
from tessbed.kernels.a65.numpy_whole import DensePixels, PlaneViews, WholePack, WholeUnpack
from tessbed.kernels.operations import TileFormat
from tessbed.kernels.plan import Plan

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
WHOLE_SCALARS = 1 << 18
"""Scalars of a plan up to which it is converted at once."""
PADDED_BYTES = 1 << 19
"""Bytes of padded tiles up to which that is so: they are filled before."""

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
    return not (plan.packs and plan.tiled.required_bytes > PADDED_BYTES and any(padding_of(plan, b) for b in blocks))


def _turns_whole(plan: Plan, blocks: Sequence[Block]) -> bool:
    """Whether the pixels of several blocks are put together in scratch, and all turned at once."""
    first = blocks[0]
    if len(blocks) == 1 or first.channels < ITEM_CHANNELS or plan.tile_format is TileFormat.CBLOCKED:
        return False
    return is_scattered(first) and short_rows(first)


def _whole_steps(plan: Plan, blocks: Sequence[Block], change: Narrow | Widen | None) -> Iterator[Step]:
    width, planes, packs, scalars = plan.linear_dtype.width, plan.tiled_dtype.width, plan.packs, prod(plan.shape)
    turn, lanes = _turn_of(plan) if _turns_whole(plan, blocks) else None, []
    places = _Places(width, turn)
    for block in blocks:
        pixels = _in_scratch(block, places)
        run = as_long_pixels(pixels) if planes == 1 else pixels
        lanes += [PlaneViews(*views, block.plane_bytes) for views in run_views(run, packs)]
    linear, parameters = StridedView(SCALARS[width], (scalars,), 0, (width,)), dict(plan.parameters)
    if packs:
        yield WholePack(linear, change, parameters, planes, tuple(lanes), turn, _padding_of_all(plan, blocks))  # type: ignore[arg-type]
    else:
        yield WholeUnpack(linear, change, parameters, planes, tuple(lanes), turn)  # type: ignore[arg-type]


def _padding_of_all(plan: Plan, blocks: Sequence[Block]) -> FillStep | None:
    """Fills all tiles, which have no gaps where they are padded."""
    if not any(padding_of(plan, block) for block in blocks):
        return None
    return FillStep(StridedView(BYTE, (plan.tiled.required_bytes,), 0, (1,)), fill_of(plan))


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
    sides, parameters = sides_of(plan, block), dict(plan.parameters)
    if plan.packs:
        yield PackPieces(sides, change, parameters, padding_of(plan, block))  # type: ignore[arg-type]
    else:
        yield UnpackPieces(sides, change, parameters)  # type: ignore[arg-type]


def copy_rows(plan: Plan, blocks: Sequence[Block]) -> Iterator[Step]:
    """INT8 as it is: runs of contiguous channels as items."""
    packs = plan.packs
    for block in blocks:
        if _takes_scratch(plan, block):
            yield from _piece_steps(plan, block, None)
        else:
            long = as_long_pixels(block)
            yield from view_copies(long, run_views(long, packs), packs, padding_of(plan, long))


def _takes_scratch(plan: Plan, block: Block) -> bool:
    """Whether bytes are turned in scratch rather than copied straight."""
    turned = not plan.packs and is_scattered(block) and short_rows(block)
    return turned and _pixels_of(block) * block.channels > TURNED_SCALARS


def word_rows(word: int) -> Rows:
    """BF16 on the tiled side, its two bytes at `word` of the linear scalar: as words, or by bytes."""

    def rows(plan: Plan, blocks: Sequence[Block]) -> Iterator[Step]:
        bytewise = _is_small(plan, blocks) or not keeps_environment()
        if not bytewise and blocks[0].channels >= LANES and _fits_whole(plan, blocks):
            yield from _whole_steps(plan, blocks, None)
            return
        for block in blocks:
            if bytewise or block.channels < FEW_CHANNELS:
                yield from byte_steps(plan, block, word)
            else:
                yield from _piece_steps(plan, block, None)

    return rows


def _is_small(plan: Plan, blocks: Sequence[Block]) -> bool:
    """Whether words take fewer calls than their environment does."""
    most = SMALL_BLOCK_SCALARS // len(blocks) // (4 if padding_of(plan, blocks[0]) else 1)
    return prod(plan.shape) <= max(SMALL_SCALARS, most)
