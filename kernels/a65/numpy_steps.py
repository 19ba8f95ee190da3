"""Steps of the numpy rows: fills, copies and conversions between strided views of a port's storage.

A conversion goes piece by piece, so that what it holds meanwhile stays in the caches and does not grow with the tensor.
numpy's casts and arithmetic obey, and clear, parts of the CPU's floating-point environment: what needs them runs in the
default one. A copy between equal types touches nothing of it.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, Protocol

import attrs
import numpy as np

from tessbed.kernels.a65.fp_environment import in_default_environment

PIECE_SCALARS = 1 << 17


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


class Scratch(threading.local):
    """Storage for what a piece is turned into on its way, kept by each thread: fresh pages cost more than the work."""

    def __init__(self) -> None:
        self._parts: dict[int, np.ndarray] = {}

    def array(self, part: int, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """An array of a part; it is the caller's until the same part is asked for again."""
        size = prod(shape) * np.dtype(dtype).itemsize
        kept = self._parts.get(part)
        if kept is None or kept.size < size:
            kept = self._parts[part] = np.empty(size, np.uint8)
        return np.ndarray(shape, dtype, kept)  # pyright: ignore[reportArgumentType]


SCRATCH = Scratch()
PADDED = 4
"""The part of the scratch where padded pixels are put together; conversions use those before it."""


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


Arrays = Sequence[np.ndarray]
Convert = Callable[[Arrays, Arrays, Mapping[str, int]], None]
"""Makes the arrays of the output (second) from those of the input, with the conversion's parameters by packet field.

The tiled side has one array of bytes for each plane, low plane first; the linear side one array of whole scalars."""


@attrs.frozen
class ConvertStep:
    """Converts between the arrays of both sides; `calculates` says that it needs the default environment."""

    targets: tuple[StridedView, ...]
    sources: tuple[StridedView, ...]
    convert: Convert
    parameters: tuple[tuple[str, int], ...] = ()
    calculates: bool = True

    def run(self, source: np.ndarray, target: np.ndarray) -> None:
        sources, targets = [view.over(source) for view in self.sources], [view.over(target) for view in self.targets]
        run_in(self, lambda: self._convert(sources, targets))

    def _convert(self, sources: list[np.ndarray], targets: list[np.ndarray]) -> None:
        parameters = dict(self.parameters)
        if sources[0].size <= PIECE_SCALARS:
            self.convert(sources, targets, parameters)
            return
        for piece in cut_pieces(sources[0].shape):
            self.convert([each[piece] for each in sources], [each[piece] for each in targets], parameters)


def run_in(step: ConvertStep, run: Callable[[], None]) -> None:
    """Runs it in the environment that the step's conversion needs."""
    if step.calculates:
        in_default_environment(run)
    else:
        run()


@attrs.frozen
class PadStep:
    """A packing conversion of padded pixels: a piece of them is put together elsewhere, then written in one go.

    `pixels` are the bytes of each, and `step` converts into its planes, `fill` being what is left of them.
    """

    pixels: StridedView
    step: ConvertStep
    fill: int

    def run(self, source: np.ndarray, target: np.ndarray) -> None:
        (linear,), pixels = (view.over(source) for view in self.step.sources), self.pixels.over(target)
        run_in(self.step, lambda: self._convert(linear, pixels))

    def _convert(self, linear: np.ndarray, pixels: np.ndarray) -> None:
        planes, channels, parameters = len(self.step.targets), linear.shape[-1], dict(self.step.parameters)
        size = 0
        for piece in cut_pieces(linear.shape, whole_axes=1):
            part, whole = linear[piece], pixels[piece]
            made = SCRATCH.array(PADDED, whole.shape, np.uint8)
            if whole.size > size:  # the first piece is the largest
                made.fill(self.fill)
                size = whole.size
            lanes = made.reshape(*made.shape[:-1], planes, -1)[..., :channels]
            self.step.convert([part], [lanes[..., plane, :] for plane in range(planes)], parameters)
            np.copyto(whole, made, casting="no")


def cut_pieces(shape: tuple[int, ...], whole_axes: int = 0) -> Iterator[tuple]:
    """Indices that cut an array into pieces of about PIECE_SCALARS; the last `whole_axes` are never cut."""
    axis, scalars = len(shape), 1
    while axis and (scalars * shape[axis - 1] <= PIECE_SCALARS or axis > len(shape) - whole_axes):
        axis -= 1
        scalars *= shape[axis]
    if not axis:
        yield (...,)
        return
    count = max(1, PIECE_SCALARS // scalars)
    for index in np.ndindex(*shape[: axis - 1]):
        for first in range(0, shape[axis - 1], count):
            yield (*index, slice(first, first + count), ...)
