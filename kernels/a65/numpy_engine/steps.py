"""Steps of the numpy rows: fills and copies between strided views of a port's storage, and what all steps share.

A copy between equal types touches nothing of the CPU's floating-point environment. Casts and arithmetic, integers'
included, obey and clear parts of it (`values` has those).
"""

import threading
from collections.abc import Iterator
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple, Protocol

import numpy as np

BYTE = np.dtype("u1")
PIECE_SCALARS = 1 << 18
"""What becomes of so many scalars stays in the caches; of fewer, Python's part in each piece would show."""
PIECE_PIXELS = 1 << 16
"""The same of pixels that are copied in several steps, or filled before that."""
SPARE_BYTES = 8
"""Behind the scratch of a piece: a word may be looked at from its second byte on."""
LEAST_BYTES = PIECE_SCALARS * 4 + SPARE_BYTES
"""Of a part of the scratch; the system gives no page of it before it is used."""
MOST_BOUND = 64
"""Steps and shapes whose views a thread keeps."""


class StridedView(NamedTuple):
    """A strided view to be laid over a port's storage."""

    dtype: np.dtype
    shape: tuple[int, ...]
    offset: int
    strides: tuple[int, ...]

    def over(self, storage: object) -> np.ndarray:
        """The view of `storage`; numpy refuses one that leaves it."""
        return np.ndarray(self.shape, self.dtype, storage, self.offset, self.strides)  # pyright: ignore[reportArgumentType, reportCallIssue]

    def later(self, by: int) -> "StridedView":
        """The same view so many bytes later."""
        return StridedView(self.dtype, self.shape, self.offset + by, self.strides)


class Scratch(threading.local):
    """Storage for what a piece is turned into on its way, kept by each thread: fresh pages cost more than the work.

    Views of it are kept as well, for a step and a shape: to make them takes longer than to convert a small piece.
    """

    def __init__(self) -> None:
        self._parts: dict[int, np.ndarray] = {}
        self._bound: dict[tuple[object, tuple], Any] = {}

    def array(self, part: int, shape: tuple[int, ...], dtype: np.dtype, first: int = 0) -> np.ndarray:
        """An array of a part, `first` bytes behind its start; all bytes of a part are zero until they are written."""
        size = prod(shape) * dtype.itemsize + SPARE_BYTES
        kept = self._parts.get(part)
        if kept is None or kept.size < size:
            self._bound.clear()  # they are views of the smaller one
            kept = self._parts[part] = np.zeros(max(size, LEAST_BYTES), np.uint8)
        return np.ndarray(shape, dtype, kept, first)  # pyright: ignore[reportArgumentType]

    def bound(self, step: "BoxStep", shape: tuple) -> Any:
        """What `step.bind(shape)` gave this thread."""
        found = self._bound.get((step, shape))
        if found is None:
            if len(self._bound) >= MOST_BOUND:
                self._bound.clear()
            found = step.bind(shape)
            self._bound[step, shape] = found
        return found


SCRATCH = Scratch()


class BoxStep(Protocol):
    """A step that works in scratch; compared by identity."""

    def bind(self, shape: Any, /) -> Any:
        """What it needs of scratch for boxes of a shape."""
        ...


class Step(Protocol):
    """One strided operation; `run` performs it on the storage of the input and of the output."""

    @property
    def calculates(self) -> bool:
        """Whether it needs the default floating-point environment."""
        ...

    def run(self, source: np.ndarray, target: np.ndarray) -> None: ...


class FillStep(NamedTuple):
    """Sets every item of `target` to the bytes of `value`."""

    target: StridedView
    value: np.ndarray
    calculates = False

    def run(self, source: np.ndarray, target: np.ndarray) -> None:
        self.target.over(target)[...] = self.value


class Copy(NamedTuple):
    """Copies `source` into `target`, item by item; both have the same type."""

    target: StridedView
    source: StridedView
    calculates = False

    def run(self, source: np.ndarray, target: np.ndarray) -> None:
        self.target.over(target)[...] = self.source.over(source)


class PieceCopies(NamedTuple):
    """Copies over the same loops, piece by piece: a later one then finds in the caches what the first one touched.

    Each piece is filled first, if there is a `fill`; what no copy writes keeps its value.
    """

    copies: tuple[Copy, ...]
    loops: tuple[int, ...]
    fill: FillStep | None = None
    calculates = False

    def run(self, source: np.ndarray, target: np.ndarray) -> None:
        if prod(self.loops) <= PIECE_PIXELS:
            for step in (self.fill, *self.copies) if self.fill else self.copies:
                step.run(source, target)
            return
        filled = self.fill.target.over(target) if self.fill else target
        views = [(copy.target.over(target), copy.source.over(source)) for copy in self.copies]
        for cut in cut_pieces(self.loops, PIECE_PIXELS):
            if self.fill:
                filled[cut] = self.fill.value
            for goal, part in views:
                goal[cut] = part[cut]


@lru_cache(maxsize=256)
def items(size_bytes: int) -> np.dtype:
    """Runs of so many contiguous bytes as one element: numpy copies those of 1, 2, 4, 8 and 16 bytes as registers."""
    return np.dtype(("V", size_bytes))


def cut_pieces(shape: tuple[int, ...], most: int) -> Iterator[tuple]:
    """Slices that cut an array into pieces of at most `most` elements."""
    axis, scalars = len(shape), 1
    while axis and scalars * shape[axis - 1] <= most:
        axis -= 1
        scalars *= shape[axis]
    if not axis:
        yield (...,)
        return
    extent = shape[axis - 1]
    pieces = -(-extent * scalars // most)
    count = max(1, min(most // scalars, -(-extent // pieces)))
    for outer in range(prod(shape[: axis - 1])):
        where: tuple = ()
        for size in reversed(shape[: axis - 1]):
            outer, at = divmod(outer, size)
            where = (slice(at, at + 1), *where)
        for first in range(0, extent, count):
            yield (*where, slice(first, first + count), ...)
