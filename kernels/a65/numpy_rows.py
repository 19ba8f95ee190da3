"""The numpy engine: a plan as few strided steps, each over all tiles and pixels of a block at once.

numpy's inner loop is cheap only when it is long. So runs of contiguous bytes travel as one void item each; few channels
travel channel by channel where the pixels make the longer loop; and words are moved as words, then taken apart by casts
and shifts (`numpy_values`). Padded pixels are put together in a piece that stays in the caches, so that every byte of
the output is written once. Casts and arithmetic run in a floating-point environment of their own, which takes
microseconds: words of small blocks and of few channels, and all words where the C library keeps no environment, are
copied byte by byte.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import prod

import attrs
import numpy as np

import tessbed.kernels.a65.numpy_values as numpy_values
from tessbed.kernels.a65.blocks import Block, Gap, Loop, blocks_of, gaps_of
from tessbed.kernels.a65.fp_environment import keeps_environment
from tessbed.kernels.a65.numpy_steps import Arrays, Convert, ConvertStep, Copy, FillStep, PadStep, Step, StridedView
from tessbed.kernels.conversions import look_up
from tessbed.kernels.plan import Plan
from tessbed.kernels.storage import BoundStorage
from tessbed.kernels.tiling import TileClass

BYTE = np.dtype("u1")
WORD = np.dtype("<u2")
SCALARS = {1: BYTE, 2: WORD, 4: np.dtype("<u4")}
"""The linear side's scalars as integers, by their width."""
LONGEST_ITEM = 64
WIDE_CHANNELS = 32
SMALL_SCALARS = 1024


@attrs.frozen
class RowProgram:
    """The steps of a plan in order; `packs` says that they go from linear to tiled storage."""

    packs: bool
    steps: tuple[Step, ...]


def compile_numpy(plan: Plan, classes: tuple[TileClass, ...]) -> RowProgram:
    """The steps that execute `plan`."""
    rows = look_up(CONVERSIONS, plan.conversion, "the table of the A65's numpy rows")
    gaps = gaps_of(plan, classes) if plan.packs else ()
    fills = (FillStep(_gap_view(gap), 0) for gap in gaps)
    return RowProgram(plan.packs, (*rows(plan, blocks_of(plan, classes)), *fills))


def run_numpy(program: RowProgram, tiled: BoundStorage, linear: BoundStorage) -> None:
    """Executes the program on bound storage."""
    tiled_storage, linear_storage = np.asarray(tiled.storage), np.asarray(linear.storage)
    source, target = (linear_storage, tiled_storage) if program.packs else (tiled_storage, linear_storage)
    for step in program.steps:
        step.run(source, target)


def _gap_view(gap: Gap) -> StridedView:
    shape = (*(extent for extent, _ in gap.loops), gap.length)
    return StridedView(BYTE, shape, gap.tiled_offset, (*(stride for _, stride in gap.loops), 1))


Rows = Callable[[Plan, Iterable[Block]], Iterator[Step]]
"""The steps for the blocks of a plan."""


def by_arrays(convert: Convert, *, calculates: bool = True) -> Rows:
    """The rows of a conversion between the arrays of both sides."""

    def rows(plan: Plan, blocks: Iterable[Block]) -> Iterator[Step]:
        for block in blocks:
            yield from _conversion(plan, block, convert, calculates=calculates)

    return rows


Lane = np.ndarray | int


def by_lanes(convert: Callable[[Sequence[np.ndarray], Mapping[str, int]], Sequence[Lane]]) -> Rows:
    """The rows of a conversion that is said by byte lanes, for any pair of widths and either direction.

    `convert` gives the output's lanes, low byte first, from those of the input and the parameters by packet field:
    uint8 arrays of one shape, or one value for all.
    """

    def converted(sources: Arrays, targets: Arrays, parameters: Mapping[str, int]) -> None:
        for lane, made in zip(_byte_lanes(targets), convert(_byte_lanes(sources), parameters), strict=True):
            lane[...] = made

    return by_arrays(converted)


def _byte_lanes(arrays: Arrays) -> list[np.ndarray]:
    """The bytes of the scalars that the arrays hold, low byte first."""
    scalars = (each[..., np.newaxis].view(np.uint8) for each in arrays)
    return [each[..., byte] for each in scalars for byte in range(each.shape[-1])]


def _conversion(plan: Plan, block: Block, convert: Convert, *, calculates: bool) -> Iterator[Step]:
    """The steps for a block. Narrow pixels are put together with their padding; that of wide ones is filled apart."""
    block = _linear_order(block)
    planes = range(0, plan.tiled_dtype.width * block.plane_bytes, block.plane_bytes)
    tiled = tuple(_array(block, BYTE, plane, tiled=True) for plane in planes)
    linear = (_array(block, SCALARS[plan.linear_dtype.width], 0, tiled=False),)
    targets, sources = (tiled, linear) if plan.packs else (linear, tiled)
    step = ConvertStep(targets, sources, convert, plan.parameters, calculates)
    if not _padded(plan, block) or block.channels >= WIDE_CHANNELS:
        yield from _padding_steps(plan, block)
        yield step
        return
    pixel = attrs.evolve(block, channels=plan.tiled_dtype.width * block.plane_bytes)
    yield PadStep(_array(pixel, BYTE, 0, tiled=True), step, plan.channel_fill)


def _padded(plan: Plan, block: Block) -> bool:
    return plan.packs and block.plane_bytes > block.channels


def _linear_order(block: Block) -> Block:
    """Its loops in the order of the linear side, where whole rows then follow each other."""
    return attrs.evolve(block, loops=tuple(sorted(block.loops, key=lambda loop: -loop[2])))


def _array(block: Block, dtype: np.dtype, first: int, *, tiled: bool) -> StridedView:
    """Scalars `first` bytes behind the start of every pixel, the channels on an axis of their own."""
    loops = block.loops
    shape = (*(loop[0] for loop in loops), block.channels)
    if tiled:
        return StridedView(dtype, shape, block.tiled_offset + first, (*(loop[1] for loop in loops), 1))
    strides = (*(loop[2] for loop in loops), block.channel_stride_bytes)
    return StridedView(dtype, shape, block.linear_offset + first, strides)


def _copy_rows(plan: Plan, blocks: Iterable[Block]) -> Iterator[Step]:
    """INT8 as it is: runs of contiguous channels as items."""
    for block in blocks:
        contiguous = block.channel_stride_bytes == 1 or block.channels == 1
        if not contiguous or (_padded(plan, block) and block.channels < WIDE_CHANNELS):
            convert = numpy_values.copy_bytes if plan.packs else numpy_values.regroup_bytes
            yield from _conversion(plan, block, convert, calculates=False)
        else:
            yield from _padding_steps(plan, block)
            yield from _run_steps(_unrolled(block), plan.packs)


def _run_steps(block: Block, packs: bool) -> Iterator[Step]:
    """Contiguous bytes: items, or channel by channel where the pixels make the longer loop."""
    if block.channels < 4 and block.loops and block.loops[-1][0] >= 16:
        for part in _lanes_of(block):
            yield _copy(_lanes(part, BYTE, 0, tiled=False), _lanes(part, BYTE, 0, tiled=True), packs)
        return
    item = (np.dtype(f"V{block.channels}"), 0, 1, 1) if block.channels <= LONGEST_ITEM else (BYTE, 0, block.channels, 1)
    yield _copy(_view(block, *item, tiled=False), _view(block, *item, tiled=True), packs)


def _word_rows(name: str, word: int) -> Rows:
    """BF16 on the tiled side, its two bytes at `word` of the linear scalar: as words, or by bytes."""
    convert = numpy_values.CALCULATED[name]

    def rows(plan: Plan, blocks: Iterable[Block]) -> Iterator[Step]:
        for block in blocks:
            wide = block.channels >= numpy_values.FEW_CHANNELS and _scalars_of(block) > SMALL_SCALARS
            if wide and keeps_environment():
                yield from _conversion(plan, block, convert, calculates=True)
                continue
            yield from _padding_steps(plan, block)
            if word:
                yield FillStep(_lanes(block, WORD, 0, tiled=False), 0)
            yield from _word_steps(block, plan.packs, word)

    return rows


def _scalars_of(block: Block) -> int:
    return prod(loop[0] for loop in block.loops) * block.channels


def _padding_steps(plan: Plan, block: Block) -> Iterator[Step]:
    """Fills what is left of each plane of a block's pixels, if anything is."""
    if not _padded(plan, block):
        return
    planes, missing = plan.tiled_dtype.width, block.plane_bytes - block.channels
    shape = (*(loop[0] for loop in block.loops), planes, missing)
    strides = (*(loop[1] for loop in block.loops), block.plane_bytes, 1)
    yield FillStep(StridedView(BYTE, shape, block.tiled_offset + block.channels, strides), plan.channel_fill)


CONVERSIONS: dict[str, Rows] = {
    "copy": _copy_rows,
    "split": _word_rows("split", 0),
    "join": _word_rows("join", 0),
    "widen": _word_rows("widen", 2),
    "narrow": by_arrays(numpy_values.narrow_words),
    "quantize": by_arrays(numpy_values.quantize_words),
    "dequantize": by_arrays(numpy_values.dequantize_codes),
}
"""What moves the values of each conversion."""


def _word_steps(block: Block, packs: bool, word: int) -> Iterator[Step]:
    if block.channels == 1 and block.plane_bytes == 1:
        yield _copy(_lanes(block, WORD, word, tiled=False), _lanes(block, WORD, 0, tiled=True), packs)
    else:
        yield from _plane_steps(block, packs, word)


def _copy(linear: StridedView, tiled: StridedView, packs: bool) -> Copy:
    return Copy(tiled, linear) if packs else Copy(linear, tiled)


def _unrolled(block: Block) -> Block:
    """Pixels that follow each other without a gap on both sides become channels of one long pixel."""
    if block.loops and block.channel_stride_bytes == 1 and block.loops[-1][1:] == (block.channels, block.channels):
        return attrs.evolve(block, loops=block.loops[:-1], channels=block.channels * block.loops[-1][0])
    return block


def _plane_steps(block: Block, packs: bool, word: int) -> Iterator[Step]:
    """BF16, its two bytes at `word` of the linear scalar: the low bytes, then the high ones."""
    few = block.channels < min(numpy_values.FEW_CHANNELS, block.loops[-1][0] if block.loops else 0)
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
    shape, strides = _layout(block.loops, count, step, 1 if tiled else 2)
    return StridedView(dtype, shape, (block.tiled_offset if tiled else block.linear_offset) + first, strides)


@lru_cache(maxsize=64)  # every lane of a block has the same
def _layout(loops: tuple[Loop, ...], count: int, step: int, side: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and strides of `count` elements, `step` bytes apart, for each pixel of a side."""
    shape, strides = tuple([loop[0] for loop in loops]), tuple([loop[side] for loop in loops])
    return ((*shape, count), (*strides, step)) if count > 1 else (shape, strides)
