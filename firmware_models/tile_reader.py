"""Tile reader: gathers a box of scalars from one tile and locates its byte lanes in scratch.

Pixel-major tiles are read pixel by pixel, padding included, since that is one long run; only a small part of wide
pixels is read plane by plane. Channel-block tiles are read in whole blocks of 16 channels: low bytes, then high bytes.
"""

from collections.abc import Iterator, Sequence
from math import prod

import attrs

from tessbed.firmware_models.descriptors import build_descriptors
from tessbed.firmware_models.geometry import BLOCK, PacketGeometry, Tile
from tessbed.firmware_models.partition import Range
from tessbed.firmware_models.vector_ops import VectorMove
from tessbed.sim.transfer.descriptor import Descriptor

C, D, H, W = range(4)


@attrs.frozen
class Lanes:
    """A (c, d, h, w) box of gathered scalars: where byte lane i of its first scalar is, and the strides in scratch.

    `blocked` boxes step a block of 16 channels at a time: their strides are (block, d, h, w) and `skip` is the lane of
    the first channel in its block.
    """

    extents: tuple[int, ...]
    starts: tuple[int, ...]
    strides: tuple[int, ...]
    blocked: bool = False
    skip: int = 0


@attrs.frozen
class TileRead:
    """What was gathered for one box of one tile. A pixel further along D, H, W is read so many `pixel_steps` ahead."""

    descriptors: list[Descriptor]
    lanes: Lanes
    scratch_bytes: int
    oversized: bool
    pixel_steps: tuple[int, int, int]

    def moves(self, geometry: PacketGeometry, target: int, strides: Sequence[int]) -> Iterator[VectorMove]:
        """Moves into the slot at `target`, with (c, d, h, w) strides."""
        lanes = self.lanes
        if not lanes.blocked:
            yield self._move(geometry, lanes.extents, lanes.starts, lanes.strides, target, tuple(strides))
            return
        channels, pixels = lanes.extents[0], lanes.extents[1:]
        for first, blocks, size in _block_parts(lanes.skip, channels):
            block, lane = divmod(lanes.skip + first, BLOCK)
            starts = tuple(start + block * lanes.strides[0] + lane for start in lanes.starts)
            yield self._move(
                geometry,
                (blocks, *pixels, size),
                starts,
                (*lanes.strides, 1),
                target + first * strides[0],
                (BLOCK * strides[0], *strides[1:], strides[0]),
            )

    @staticmethod
    def _move(
        geometry: PacketGeometry,
        shape: tuple[int, ...],
        starts: tuple[int, ...],
        source_strides: tuple[int, ...],
        target: int,
        target_strides: tuple[int, ...],
    ) -> VectorMove:
        lanes = tuple(range(geometry.linear_scalar_bytes))
        made = (geometry.conversion, geometry.parameters)
        return VectorMove(shape, 0, source_strides, target, target_strides, starts, lanes, *made)


def _block_parts(skip: int, channels: int) -> Iterator[tuple[int, int, int]]:
    """(first channel, blocks, channels of each) of the partial first block, the whole blocks, the partial last one."""
    first = 0
    if skip or channels < BLOCK:
        first = min(BLOCK - skip, channels)
        yield 0, 1, first
    whole = (channels - first) // BLOCK
    if whole:
        yield first, whole, BLOCK
        first += whole * BLOCK
    if first < channels:
        yield first, 1, channels - first


@attrs.frozen
class TileReader:
    """Gathers from the tiled input. `limit` is the largest descriptor field, `access_bytes` one memory access,
    `room_bytes` the gather area: pixels that are too wide for it are read plane by plane, too.
    """

    geometry: PacketGeometry
    limit: int
    access_bytes: int
    room_bytes: int

    def read(self, volume: int, ranges: Sequence[Range], scratch: int) -> TileRead:
        """Gathers the box of (c, d, h, w) `ranges`, which lies in one tile, to `scratch`."""
        axes = self.geometry.axes
        tile = self.geometry.tile_at(
            volume, tuple(low // axis.tile for (low, _), axis in zip(ranges, axes, strict=True))
        )
        first = tuple(low - start for (low, _), start in zip(ranges, tile.first, strict=True))
        extents = tuple(high - low for low, high in ranges)
        if self.geometry.tile_format == "cblocked":
            return self._read_blocks(tile, first, extents, scratch)
        if self._by_plane(tile, extents):
            return self._read_planes(tile, first, extents, scratch)
        return self._read_pixels(tile, first, extents, scratch)

    def _by_plane(self, tile: Tile, extents: tuple[int, ...]) -> bool:
        """True where the wanted channels are the lesser part of a wide pixel, or whole pixels are too much."""
        channels, stored = extents[C], self.geometry.stored(tile.extents[C])
        if prod(extents[D:]) * self.geometry.pixel_bytes(tile.extents[C]) > self.room_bytes:
            return True
        return channels < tile.extents[C] and channels >= self.access_bytes // 4 and 2 * channels <= stored

    def _read_pixels(self, tile: Tile, first: tuple[int, ...], extents: tuple[int, ...], scratch: int) -> TileRead:
        geometry = self.geometry
        size, stored = geometry.pixel_bytes(tile.extents[C]), geometry.stored(tile.extents[C])
        strides = _pixel_strides(tile, size)
        address = geometry.input_address + tile.tiled_offset + _dot(first[1:], strides)
        read = build_descriptors(address, scratch, extents[1:], strides, size, self.limit)
        starts = tuple(scratch + first[C] + plane * stored for plane in range(geometry.scalar_bytes))
        lanes = Lanes(extents, starts, (1, *read.scratch_strides))
        return TileRead(read.descriptors, lanes, read.scratch_bytes, read.oversized, strides)

    def _read_planes(self, tile: Tile, first: tuple[int, ...], extents: tuple[int, ...], scratch: int) -> TileRead:
        geometry = self.geometry
        size, stored = geometry.pixel_bytes(tile.extents[C]), geometry.stored(tile.extents[C])
        strides = _pixel_strides(tile, size)
        address = geometry.input_address + tile.tiled_offset + _dot(first[1:], strides) + first[C]
        reads = []
        position = scratch
        for plane in range(geometry.scalar_bytes):
            reads.append(
                build_descriptors(address + plane * stored, position, extents[1:], strides, extents[C], self.limit)
            )
            position += reads[-1].scratch_bytes
        starts = tuple(scratch + plane * reads[0].scratch_bytes for plane in range(len(reads)))
        lanes = Lanes(extents, starts, (1, *reads[0].scratch_strides))
        descriptors = [descriptor for read in reads for descriptor in read.descriptors]
        return TileRead(descriptors, lanes, position - scratch, reads[0].oversized, strides)

    def _read_blocks(self, tile: Tile, first: tuple[int, ...], extents: tuple[int, ...], scratch: int) -> TileRead:
        pixels = tile.extents[D] * tile.extents[H] * tile.extents[W]
        planes = self.geometry.scalar_bytes
        size = planes * BLOCK
        steps = _pixel_strides(tile, size)
        strides = (size * pixels, *steps)
        block, skip = divmod(first[C], BLOCK)
        blocks = -(-(skip + extents[C]) // BLOCK)
        address = self.geometry.input_address + tile.tiled_offset + _dot((block, *first[1:]), strides)
        read = build_descriptors(address, scratch, (blocks, *extents[1:]), strides, size, self.limit)
        starts = tuple(scratch + plane * BLOCK for plane in range(planes))
        lanes = Lanes(extents, starts, read.scratch_strides, blocked=True, skip=skip)
        return TileRead(read.descriptors, lanes, read.scratch_bytes, read.oversized, steps)


def _pixel_strides(tile: Tile, size: int) -> tuple[int, int, int]:
    """Bytes between neighbouring pixels of a tile along D, H, W."""
    _, _, height, width = tile.extents
    return height * width * size, width * size, size


def _dot(index: Sequence[int], strides: Sequence[int]) -> int:
    return sum(i * s for i, s in zip(index, strides, strict=True))
