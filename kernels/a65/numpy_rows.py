"""The numpy engine: a plan as few strided steps, each over all tiles and pixels of a block at once.

What steps there are, and why they are quick: `ways`. Casts and arithmetic run in a floating-point environment of
their own, once in a call, which takes a microsecond. Where the C library keeps none, words are moved byte by byte, and
values are refused. A step holds views that are laid over the storage of each call; what it keeps depends on the size of
a pixel, not on that of the tensor.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import attrs
import numpy as np

from tessbed.kernels.a65.blocks import gaps_of
from tessbed.kernels.a65.fp_environment import in_default_environment
from tessbed.kernels.a65.numpy_engine.copies import gap_step
from tessbed.kernels.a65.numpy_engine.steps import BYTE, Step
from tessbed.kernels.a65.numpy_engine.values import (
    Change,
    Parameters,
    dequantize_codes,
    narrow_words,
    quantize_words,
)
from tessbed.kernels.a65.numpy_engine.ways import Rows, copy_rows, values, word_rows
from tessbed.kernels.conversions import look_up
from tessbed.kernels.plan import Plan
from tessbed.kernels.storage import BoundStorage, Views, span
from tessbed.kernels.tiling import TileClass


@attrs.frozen(eq=False, slots=False)
class RowProgram:
    """What executes a plan: its steps in order, which are laid out by the first call, and need no storage.

    `packs` says that they go from linear to tiled storage; `needs` has bytes and alignment of the input, and those of
    the output.
    """

    plan: Plan
    packs: bool
    needs: tuple[int, int, int, int]

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The conversion's steps, then alignment bytes."""
        gaps = gaps_of(self.plan) if self.packs else ()
        return (*CONVERSIONS[self.plan.conversion](self.plan), *map(gap_step, gaps))

    @cached_property
    def calculates(self) -> bool:
        """Whether the steps need the default floating-point environment."""
        return any(step.calculates for step in self.steps)


def compile_numpy(plan: Plan, classes: tuple[TileClass, ...]) -> RowProgram:
    """What executes `plan`; a batch's final tile, a class of its own in `classes`, is none here."""
    look_up(CONVERSIONS, plan.conversion, "the table of the A65's numpy rows")
    needs = (plan.input.required_bytes, plan.input.alignment_bytes)
    return RowProgram(plan, plan.packs, (*needs, plan.output.required_bytes, plan.output.alignment_bytes))


def run_numpy(program: RowProgram, tiled: BoundStorage, linear: BoundStorage) -> None:
    """Executes the program on bound storage."""
    tiled_storage, linear_storage = np.asarray(tiled.storage), np.asarray(linear.storage)
    if program.packs:
        _run(program, linear_storage, tiled_storage)
    else:
        _run(program, tiled_storage, linear_storage)


def attempt(program: RowProgram, inputs: Views, outputs: Views) -> bool:
    """Runs the usual call, one array of bytes a side that is as it must be; all others are left to `bind_storage`."""
    if type(inputs) is not list or type(outputs) is not list or len(inputs) != 1 or len(outputs) != 1:
        return False
    (source,), (target,) = inputs, outputs
    if type(source) is not np.ndarray or type(target) is not np.ndarray:
        return False
    if source.dtype is not BYTE or target.dtype is not BYTE:
        return False
    if not (source.flags.c_contiguous and target.flags.c_contiguous):
        return False
    (first, capacity, _), (goal, room, read_only) = span(source), span(target)
    read, aligned, written, goal_aligned = program.needs
    apart = first + read <= goal or goal + written <= first
    if read_only or capacity < read or room < written or first % aligned or goal % goal_aligned or not apart:
        return False
    _run(program, source, target)
    return True


def _run(program: RowProgram, source: np.ndarray, target: np.ndarray) -> None:
    def run() -> None:
        for step in program.steps:
            step.run(source, target)

    if program.calculates:
        in_default_environment(run)
    else:
        run()


Lane = np.ndarray | int


def by_lanes(convert: Callable[[Sequence[np.ndarray], Mapping[str, int]], Sequence[Lane]]) -> Rows:
    """The rows of a conversion that is said by byte lanes, for any pair of widths and either direction.

    `convert` gives the output's lanes, low byte first, from those of the input and the parameters by packet field:
    uint8 arrays of one shape, or one value for all.
    """

    def narrow(codes: np.ndarray, parameters: Parameters) -> Change:
        return lambda source: _set_lanes(codes, convert(_byte_lanes(source), parameters))

    def widen(codes: np.ndarray, parameters: Parameters) -> Change:
        return lambda target: _set_lanes(target, convert(_byte_lanes(codes), parameters))

    return lambda plan: values(narrow if plan.packs else widen)(plan)


def _set_lanes(target: np.ndarray, made: Sequence[Lane]) -> None:
    for lane, value in zip(_byte_lanes(target), made, strict=True):
        lane[...] = value


def _byte_lanes(scalars: np.ndarray) -> list[np.ndarray]:
    """The bytes of scalars, low byte first."""
    split = scalars[..., np.newaxis].view(np.uint8)
    return [split[..., byte] for byte in range(split.shape[-1])]


CONVERSIONS: dict[str, Rows] = {
    "copy": copy_rows,
    "split": word_rows(0),
    "join": word_rows(0),
    "widen": word_rows(2),
    "narrow": values(narrow_words),
    "quantize": values(quantize_words),
    "dequantize": values(dequantize_codes),
}
"""What moves the values of each conversion."""
