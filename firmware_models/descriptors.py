"""DMA descriptors: turn a box of scalars in memory into DMA descriptors, each field within 16 bits.

A box is a few (extent, stride) axes around a contiguous run. Axes that continue the run are folded into it, one axis
becomes the rows of 2-D descriptors, and the rest are stepped through. Scratch holds the box densely, in the order in
which memory holds it. A pitch that no field can hold is never narrowed: those rows travel one by one, as independent
1-D reads, at most four in a wait group. Source: Tess document, "Execution and ownership".
"""

from collections.abc import Iterator, Sequence
from math import prod

import attrs

from tessbed.sim.transfer.descriptor import Descriptor

OVERSIZED_GROUP = 4


@attrs.frozen
class BoxDescriptors:
    """The descriptors of one box, as loops around a few of them; and how its dense copy lies in scratch.

    `loops` are (extent, stride in memory, stride in scratch), the fastest last, `pieces` the descriptors of their first
    turn, counted from `address` and `scratch`. `oversized` says whether a pitch among them is too long for a field.
    """

    address: int
    scratch: int
    loops: tuple[tuple[int, int, int], ...]
    pieces: tuple[Descriptor, ...]
    scratch_strides: tuple[int, ...]
    scratch_bytes: int
    oversized: bool

    def __len__(self) -> int:
        return prod(extent for extent, _, _ in self.loops) * len(self.pieces)

    @property
    def descriptors(self) -> list[Descriptor]:
        """All of them, listed anew."""
        origins = [(self.address, self.scratch)]
        for extent, stride, dense in self.loops:
            turns = [(turn * stride, turn * dense) for turn in range(extent)]
            origins = [(address + ahead, scratch + behind) for address, scratch in origins for ahead, behind in turns]
        return [
            Descriptor(address + ahead, scratch + behind, *shape)
            for address, scratch in origins
            for ahead, behind, *shape in self.pieces
        ]


def dense_byte_strides(extents: Sequence[int], strides: Sequence[int], run_bytes: int) -> tuple[tuple[int, ...], int]:
    """Strides (and total bytes) of a gapless copy that keeps memory's own order of axes."""
    return _dense(extents, _nonunit(extents, strides), run_bytes)


def _dense(extents: Sequence[int], axes: Sequence[int], run_bytes: int) -> tuple[tuple[int, ...], int]:
    dense = [0] * len(extents)
    for axis in axes:
        dense[axis] = run_bytes
        run_bytes *= extents[axis]
    return tuple(dense), run_bytes


def _nonunit(extents: Sequence[int], strides: Sequence[int]) -> list[int]:
    axes = [axis for axis, extent in enumerate(extents) if extent > 1]
    if len(axes) > 1:
        axes.sort(key=lambda axis: (strides[axis], axis))
    return axes


def build_descriptors(
    address: int, scratch: int, extents: Sequence[int], strides: Sequence[int], run_bytes: int, limit: int
) -> BoxDescriptors:
    """Covers the box at `address` (a dense copy of it is at `scratch`); `limit` is the largest field value."""
    axes = _nonunit(extents, strides)
    dense, total = _dense(extents, axes, run_bytes)
    while axes and strides[axes[0]] == run_bytes:
        run_bytes *= extents[axes.pop(0)]
    oversized = any(strides[axis] > limit for axis in axes)
    rows = _rows_axis(axes, extents, strides, dense, limit) if run_bytes <= limit else None
    loops = tuple([(extents[axis], strides[axis], dense[axis]) for axis in reversed(axes) if axis != rows])
    if rows is None:
        pieces = tuple(_run(run_bytes, limit))
    else:
        pieces = tuple(_rows(run_bytes, extents[rows], strides[rows], dense[rows], limit))
    return BoxDescriptors(address, scratch, loops, pieces, dense, total, oversized)


def _rows_axis(
    axes: Sequence[int], extents: Sequence[int], strides: Sequence[int], dense: Sequence[int], limit: int
) -> int | None:
    """The axis that becomes the rows: the longest whose pitches fit, so that the fewest descriptors are needed."""
    fitting = [axis for axis in axes if strides[axis] <= limit and dense[axis] <= limit]
    return max(fitting, key=lambda axis: min(extents[axis], limit), default=None)


def _run(run_bytes: int, limit: int) -> Iterator[Descriptor]:
    """A run in as few pieces as fit a field."""
    for start in range(0, run_bytes, limit):
        yield Descriptor(start, start, 1, min(limit, run_bytes - start), 0, 0)


def _rows(run_bytes: int, count: int, pitch: int, scratch_pitch: int, limit: int) -> Iterator[Descriptor]:
    """Runs as the rows of as few descriptors as fit a field."""
    for first in range(0, count, limit):
        rows = min(limit, count - first)
        yield Descriptor(first * pitch, first * scratch_pitch, rows, run_bytes, pitch, scratch_pitch)
