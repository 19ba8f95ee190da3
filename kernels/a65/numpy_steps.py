"""Steps of the numpy rows: fills and copies between strided views of a port's storage, and what all steps share.

A copy between equal types touches nothing of the CPU's floating-point environment. Casts and arithmetic, integers'
included, obey and clear parts of it (`numpy_pieces` has those).
"""

import threading
from collections.abc import Iterator
from functools import lru_cache
from math import gcd, prod
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
APART_BYTES, FEW_LINES_BYTES = 16, 128
"""What lies between rows that are a multiple of two lines of the caches long, so that they begin in different ones."""
CACHE_BYTES, CACHE_WAYS, CACHE_LINES = 1 << 12, 8, 512
"""A usual first cache: lines whose addresses differ by a multiple of its bytes share as many places as it has ways."""
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
        self._bound: dict[tuple[object, tuple[int, ...]], Any] = {}

    def array(self, part: int, shape: tuple[int, ...], dtype: np.dtype, first: int = 0) -> np.ndarray:
        """An array of a part, `first` bytes behind its start; all bytes of a part are zero until they are written."""
        size = prod(shape) * dtype.itemsize + SPARE_BYTES
        kept = self._parts.get(part)
        if kept is None or kept.size < size:
            self._bound.clear()  # they are views of the smaller one
            kept = self._parts[part] = np.zeros(max(size, LEAST_BYTES), np.uint8)
        return np.ndarray(shape, dtype, kept, first)  # pyright: ignore[reportArgumentType]

    def array_like(self, part: int, other: np.ndarray, dtype: np.dtype, first: int = 0) -> np.ndarray:
        """An array of a part, `first` bytes behind its start, its elements in the order of another one in scratch."""
        strides = [stride // other.itemsize * dtype.itemsize for stride in other.strides]
        elements = 1 + sum((extent - 1) * stride for extent, stride in zip(other.shape, strides, strict=True))
        kept = self.array(part, (elements,), dtype).base
        return np.ndarray(other.shape, dtype, kept, first, strides)  # pyright: ignore[reportArgumentType]

    def bound(self, step: "PieceStep", shape: tuple[int, ...]) -> Any:
        """What `step.bind(shape)` gave this thread."""
        found = self._bound.get((step, shape))
        if found is None:
            if len(self._bound) >= MOST_BOUND:
                self._bound.clear()
            found = step.bind(shape)
            self._bound[step, shape] = found
        return found


SCRATCH = Scratch()


class Room(NamedTuple):
    """The shape of arrays in scratch. Rows over the axes behind the first `outer` ones do not lie a power of two apart.

    Else a transposition, which takes an element of each row in turn, would find them in the same few lines of the
    first cache. Without `outer`, all is contiguous. The first axis is stored behind the `place` axes that follow it.
    """

    shape: tuple[int, ...]
    outer: int = 0
    place: int = 0

    def array(self, part: int, dtype: np.dtype) -> np.ndarray:
        """An array of a part of the scratch, at its start."""
        if not self.place:
            return self._stored(self.shape, part, dtype)
        first, *others = self.shape
        shape = (*others[: self.place], first, *others[self.place :])
        return np.moveaxis(self._stored(shape, part, dtype), self.place, 0)

    def contiguous(self) -> "Room":
        """The same without space between rows."""
        return Room(self.shape, 0, self.place)

    def _stored(self, shape: tuple[int, ...], part: int, dtype: np.dtype) -> np.ndarray:
        rows, inner = shape[: self.outer], shape[self.outer :]
        row = prod(inner) * dtype.itemsize
        if not rows or row % FEW_LINES_BYTES:
            return SCRATCH.array(part, shape, dtype)
        apart = SCRATCH.array(part, rows, items(row + APART_BYTES))
        strides = (*apart.strides, *np.ndarray(inner, dtype, apart.base).strides)  # pyright: ignore[reportArgumentType]
        return np.ndarray(shape, dtype, apart.base, 0, strides)  # pyright: ignore[reportArgumentType]


class PieceStep(Protocol):
    """A step that works in scratch; compared by identity."""

    def bind(self, shape: tuple[int, ...]) -> Any:
        """What it needs of scratch for pieces of a shape."""
        ...


class Step(Protocol):
    """One strided operation; `run` performs it on the storage of the input and of the output."""

    @property
    def calculates(self) -> bool:
        """Whether it needs the default floating-point environment."""
        ...

    @property
    def written(self) -> tuple[StridedView, ...]:
        """What it writes, no byte of it twice; not the `fill` of each piece, over which it does so."""
        ...

    @property
    def fill(self) -> "FillStep | None":
        """What each piece is filled with before it is written: all that the step does not write is padding."""
        ...

    def run(self, source: np.ndarray, target: np.ndarray) -> None: ...


class FillStep(NamedTuple):
    """Sets every item of `target` to the bytes of `value`."""

    target: StridedView
    value: np.ndarray
    calculates = False
    fill = None

    @property
    def written(self) -> tuple[StridedView, ...]:
        return (self.target,)

    def run(self, source: np.ndarray, target: np.ndarray) -> None:
        self.target.over(target)[...] = self.value


class Copy(NamedTuple):
    """Copies `source` into `target`, item by item; both have the same type."""

    target: StridedView
    source: StridedView
    calculates = False
    fill = None

    @property
    def written(self) -> tuple[StridedView, ...]:
        return (self.target,)

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

    @property
    def written(self) -> tuple[StridedView, ...]:
        return tuple([copy.target for copy in self.copies])

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


def lines_held(step: int) -> int:
    """Lines of the first cache that can hold what lies `step` bytes apart."""
    return min(CACHE_LINES, CACHE_WAYS * (CACHE_BYTES // gcd(step, CACHE_BYTES)))


@lru_cache(maxsize=256)
def items(size_bytes: int) -> np.dtype:
    """Runs of so many contiguous bytes as one element: numpy copies those of 1, 2, 4, 8 and 16 bytes as registers."""
    return np.dtype(("V", size_bytes))


def cut_pieces(shape: tuple[int, ...], most: int = PIECE_SCALARS, whole_axes: int = 0) -> Iterator[tuple]:
    """Slices that cut an array into pieces of at most `most` elements; the last `whole_axes` are never cut."""
    axis, scalars = len(shape), 1
    while axis and (scalars * shape[axis - 1] <= most or axis > len(shape) - whole_axes):
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
