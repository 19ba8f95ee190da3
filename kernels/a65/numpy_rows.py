"""The numpy engine: every block as a handful of strided operations, each over all its tiles and pixels at once.

numpy's inner loop is cheap only when it is long. So runs of 16 bytes and more travel as void items, two overlapping
ones for a ragged end; short runs and few channels travel channel by channel, with the pixels in the inner loop; and a
low plane is a cast between one byte and two, which truncates on the way in and zero-extends on the way out.
FP32 without gaps is widened as integers first and shifted up as a whole at the end. Nothing else computes: integer
casts, copies and that one shift, so every BF16 pattern survives.
"""

from collections.abc import Iterator
from math import prod

import attrs
import numpy as np

from tessbed.kernels.a65.blocks import Block, Gap, blocks_of, gaps_of
from tessbed.kernels.binding import Bound
from tessbed.kernels.plan import Op, Plan, TileClass

BYTE = np.dtype("u1")
WORD = np.dtype("<u2")
LONG = np.dtype("<u4")
ITEM_BYTES = 16
ITEM = np.dtype(f"V{ITEM_BYTES}")
FEW_CHANNELS = 8


@attrs.frozen
class View:
    """A strided view to be laid over a port's storage."""

    dtype: np.dtype
    shape: tuple[int, ...]
    offset: int
    strides: tuple[int, ...]

    def over(self, storage: object) -> np.ndarray:
        """The view of `storage`; numpy refuses one that leaves it."""
        return np.ndarray(self.shape, self.dtype, storage, self.offset, self.strides)  # pyright: ignore[reportArgumentType, reportCallIssue]


@attrs.frozen
class Fill:
    """Sets every element of `target` to `value`."""

    target: View
    value: int


@attrs.frozen
class Copy:
    """Copies `source` into `target`, element by element, truncating or zero-extending integers."""

    target: View
    source: View


@attrs.frozen
class Raise:
    """Shifts every element of `target` up by 16 bits, in place."""

    target: View


Step = Fill | Copy | Raise


@attrs.frozen
class Program:
    """The steps of a plan in order; `packs` says that they go from linear to tiled storage."""

    packs: bool
    steps: tuple[Step, ...]


def compile_plan(plan: Plan, classes: tuple[TileClass, ...]) -> Program:
    """The steps that execute `plan`: paddings first, since payload may overwrite them."""
    packs = plan.op is Op.TESS
    fills = _fills(plan, classes) if packs else ()
    scalars = _scalars(plan)
    moves = (step for block in blocks_of(plan, classes) for step in _block_steps(plan, block, scalars))
    return Program(packs, (*fills, *moves, *scalars.after))


def run(program: Program, tiled: Bound, linear: Bound) -> None:
    """Executes the program on bound storage."""
    tiled_storage, linear_storage = np.asarray(tiled.storage), np.asarray(linear.storage)
    source, target = (linear_storage, tiled_storage) if program.packs else (tiled_storage, linear_storage)
    for step in program.steps:
        if isinstance(step, Fill):
            step.target.over(target).fill(step.value)
        elif isinstance(step, Raise):
            scalars = step.target.over(target)
            np.left_shift(scalars, 16, out=scalars)
        else:
            np.copyto(step.target.over(target), step.source.over(source), casting="unsafe")


@attrs.frozen
class Scalars:
    """How a word stands in a linear scalar while it is moved.

    A cast of the low byte writes the type `low` at byte `at`; the high byte stands behind the low one. `cleared` says
    that the bytes before are cleared apart; `after` is what remains to do when all is moved.
    """

    low: np.dtype = WORD
    at: int = 0
    cleared: bool = False
    after: tuple[Raise, ...] = ()


def _scalars(plan: Plan) -> Scalars:
    if plan.linear_dtype.width < 4:
        return Scalars()
    count = prod(plan.shape)
    if plan.output.required_bytes > count * 4:
        return Scalars(at=2, cleared=True)
    return Scalars(LONG, after=(Raise(View(LONG, (count,), 0, (4,))),))


def _fills(plan: Plan, classes: tuple[TileClass, ...]) -> Iterator[Fill]:
    """Channel padding as one fill of the whole span, then the alignment bytes, unless the first fill was zero."""
    padded = any(tiles.stored_channels > tiles.extents[0] for tiles in classes)
    if padded:
        yield Fill(View(BYTE, (plan.output.required_bytes,), 0, (1,)), plan.channel_fill)
    if not padded or plan.channel_fill:
        for gap in gaps_of(plan, classes):
            yield Fill(_gap_view(gap), 0)


def _gap_view(gap: Gap) -> View:
    shape = (*(extent for extent, _ in gap.loops), gap.length)
    return View(BYTE, shape, gap.tiled_offset, (*(stride for _, stride in gap.loops), 1))


def _block_steps(plan: Plan, block: Block, scalars: Scalars) -> Iterator[Step]:
    packs = plan.op is Op.TESS
    if plan.tiled_dtype.width == 1:
        yield from _byte_steps(block, packs)
        return
    if scalars.cleared:
        yield Fill(_lanes(block, WORD, 0, tiled=False), 0)
    if block.channels == 1 and block.plane_bytes == 1:
        yield _copy(_lanes(block, scalars.low, scalars.at, tiled=False), _lanes(block, WORD, 0, tiled=True), packs)
    else:
        yield from _plane_steps(block, packs, scalars)


def _copy(linear: View, tiled: View, packs: bool) -> Copy:
    return Copy(tiled, linear) if packs else Copy(linear, tiled)


def _byte_steps(block: Block, packs: bool) -> Iterator[Step]:
    """INT8: runs of contiguous channels as items where they are long enough, else single bytes."""
    block = _unrolled(block)
    contiguous = block.channel_stride_bytes == 1
    if contiguous and block.channels >= ITEM_BYTES:
        for first, count in _items(block.channels):
            run = (block, ITEM, first, count, ITEM_BYTES)
            yield _copy(_view(*run, tiled=False), _view(*run, tiled=True), packs)
    else:
        for part in (block,) if block.channels >= FEW_CHANNELS and not contiguous else _lanes_of(block):
            yield _copy(_lanes(part, BYTE, 0, tiled=False), _lanes(part, BYTE, 0, tiled=True), packs)


def _unrolled(block: Block) -> Block:
    """Pixels that follow each other without a gap on both sides become channels of one long pixel."""
    if block.loops and block.channel_stride_bytes == 1 and block.loops[-1][1:] == (block.channels, block.channels):
        return attrs.evolve(block, loops=block.loops[:-1], channels=block.channels * block.loops[-1][0])
    return block


def _plane_steps(block: Block, packs: bool, scalars: Scalars) -> Iterator[Step]:
    """BF16: the low bytes by a cast, which cuts the higher ones or clears them, then the high bytes."""
    for part in (block,) if block.channels >= FEW_CHANNELS else _lanes_of(block):
        low, high = _lanes(part, BYTE, 0, tiled=True), _lanes(part, BYTE, part.plane_bytes, tiled=True)
        yield _copy(_lanes(part, scalars.low, scalars.at, tiled=False), low, packs)
        yield _copy(_lanes(part, BYTE, scalars.at + 1, tiled=False), high, packs)


def _lanes_of(block: Block) -> Iterator[Block]:
    """The block's channels one by one."""
    for channel in range(block.channels):
        yield attrs.evolve(
            block,
            channels=1,
            tiled_offset=block.tiled_offset + channel,
            linear_offset=block.linear_offset + channel * block.channel_stride_bytes,
        )


def _items(length: int) -> Iterator[tuple[int, int]]:
    """(first byte, number) of the items that cover `length` bytes; a ragged end overlaps what is already covered."""
    yield 0, length // ITEM_BYTES
    if length % ITEM_BYTES:
        yield length - ITEM_BYTES, 1


def _lanes(block: Block, dtype: np.dtype, byte: int, *, tiled: bool) -> View:
    """One `dtype` at `byte` of every channel's scalar (linear) or pixel (tiled)."""
    return _view(block, dtype, byte, block.channels, 1 if tiled else block.channel_stride_bytes, tiled=tiled)


def _view(block: Block, dtype: np.dtype, first: int, count: int, step: int, *, tiled: bool) -> View:
    side = 1 if tiled else 2
    loops = [(loop[0], loop[side]) for loop in block.loops]
    if count > 1:
        loops.append((count, step))
    offset = (block.tiled_offset if tiled else block.linear_offset) + first
    return View(dtype, tuple(extent for extent, _ in loops), offset, tuple(stride for _, stride in loops))
