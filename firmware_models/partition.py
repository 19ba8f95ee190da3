"""Partition of the output: which worker writes which bytes, so that no granule is ever written by two workers.

The device writes whole granules: a write that covers part of one reads it first and writes it back whole. Two workers
that share a granule would lose each other's bytes. So the output is cut in address order, and every cut lies on a
granule boundary of the bound address. That is why ownership is computed at entry, on the device: only binding fixes the
phase.

Theorem: admission proves that each stride is at least the span of all axes with smaller strides, so address order is
the lexicographic order of the index sorted by stride, and no scalar straddles a granule. A cut at an element therefore
splits the addresses, and one moved to the first element of a granule splits the granules.

Two proofs share it: strided output cuts element positions (`cut_elements`), physical tiled output cuts bytes
(`cut_bytes`), padding and alignment included. Contiguous output is the strided proof with no gaps.
Source: Tess document, "Execution and ownership"; docs/simulation.md, "Granule ownership".
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod

import attrs

Range = tuple[int, int]


@attrs.frozen
class Level:
    """One nonunit axis of a linear output: extent, stride in bytes, elements of a full tile (1 where unmapped)."""

    extent: int
    stride: int
    tile: int


def cut_bytes(
    total: int, base: int, granule: int, workers: int, starts_near: Callable[[int], Iterable[int]]
) -> list[int]:
    """`workers` + 1 byte offsets; each inner one is granule aligned when the output is at address `base`.

    `starts_near` gives tile starts around an offset, nearest first; one that is aligned and within a sixteenth of a
    share is preferred, so that most workers own whole tiles.
    """
    cuts = [0]
    for worker in range(1, workers):
        target = worker * total // workers
        floor = (base + target) // granule * granule - base
        low, high = max(0, floor), min(total, floor + granule)
        cut = low if target - low <= high - target else high
        for start in starts_near(target):
            if (base + start) % granule == 0 and 16 * workers * abs(start - target) <= total:
                cut = start
                break
        cuts.append(max(cuts[-1], cut))
    return [*cuts, total]


def cut_elements(levels: Sequence[Level], width: int, base: int, granule: int, workers: int) -> list[int]:
    """`workers` + 1 positions in address order; each inner one is the first element of its granule.

    `levels` are sorted by descending stride. A cut moves to a tile row, else to a row, where that is legal and within a
    sixteenth of a share; otherwise to the nearer end of the granule that the even split falls into.
    """
    total = prod(level.extent for level in levels)
    cuts = [0]
    for worker in range(1, workers):
        target = worker * total // workers
        address = base + address_of(levels, target)
        floor = address // granule * granule
        low = position_of(levels, width, floor - base)
        high = position_of(levels, width, floor + granule - base)
        cut = low if target - low <= high - target else high
        for candidate in _row_cuts(levels, target):
            first = (base + address_of(levels, candidate)) // granule * granule - base if candidate < total else 0
            legal = candidate in (0, total) or position_of(levels, width, first) == candidate
            if legal and 16 * workers * abs(candidate - target) <= total:
                cut = candidate
                break
        cuts.append(max(cuts[-1], cut))
    return [*cuts, total]


def _row_cuts(levels: Sequence[Level], target: int) -> Iterator[int]:
    """Positions near `target` where a tile row starts, outermost axis first, then those where any row starts."""
    for whole_tiles in (True, False):
        inner = prod(level.extent for level in levels)
        for level in levels:
            block = inner
            inner //= level.extent
            start = target // block * block
            step = level.tile if whole_tiles else 1
            if step * inner > 1:
                index = min((target - start + step * inner // 2) // (step * inner) * step, level.extent)
                yield start + index * inner


def address_of(levels: Sequence[Level], position: int) -> int:
    """Byte offset of the element at `position` in address order."""
    offset = 0
    for level in reversed(levels):
        position, index = divmod(position, level.extent)
        offset += index * level.stride
    return offset


def position_of(levels: Sequence[Level], width: int, offset: int) -> int:
    """Number of elements that start below byte `offset`."""
    if offset <= 0:
        return 0
    inner = prod(level.extent for level in levels)
    span = sum((level.extent - 1) * level.stride for level in levels) + width
    position = 0
    for level in levels:
        inner //= level.extent
        span -= (level.extent - 1) * level.stride
        index = min(offset // level.stride, level.extent - 1)
        position += index * inner
        offset -= index * level.stride
        if offset >= span:
            return position + inner
    return position + (1 if offset > 0 else 0)


def boxes(extents: Sequence[int], low: int, high: int) -> Iterator[tuple[Range, ...]]:
    """The positions [low, high) of a row-major index space as at most 2r - 1 boxes, in order."""
    if low >= high:
        return
    if not extents:
        yield ()
        return
    inner = prod(extents[1:])
    first, last = low // inner, (high - 1) // inner
    if first == last or (low % inner == 0 and high % inner == 0):
        inside = (low - first * inner, high - first * inner) if first == last else (0, inner)
        for box in boxes(extents[1:], *inside):
            yield ((first, last + 1), *box)
        return
    split = (first + 1) * inner if low % inner else last * inner
    yield from boxes(extents, low, split)
    yield from boxes(extents, split, high)
