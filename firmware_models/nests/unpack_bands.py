"""Planned bands of unpacking: of tiles in which a block lies alike one is read, and the others are strides ahead of it.

Along each axis a block lies in its first tile, its last one, and full ones between: of three kinds at most. So whatever
the number of tiles, at most 81 kinds of them are read, and most blocks have one to four.
"""

from collections.abc import Sequence
from itertools import product
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


def planned_band(maker: UnpackMaker, block: OutputBlock) -> PlannedBand:
    """The band of a block."""
    drain, (reads, scratch_bytes, oversized) = maker.drain(block), _gathered(maker, block)
    ticks, footprint, counts = maker.measures(block, drain, scratch_bytes)
    return PlannedBand(reads, DescriptorArray.of_boxes([drain]), ticks, footprint, oversized, counts)


def _gathered(maker: UnpackMaker, block: OutputBlock) -> tuple[DescriptorArray, int, bool]:
    """The reads of all tiles of a block, one tile after the other; how much scratch they fill; and whether a pitch
    among them is oversized."""
    axes = [_kinds(axis, inside) for axis, inside in zip(maker.geometry.axes, block.ranges, strict=True)]
    reads = [(_grid(chosen), _read(maker, block, chosen)) for chosen in product(*axes)]
    sizes = np.zeros([sum(len(kind.numbers) for kind in axis) for axis in axes], np.int64)
    for grid, (part, _) in reads:
        sizes[grid] = len(part.descriptors)
    starts = np.cumsum(sizes).reshape(sizes.shape) - sizes
    addresses, kinds = np.empty((2, int(sizes.sum())), np.int64)
    known: dict[Shape, int] = {}
    for grid, (part, ahead) in reads:
        at = starts[grid].reshape(-1, 1) + np.arange(len(part.descriptors))
        addresses[at] = ahead[:, None] + [each.address for each in part.descriptors]
        kinds[at] = [known.setdefault(each[2:], len(known)) for each in part.descriptors]
    scratch_bytes = sum(len(ahead) * part.scratch_bytes for _, (part, ahead) in reads)
    return DescriptorArray(addresses, kinds, (*known,)), scratch_bytes, any(part.oversized for _, (part, _) in reads)


def _grid(chosen: Sequence[TileKind]) -> tuple[Array, ...]:
    """Where tiles of these kinds along each axis are among all of a block."""
    return np.ix_(*[kind.numbers for kind in chosen])


def _read(maker: UnpackMaker, block: OutputBlock, chosen: Sequence[TileKind]) -> tuple[TileRead, Array]:
    """The read of the first of some tiles that are alike, and how far ahead of it that of each is."""
    part = maker.reader.read(block.volume, [kind.inside for kind in chosen], 0)
    extents, ahead = [kind.extent for kind in chosen], np.zeros(1, np.int64)
    for number, (kind, axis) in enumerate(zip(chosen, maker.geometry.axes, strict=True)):
        step = maker.geometry.span_bytes((*extents[:number], axis.tile)) if len(kind.numbers) > 1 else 0
        ahead = (ahead[:, None] + step * (kind.numbers - kind.numbers[0])).reshape(-1)
    return part, ahead


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
