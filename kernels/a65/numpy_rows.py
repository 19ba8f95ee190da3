"""The numpy engine: every block as a handful of strided copies, each over all its tiles and pixels at once.

numpy's inner loop is cheap only when it is long. So runs of 16 bytes and more travel as void items, two overlapping
ones for a ragged end; short runs and few channels travel channel by channel, with the pixels in the inner loop; and a
plane is a copy between single bytes. FP32 is cleared first: as a whole where it has no gaps, else block by block.
Every copy is between equal types. A cast, or any arithmetic, would have numpy clear the CPU's floating-point flags,
which a call leaves as they were. What calculates runs in a floating-point environment of its own.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Protocol

import attrs
import numpy as np

import tessbed.kernels.a65.numpy_values as numpy_values
from tessbed.kernels.a65.blocks import Block, Gap, Loop, blocks_of, gaps_of
from tessbed.kernels.a65.fp_environment import default_environment
from tessbed.kernels.conversions import look_up
from tessbed.kernels.plan import Plan
from tessbed.kernels.storage import BoundStorage
from tessbed.kernels.tiling import TileClass

BYTE = np.dtype("u1")
WORD = np.dtype("<u2")
WIDE_WORD = np.dtype("<u4")
ITEM_BYTES = 16
ITEM = np.dtype(f"V{ITEM_BYTES}")
FEW_CHANNELS = 8
PIECE_SCALARS = 1 << 14


@attrs.frozen
class StridedView:
    """A strided view to be laid over a port's storage."""

    dtype: np.dtype
    shape: tuple[int, ...]
    offset: int
    strides: tuple[int, ...]

    def over(self, storage: object) -> np.ndarray:
        """The view of `storage`; numpy refuses one that leaves it."""
        return np.ndarray(self.shape, self.dtype, storage, self.offset, self.strides)  # pyright: ignore[reportArgumentType, reportCallIssue]


class Step(Protocol):
    """One strided operation; `run` performs it on the storage of the input and of the output."""

    def run(self, source: np.ndarray, target: np.ndarray) -> None: ...


@attrs.frozen
class FillStep:
    """Sets every element of `target` to `value`."""

    target: StridedView
    value: int

    def run(self, source: np.ndarray, target: np.ndarray) -> None:
        self.target.over(target).fill(self.value)


@attrs.frozen
class Copy:
    """Copies `source` into `target`, element by element; both have the same type."""

    target: StridedView
    source: StridedView

    def run(self, source: np.ndarray, target: np.ndarray) -> None:
        np.copyto(self.target.over(target), self.source.over(source), casting="no")


Lane = np.ndarray | int
Convert = Callable[[Sequence[np.ndarray], Mapping[str, int]], Sequence[Lane]]
"""The output's lanes, low byte first, from those of the input and the conversion's parameters by packet field.

Lanes are uint8 arrays of one shape, or one value for all; a side may have one array of whole scalars instead."""


@attrs.frozen
class ConvertStep:
    """Makes the lanes of scalars from those of the other side, in pieces of a bounded size.

    numpy's arithmetic obeys and touches the floating-point environment: `convert` is called in the default one.
    """

    targets: tuple[StridedView, ...]
    sources: tuple[StridedView, ...]
    convert: Convert
    parameters: tuple[tuple[str, int], ...]

    def run(self, source: np.ndarray, target: np.ndarray) -> None:
        lanes = [view.over(source) for view in self.sources]
        with default_environment():
            self._run(lanes, [view.over(target) for view in self.targets])

    def _run(self, sources: list[np.ndarray], targets: list[np.ndarray]) -> None:
        if sources[0].size > PIECE_SCALARS:
            middle = len(sources[0]) // 2 or 1
            parts = (slice(middle), slice(middle, None)) if len(sources[0]) > 1 else (0,)
            for part in parts:
                self._run([lane[part] for lane in sources], [lane[part] for lane in targets])
            return
        for lane, made in zip(targets, self.convert(sources, dict(self.parameters)), strict=True):
            lane[...] = made


@attrs.frozen
class RowProgram:
    """The steps of a plan in order; `packs` says that they go from linear to tiled storage."""

    packs: bool
    steps: tuple[Step, ...]


def compile_numpy(plan: Plan, classes: tuple[TileClass, ...]) -> RowProgram:
    """The steps that execute `plan`: paddings first, since payload may overwrite them."""
    move = look_up(CONVERSIONS, plan.conversion, "the table of the A65's numpy rows")
    fills = _fills(plan, classes) if plan.packs else ()
    return RowProgram(plan.packs, (*fills, *move(plan, blocks_of(plan, classes))))


def run_numpy(program: RowProgram, tiled: BoundStorage, linear: BoundStorage) -> None:
    """Executes the program on bound storage."""
    tiled_storage, linear_storage = np.asarray(tiled.storage), np.asarray(linear.storage)
    source, target = (linear_storage, tiled_storage) if program.packs else (tiled_storage, linear_storage)
    for step in program.steps:
        step.run(source, target)


def _fills(plan: Plan, classes: tuple[TileClass, ...]) -> Iterator[FillStep]:
    """Channel padding as one fill of the whole span, then the alignment bytes, unless the first fill was zero."""
    padded = any(tiles.stored_channels > tiles.extents[0] for tiles in classes)
    if padded:
        yield FillStep(StridedView(BYTE, (plan.output.required_bytes,), 0, (1,)), plan.channel_fill)
    if not padded or plan.channel_fill:
        for gap in gaps_of(plan, classes):
            yield FillStep(_gap_view(gap), 0)


def _gap_view(gap: Gap) -> StridedView:
    shape = (*(extent for extent, _ in gap.loops), gap.length)
    return StridedView(BYTE, shape, gap.tiled_offset, (*(stride for _, stride in gap.loops), 1))


def _byte_rows(plan: Plan, blocks: Iterable[Block]) -> Iterator[Step]:
    for block in blocks:
        yield from _byte_steps(block, plan.packs)


def _word_rows(plan: Plan, blocks: Iterable[Block]) -> Iterator[Step]:
    for block in blocks:
        yield from _word_steps(block, plan.packs, 0)


def _wide_rows(plan: Plan, blocks: Iterable[Block]) -> Iterator[Step]:
    """The low words of FP32 are cleared first: as a whole where there are no gaps, else block by block."""
    dense = plan.linear.required_bytes == prod(plan.shape) * plan.linear_dtype.width
    if dense:
        yield FillStep(StridedView(BYTE, (plan.linear.required_bytes,), 0, (1,)), 0)
    for block in blocks:
        if not dense:
            yield FillStep(_lanes(block, WORD, 0, tiled=False), 0)
        yield from _word_steps(block, plan.packs, 2)


Rows = Callable[[Plan, Iterable[Block]], Iterator[Step]]
"""The steps for the blocks of a plan."""


def by_lanes(convert: Convert) -> Rows:
    """The rows of a conversion that is said by byte lanes, for any pair of widths and either direction."""

    def rows(plan: Plan, blocks: Iterable[Block]) -> Iterator[Step]:
        planes, width = range(plan.tiled_dtype.width), range(plan.linear_dtype.width)
        for block in blocks:
            tiled = tuple(_lanes(block, BYTE, plane * block.plane_bytes, tiled=True) for plane in planes)
            linear = tuple(_lanes(block, BYTE, byte, tiled=False) for byte in width)
            targets, sources = (tiled, linear) if plan.packs else (linear, tiled)
            yield ConvertStep(targets, sources, convert, plan.parameters)

    return rows


def by_words(convert: Convert) -> Rows:
    """The rows of a conversion between whole words of 32 bits on the linear side and byte lanes on the tiled one."""

    def rows(plan: Plan, blocks: Iterable[Block]) -> Iterator[Step]:
        for block in blocks:
            planes = range(plan.tiled_dtype.width)
            tiled = tuple(_lanes(block, BYTE, plane * block.plane_bytes, tiled=True) for plane in planes)
            linear = (_lanes(block, WIDE_WORD, 0, tiled=False),)
            targets, sources = (tiled, linear) if plan.packs else (linear, tiled)
            yield ConvertStep(targets, sources, convert, plan.parameters)

    return rows


CONVERSIONS: dict[str, Rows] = {
    "copy": _byte_rows,
    "split": _word_rows,
    "join": _word_rows,
    "widen": _wide_rows,
    "narrow": by_words(numpy_values.narrowed),
    "quantize": by_words(numpy_values.quantized),
    "dequantize": by_words(numpy_values.dequantized),
}
"""What moves the values of each conversion."""


def _word_steps(block: Block, packs: bool, word: int) -> Iterator[Step]:
    if block.channels == 1 and block.plane_bytes == 1:
        yield _copy(_lanes(block, WORD, word, tiled=False), _lanes(block, WORD, 0, tiled=True), packs)
    else:
        yield from _plane_steps(block, packs, word)


def _copy(linear: StridedView, tiled: StridedView, packs: bool) -> Copy:
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


def _plane_steps(block: Block, packs: bool, word: int) -> Iterator[Step]:
    """BF16, its two bytes at `word` of the linear scalar: the low bytes, then the high ones."""
    for part in (block,) if block.channels >= FEW_CHANNELS else _lanes_of(block):
        for byte, plane in ((0, 0), (1, part.plane_bytes)):
            yield _copy(_lanes(part, BYTE, word + byte, tiled=False), _lanes(part, BYTE, plane, tiled=True), packs)


def _lanes_of(block: Block) -> Iterator[Block]:
    """The block's channels one by one."""
    tiled, linear, step = block.tiled_offset, block.linear_offset, block.channel_stride_bytes
    for channel in range(block.channels):
        yield Block(block.loops, 1, block.plane_bytes, step, tiled + channel, linear + channel * step)


def _items(length: int) -> Iterator[tuple[int, int]]:
    """(first byte, number) of the items that cover `length` bytes; a ragged end overlaps what is already covered."""
    yield 0, length // ITEM_BYTES
    if length % ITEM_BYTES:
        yield length - ITEM_BYTES, 1


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
