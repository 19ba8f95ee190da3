"""DMA descriptors: turn a box of scalars in memory into DMA descriptors, each field within 16 bits.

A box is a few (extent, stride) axes around a contiguous run. Axes that continue the run are folded into it, one axis
becomes the rows of 2-D descriptors, and the rest are stepped through. Scratch holds the box densely, in the order in
which memory holds it. A pitch that no field can hold is never narrowed: those rows travel one by one, as independent
1-D reads, at most four in a wait group. Source: Tess document, "Execution and ownership".
"""

from collections.abc import Iterator, Sequence
from itertools import product

import attrs

from tessbed.sim.transfer.descriptor import Descriptor

OVERSIZED_GROUP = 4


@attrs.frozen
class DescriptorBuilder:
    """The descriptors of one box, the scratch stride of each of its axes, and whether a pitch was oversized."""

    descriptors: list[Descriptor]
    scratch_strides: tuple[int, ...]
    scratch_bytes: int
    oversized: bool


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
) -> DescriptorBuilder:
    """Covers the box at `address` (a dense copy of it is at `scratch`); `limit` is the largest field value."""
    axes = _nonunit(extents, strides)
    dense, total = _dense(extents, axes, run_bytes)
    while axes and strides[axes[0]] == run_bytes:
        run_bytes *= extents[axes.pop(0)]
    if not axes:
        return DescriptorBuilder(list(_run(address, scratch, run_bytes, limit)), dense, total, False)
    oversized = any(strides[axis] > limit for axis in axes)
    rows = _rows_axis(axes, extents, strides, dense, limit) if run_bytes <= limit else None
    loops = [(extents[axis], strides[axis], dense[axis]) for axis in reversed(axes) if axis != rows]
    origins = (
        (
            address + sum(i * s for i, (_, s, _) in zip(at, loops, strict=True)),
            scratch + sum(i * p for i, (_, _, p) in zip(at, loops, strict=True)),
        )
        for at in product(*(range(n) for n, _, _ in loops))
    )
    if rows is None:
        descriptors = [piece for origin in origins for piece in _run(*origin, run_bytes, limit)]
    else:
        shape = (extents[rows], strides[rows], dense[rows])
        descriptors = [piece for origin in origins for piece in _rows(*origin, run_bytes, *shape, limit)]
    return DescriptorBuilder(descriptors, dense, total, oversized)


def _rows_axis(
    axes: Sequence[int], extents: Sequence[int], strides: Sequence[int], dense: Sequence[int], limit: int
) -> int | None:
    """The axis that becomes the rows: the longest whose pitches fit, so that the fewest descriptors are needed."""
    fitting = [axis for axis in axes if strides[axis] <= limit and dense[axis] <= limit]
    return max(fitting, key=lambda axis: min(extents[axis], limit), default=None)


def _run(address: int, scratch: int, run_bytes: int, limit: int) -> Iterator[Descriptor]:
    for start in range(0, run_bytes, limit):
        size = min(limit, run_bytes - start)
        yield Descriptor(address + start, scratch + start, 1, size, 0, 0)


def _rows(
    address: int, scratch: int, run_bytes: int, count: int, pitch: int, scratch_pitch: int, limit: int
) -> Iterator[Descriptor]:
    for first in range(0, count, limit):
        rows = min(limit, count - first)
        yield Descriptor(
            address + first * pitch, scratch + first * scratch_pitch, rows, run_bytes, pitch, scratch_pitch
        )
