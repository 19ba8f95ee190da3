"""Ownership: the boxes of an output that a worker owns, none of which shares a write granule with another worker's.

The output is cut at granules of its bound address, as that of the operations is (`partition`). A worker's part is then
cut into boxes that fit a band. A box ends at a granule where whole rows can: bands that share none need not wait for
each other. Where not even a row fits, it is cut at a granule itself.
"""

from collections.abc import Iterator, Sequence
from math import gcd, prod

from tessbed.firmware_models.band import even_parts
from tessbed.firmware_models.partition import Level, boxes, cut_elements

Box = tuple[slice, ...]


def cuts_of(shape: Sequence[int], width: int, base: int, granule: int, workers: int) -> list[int]:
    """`workers` + 1 positions in row-major order: worker w owns those from cut w to cut w + 1."""
    levels, stride = [], width
    for extent in reversed(shape):
        if extent > 1:
            levels.append(Level(extent, stride, 1))
        stride *= extent
    return cut_elements(levels[::-1], width, base, granule, workers)


def own_boxes(
    shape: Sequence[int], width: int, base: int, granule: int, part: tuple[int, int], most: int
) -> Iterator[Box]:
    """The positions of a part as boxes of at most `most` scalars, in order. `base` is the address of the first."""
    low, high = part
    while low < high:
        end = _end(shape, width, base, granule, low, high, most)
        for box in boxes(shape, low, end):
            yield tuple([slice(start, stop) for start, stop in box])
        low = end


def _end(shape: Sequence[int], width: int, base: int, granule: int, low: int, high: int, most: int) -> int:
    """Where the band from `low` on ends."""
    if high - low <= most:
        return high
    block = prod(shape)
    for extent in shape[:-1]:
        around, block = block, block // extent
        if low % block == 0 and block <= most:
            rows = (min(high, low - low % around + around) - low) // block
            return low + block * _rows(block * width, base + low * width, granule, rows, most // block)
        if block <= most and low % block + most >= block:
            return low - low % block + block
    return _at_granule(width, base, granule, low, low + even_parts(high - low, most))


def _rows(row_bytes: int, address: int, granule: int, rows: int, most: int) -> int:
    """How many of `rows` rows, `most` at the most: nearly equal parts, each ending at a granule where it can."""
    if rows <= 1:
        return 1
    wanted = even_parts(rows, most)
    period = granule // gcd(row_bytes, granule)
    if period > 1:
        fitting = next((n for n in range(1, period + 1) if (address + n * row_bytes) % granule == 0), None)
        if fitting is not None and fitting <= most:
            return min(rows, fitting + max(0, wanted - fitting) // period * period)
    return min(rows, wanted)


def _at_granule(width: int, base: int, granule: int, low: int, end: int) -> int:
    """The position at or before `end` where a granule begins, if that leaves anything."""
    at = ((base + end * width) // granule * granule - base) // width
    return at if at > low and (base + at * width) % granule == 0 else end
