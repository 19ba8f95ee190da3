"""Planned bands of unpacking: of tiles in which a block lies alike one is read, and the others are strides ahead of it.

Along each axis a block lies in its first tile, its last one, and full ones between: of three kinds at most. So whatever
the number of tiles, at most 81 kinds of them are read, and most blocks have one to four.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from tessbed.firmware_models.geometry import TileAxis
from tessbed.firmware_models.nests.planned_band import DescriptorArray, PlannedBand, Shape
from tessbed.firmware_models.ops.unpack import OutputBlock, UnpackMaker
from tessbed.firmware_models.partition import Range
from tessbed.firmware_models.tile_reader import TileRead

Array = Any


class TileKind(NamedTuple):
    """Tiles along an axis in which a block lies alike: their numbers, from 0 where it begins; its range in the first
    of them; and the extent that they have."""

    numbers: Array
    inside: Range
    extent: int


class _TileReads(NamedTuple):
    """The reads of tiles of one kind along each axis: which these are among all of a block, the read of the first of
    them, how far ahead of it that of each is, and what one tile further along each axis adds."""

    which: Array
    part: TileRead
    ahead: Array
    steps: Sequence[int]


def planned_band(maker: UnpackMaker, block: OutputBlock) -> PlannedBand:
    """The band of a block."""
    axes = [_kinds(axis, inside) for axis, inside in zip(maker.geometry.axes, block.ranges, strict=True)]
    tiles = [sum(len(kind.numbers) for kind in axis) for axis in axes]
    reads = [_read(maker, block, chosen, tiles) for chosen in product(*axes)]
    drain, scratch_bytes = maker.drain(block), sum(len(of.ahead) * of.part.scratch_bytes for of in reads)
    ticks, footprint, counts = maker.measures(block, drain, scratch_bytes)
    array, moves_with = _gathered(prod(tiles), reads)
    drains, oversized = DescriptorArray.of_boxes([drain]), any(of.part.oversized for of in reads)
    steps = _steps([of.steps for of in reads]), _steps([of.part.pixel_steps for of in reads])
    return PlannedBand(array, drains, ticks, footprint, oversized, counts, moves_with, *steps)


def _gathered(tiles: int, reads: Sequence[_TileReads]) -> tuple[DescriptorArray, Array]:
    """The reads of so many tiles of a block, one tile after the other; and the kind of each."""
    sizes = np.zeros(tiles, np.int64)
    for of in reads:
        sizes[of.which] = len(of.part.descriptors)
    starts = np.cumsum(sizes) - sizes
    addresses, kinds, moves_with = np.empty((3, int(sizes.sum())), np.int64)
    known: dict[Shape, int] = {}
    for number, of in enumerate(reads):
        at = starts[of.which][:, None] + np.arange(len(of.part.descriptors))
        addresses[at] = of.ahead[:, None] + [each.address for each in of.part.descriptors]
        kinds[at] = [known.setdefault(each[2:], len(known)) for each in of.part.descriptors]
        moves_with[at] = number
    return DescriptorArray(addresses, kinds, (*known,)), moves_with


def _steps(reads: Sequence[Sequence[int]]) -> tuple[int | tuple[int, ...], ...]:
    """Along each axis, what is added to all reads, or to those of each kind of tiles."""
    return tuple([steps[0] if len({*steps}) == 1 else steps for steps in zip(*reads, strict=True)])


def _read(maker: UnpackMaker, block: OutputBlock, chosen: Sequence[TileKind], tiles: Sequence[int]) -> _TileReads:
    """The reads of tiles that are alike, of a block of so many along each axis."""
    part = maker.reader.read(block.volume, [kind.inside for kind in chosen], 0)
    extents, axes = [kind.extent for kind in chosen], maker.geometry.axes
    steps = [maker.geometry.span_bytes((*extents[:number], axis.tile)) for number, axis in enumerate(axes)]
    which = ahead = np.zeros(1, np.int64)
    for kind, step, count in zip(chosen, steps, tiles, strict=True):
        if count > 1:
            which = (which[:, None] * count + kind.numbers).reshape(-1)
            ahead = (ahead[:, None] + step * (kind.numbers - kind.numbers[0])).reshape(-1)
    return _TileReads(which, part, ahead, steps)


@lru_cache(maxsize=256)
def _kinds(axis: TileAxis, inside: Range) -> list[TileKind]:
    """The tiles along an axis, by where a range begins and ends in each and by its extent."""
    (low, high), extent, tile = inside, axis.extent, axis.tile
    found: dict[tuple[int, int, int], list[int]] = {}
    first, behind = low // tile, -(-high // tile)
    for number in dict.fromkeys((first, first + 1, behind - 1)):
        if number < behind:
            start = number * tile
            place = max(low - start, 0), min(high - start, tile), min(tile, extent - start)
            many = (
                range(number, behind - 1) if number == first + 1 and number < behind - 1 else range(number, number + 1)
            )
            found.setdefault(place, []).extend(many)
    return [
        TileKind(np.asarray(numbers) - first, (numbers[0] * tile + begin, numbers[0] * tile + end), of)
        for (begin, end, of), numbers in found.items()
    ]
