"""The numpy engine: every block as a handful of strided copies, each over all its tiles and pixels at once.

numpy's inner loop is cheap only when it is long. So runs of bytes travel as void items of up to 16 bytes, two
overlapping ones for a ragged end; few channels travel one by one, with the pixels in the inner loop; and a low plane is
an integer cast between one byte and two, which truncates on the way in and zero-extends on the way out.
Nothing here computes: integer casts and copies only, so every BF16 pattern survives.
"""

from collections.abc import Iterator

import attrs
import numpy as np

from tessbed.kernels.a65.blocks import Block, Gap, blocks_of, gaps_of
from tessbed.kernels.binding import Bound
from tessbed.kernels.plan import Op, Plan, TileClass

BYTE = np.dtype("u1")
WORD = np.dtype("<u2")
FEW_CHANNELS = 8
VOIDS = {size: np.dtype(f"V{size}") for size in (16, 8, 4, 2, 1)}


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


Step = Fill | Copy


@attrs.frozen
class Program:
    """The steps of a plan in order; `packs` says that they go from linear to tiled storage."""

    packs: bool
    steps: tuple[Step, ...]


def compile_plan(plan: Plan, classes: tuple[TileClass, ...]) -> Program:
    """The steps that execute `plan`: paddings first, since payload may overwrite them."""
    packs = plan.op is Op.TESS
    fills = _fills(plan, classes) if packs else ()
    copies = (copy for block in blocks_of(plan, classes) for copy in _block_steps(plan, block))
    return Program(packs, (*fills, *(_directed(step, packs) for step in copies)))


def run(program: Program, tiled: Bound, linear: Bound) -> None:
    """Executes the program on bound storage."""
    tiled_storage, linear_storage = np.asarray(tiled.storage), np.asarray(linear.storage)
    source, target = (linear_storage, tiled_storage) if program.packs else (tiled_storage, linear_storage)
    for step in program.steps:
        if isinstance(step, Fill):
            step.target.over(target).fill(step.value)
        else:
            np.copyto(step.target.over(target), step.source.over(source), casting="unsafe")


def _directed(step: Step, packs: bool) -> Step:
    """Block steps are written as unpacking, tiled to linear; packing swaps the sides."""
    return Copy(target=step.source, source=step.target) if packs and isinstance(step, Copy) else step


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


def _block_steps(plan: Plan, block: Block) -> Iterator[Step]:
    """Steps from tiled to linear."""
    width = plan.linear_dtype.width
    if plan.tiled_dtype.width == 1:
        yield from _byte_steps(block)
        return
    if width == 4:
        yield Fill(_lanes(block, WORD, 0, tiled=False), 0)
    if block.channels == 1 and block.plane_bytes == 1:
        yield Copy(_lanes(block, WORD, width - 2, tiled=False), _lanes(block, WORD, 0, tiled=True))
    else:
        yield from _plane_steps(block, width)


def _byte_steps(block: Block) -> Iterator[Step]:
    if block.channel_stride_bytes == 1 or block.channels == 1:
        for size, first, count in _runs(block.channels):
            yield Copy(_run(block, size, first, count, tiled=False), _run(block, size, first, count, tiled=True))
    else:
        for part in _few(block):
            yield Copy(_lanes(part, BYTE, 0, tiled=False), _lanes(part, BYTE, 0, tiled=True))


def _plane_steps(block: Block, width: int) -> Iterator[Step]:
    for part in _few(block):
        yield Copy(_lanes(part, WORD, width - 2, tiled=False), _lanes(part, BYTE, 0, tiled=True))
        yield Copy(_lanes(part, BYTE, width - 1, tiled=False), _lanes(part, BYTE, part.plane_bytes, tiled=True))


def _few(block: Block) -> Iterator[Block]:
    """The block itself, or its channels one by one where they are few."""
    if block.channels >= FEW_CHANNELS:
        yield block
        return
    for channel in range(block.channels):
        yield attrs.evolve(
            block,
            channels=1,
            tiled_offset=block.tiled_offset + channel,
            linear_offset=block.linear_offset + channel * block.channel_stride_bytes,
        )


def _runs(length: int) -> Iterator[tuple[int, int, int]]:
    """(item bytes, first byte, items) that cover `length` bytes; a ragged end overlaps what is already covered."""
    size = next(size for size in VOIDS if size <= length)
    yield size, 0, length // size
    if length % size:
        yield size, length - size, 1


def _run(block: Block, size: int, first: int, count: int, *, tiled: bool) -> View:
    return _view(block, VOIDS[size], first, count, size, tiled=tiled)


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
