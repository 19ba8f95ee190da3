"""Packing (Tess) on the device: each worker owns a range of the physical output, padding and alignment included.

A worker walks the tiles of its range in storage order. Of each tile it packs whole pixels, and drains exactly the bytes
it owns: where a cut falls inside a pixel, both neighbours pack that pixel and each stores its own part of it. A pixel
that does not fit the scratch is packed in pieces of its channels.
Source: Tess document, "Execution and ownership", "Shared exact C2 Pad16 publication".
"""

from collections.abc import Iterable, Iterator, Sequence

import attrs

from tessbed.firmware_models.band import BAND_BYTES, Band, Budget, DrainFootprint, WorkItem, even_parts
from tessbed.firmware_models.descriptors import BoxDescriptors, build_descriptors
from tessbed.firmware_models.geometry import BLOCK, PacketGeometry, Tile, TileRun
from tessbed.firmware_models.partition import Range, boxes, cut_bytes
from tessbed.firmware_models.vector_cost import box_ticks, values_ticks
from tessbed.firmware_models.vector_ops import VectorFill, VectorMove
from tessbed.firmware_models.worker_loop import WorkItems
from tessbed.sim.spec.device_spec import DeviceSpec

TILES_TRIED = 8
"""Among so many equal tiles one starts on a granule, if any does: spans are multiples of 16, granules to 128."""


@attrs.frozen
class Piece:
    """Packed bytes in a slot and the tile bytes that they are: `tile_byte` onwards, `size` bytes, at `slot_byte`."""

    tile_byte: int
    size: int
    slot_byte: int


@attrs.frozen
class BandDraft:
    """A band whose reads and drain are boxes: whoever plans it lists no descriptor of them."""

    gathered: Sequence[BoxDescriptors]
    steps: Sequence[VectorMove | VectorFill]
    ticks: int
    drained: Sequence[BoxDescriptors]
    footprint: DrainFootprint
    counts: dict[str, int]

    @property
    def oversized(self) -> bool:
        """Whether a pitch among its reads is."""
        return any(box.oversized for box in self.gathered)

    def band(self) -> Band:
        """The band, to be run."""
        reads, chain = [
            [descriptor for box in boxes for descriptor in box.descriptors] for boxes in (self.gathered, self.drained)
        ]
        return Band(reads, self.steps, self.ticks, chain, self.footprint, self.oversized, self.counts)


def pack_work_items(geometry: PacketGeometry, spec: DeviceSpec, workers: int) -> WorkItems:
    """The tiles of each worker of a launch; ownership is fixed here, once, from the bound address."""
    cuts = pack_cuts(geometry, spec, workers)
    return lambda worker: _tile_items(geometry, spec, cuts[worker], cuts[worker + 1])


def pack_cuts(geometry: PacketGeometry, spec: DeviceSpec, workers: int) -> list[int]:
    """The output bytes of each worker: from one cut to the next."""
    granule = spec.write_unit_bytes
    return cut_bytes(
        geometry.output_bytes, geometry.output_address, granule, workers, lambda offset: _starts_near(geometry, offset)
    )


def _starts_near(geometry: PacketGeometry, offset: int) -> Iterable[int]:
    """Starts of the tiles around `offset`, nearest first."""
    number = geometry.tile_number(offset)
    around = range(max(0, number - TILES_TRIED), min(geometry.tiles, number + TILES_TRIED + 2))
    starts = [geometry.tile(tile).tiled_offset for tile in around]
    return sorted(starts, key=lambda start: (abs(start - offset), start))


def _tile_items(geometry: PacketGeometry, spec: DeviceSpec, low: int, high: int) -> Iterator[WorkItem]:
    """The tiles that hold output bytes [low, high)."""
    if low == high:
        return
    maker = PackMaker(geometry, spec)
    for run in geometry.runs_from(geometry.tile_number(low)):
        if run.tile.tiled_offset >= high:
            return
        yield from maker.items(run, low, high)


def pixel_band_end(first: int, last: int, most: int, width: int) -> int:
    """Where the band ends that begins with pixel `first` of a part up to `last`: at most `most` pixels, at the end of a
    row of `width` where rows fit."""
    end = min(first + even_parts(last - first, most), last)
    row_end = -(-end // width) * width
    if row_end - first > most:
        row_end = end // width * width
    return min(row_end, last) if row_end > first else end


@attrs.define(init=False)
class PackMaker:
    """Makes bands one after the other; the band's number decides its slot."""

    geometry: PacketGeometry
    spec: DeviceSpec
    budget: Budget
    made: int

    def __init__(self, geometry: PacketGeometry, spec: DeviceSpec) -> None:
        self.geometry, self.spec, self.made = geometry, spec, 0
        channels = geometry.axes[0].tile
        self.budget = Budget.of(spec, channels * geometry.linear_scalar_bytes, geometry.pixel_bytes(channels))

    def item(self, tile: Tile, low: int, high: int) -> WorkItem:
        """The work item of a tile of which the output bytes [low, high) are owned."""
        geometry, start = self.geometry, tile.tiled_offset
        first, last, span = low - start, high - start, geometry.span_bytes(tile.extents)
        owned = (first if first > 0 else 0, last if last < span else span)
        source, target = geometry.input_address + tile.linear_offset, geometry.output_address + start
        return WorkItem((tile.extents, owned), source, target, self._tile_bands, (tile, *owned))

    def items(self, run: TileRun, low: int, high: int) -> Iterator[WorkItem]:
        """The work items of a run of tiles of which the output bytes [low, high) are owned: all whole ones are one."""
        while run.times and run.tile.tiled_offset < high:
            tile, item = run.tile, self.item(run.tile, low, high)
            span = self.geometry.span_bytes(tile.extents)
            times = 1
            if low <= tile.tiled_offset and tile.tiled_offset + span <= high:
                times = min(run.times, 1 + (high - tile.tiled_offset - span) // run.tiled_step)
            yield item._replace(times=times, input_step=run.linear_step, output_step=run.tiled_step)
            run = run.behind(times)

    def pixels(self, tile: Tile, owned: Range) -> Range:
        """The pixels that hold owned bytes; none where these are of the tail alone."""
        size = self.geometry.pixel_bytes(tile.extents[0])
        return min(owned[0] // size, tile.pixels), min(-(-owned[1] // size), tile.pixels)

    def most_pixels(self, tile: Tile) -> int:
        """The most pixels of a band; 0 where one does not fit the scratch."""
        channels, geometry = tile.extents[0], self.geometry
        size, gathered = geometry.pixel_bytes(channels), channels * geometry.linear_scalar_bytes
        most = min(self.budget.gather_bytes // gathered, (self.budget.slot_bytes - BLOCK) // size)
        return most and max(1, min(most, BAND_BYTES // max(size, gathered)))

    def _tile_bands(self, item: WorkItem, number: int) -> Iterator[Band]:
        """The bands of a work item's part: a tile, and the bytes of it that are owned."""
        self.made = number
        tile, *owned = item.part
        return map(BandDraft.band, self._made(tile, tuple(owned)))

    def _made(self, tile: Tile, owned: Range) -> Iterator[BandDraft]:
        first, last = self.pixels(tile, owned)
        most = self.most_pixels(tile)
        if first == last:
            yield self.owned_tail(tile, owned)
        elif most == 0:
            for pixel in range(first, last):
                yield from self._wide_pixel(tile, owned, pixel)
        else:
            yield from self._pixel_bands(tile, owned, (first, last), most)

    def _pixel_bands(self, tile: Tile, owned: Range, pixels: Range, most: int) -> Iterator[BandDraft]:
        """Cuts a range of pixels into bands of at most `most`, at row ends where rows fit."""
        first, last = pixels
        while first < last:
            end = pixel_band_end(first, last, most, tile.extents[3])
            yield self.pixel_band(tile, owned, first, end)
            first = end

    def pixel_band(self, tile: Tile, owned: Range, first: int, last: int) -> BandDraft:
        """The band of whole pixels [first, last) of `tile`."""
        geometry, slot = self.geometry, self.budget.slot(self.made)
        channels, depth, height, width = tile.extents
        size, stored = geometry.pixel_bytes(channels), geometry.stored(channels)
        steps: list[VectorMove | VectorFill] = self._fills(
            slot, last - first, channels, stored, whole_blocks=self._c2(channels)
        )
        covers, ticks, scratch, scattered = [], 0, 0, 0
        for (d0, d1), (h0, h1), (w0, w1) in boxes((depth, height, width), first, last):
            extents = (channels, d1 - d0, h1 - h0, w1 - w0)
            read = self._read(tile, (0, d0, h0, w0), extents, scratch)
            target = slot + ((d0 * height + h0) * width + w0 - first) * size
            steps.append(
                self._move(extents, scratch, read, target, (1, height * width * size, width * size, size), stored)
            )
            cost, scalars = box_ticks(geometry, self.spec, extents, extents[1] * extents[2] * extents[3] * size)
            if self._c2(channels):
                cost = self._c2_ticks(extents)
            covers.append(read)
            scratch, ticks, scattered = scratch + read.scratch_bytes, ticks + cost, scattered + scalars
        end = last * size if last < tile.pixels else geometry.tile_bytes(tile.extents)
        if end > last * size:
            steps.append(VectorFill((end - last * size,), slot + (last - first) * size, (1,), 0))
        counts = {"scattered_scalars": scattered, **self._counts(last - first, channels)}
        return self._band(tile, owned, covers, steps, [Piece(first * size, end - first * size, 0)], ticks, counts)

    def _read(self, tile: Tile, at: Sequence[int], extents: Sequence[int], scratch: int) -> BoxDescriptors:
        """Gathers the (c, d, h, w) box at `at` of the tile from the linear input."""
        geometry = self.geometry
        strides = [axis.stride for axis in geometry.axes]
        offset = tile.linear_offset + sum(i * s for i, s in zip(at, strides, strict=True))
        return build_descriptors(
            geometry.input_address + offset,
            scratch,
            extents,
            strides,
            geometry.linear_scalar_bytes,
            self.spec.dma.field_limit,
        )

    def _move(
        self,
        extents: tuple[int, ...],
        scratch: int,
        read: BoxDescriptors,
        target: int,
        strides: tuple[int, ...],
        plane: int,
    ) -> VectorMove:
        geometry = self.geometry
        sources = tuple(range(geometry.linear_scalar_bytes))
        targets = tuple(lane * plane for lane in range(geometry.scalar_bytes))
        made = (geometry.conversion, geometry.parameters)
        return VectorMove(extents, scratch, read.scratch_strides, target, strides, sources, targets, *made)

    def _c2(self, channels: int) -> bool:
        """True for packed two-channel INT8 pixels that become whole padded blocks."""
        geometry = self.geometry
        c_axis, _, _, w_axis = geometry.axes
        width = geometry.linear_scalar_bytes
        padded = geometry.tiled_dtype == "int8" and geometry.tile_format == "pad16"
        return padded and channels == 2 and c_axis.stride == width and w_axis.stride in (0, 2 * width)

    def _c2_ticks(self, extents: tuple[int, ...]) -> int:
        """Eight pixels to an input vector of bytes; the incomplete rest of a row moves scalar by scalar.

        One publisher for every operation that makes such bytes; what makes values of them first, pays for that.
        """
        compute = self.spec.compute
        values = values_ticks(self.geometry, self.spec, extents[0], extents[0] * extents[3])
        full, rest = divmod(extents[3], 8)
        row = full * compute.vector_ticks.c2pad16 + rest * 2 * compute.scalar_ticks
        return extents[1] * extents[2] * (compute.run_ticks + values + row)

    def _fills(
        self, slot: int, pixels: int, channels: int, stored: int, *, whole_blocks: bool = False
    ) -> list[VectorMove | VectorFill]:
        """What is stored before the `channels` valid of `stored` channels in each plane of so many pixels.

        BF16: the last block of each plane is cleared with one 16-byte store, valid channels then overwrite its prefix;
        where a plane has no complete block, its padded channels alone, in their exact width.
        INT8: the padded channels alone, or `whole_blocks` on the two-channel path.
        """
        geometry = self.geometry
        if stored == channels:
            return []
        size = stored * geometry.scalar_bytes
        start = 0 if whole_blocks else channels
        if _cleared(geometry, channels, stored):
            start = stored - BLOCK
        shape, strides = (pixels, geometry.scalar_bytes, stored - start), (size, stored, 1)
        return [VectorFill(shape, slot + start, strides, geometry.fill)]

    def _counts(self, pixels: int, channels: int) -> dict[str, int]:
        cleared = _cleared(self.geometry, channels, self.geometry.stored(channels))
        return {
            "plane_clears": 2 * pixels if cleared else 0,
            "c2_pad16_pixels": pixels if self._c2(channels) else 0,
        }

    def _wide_pixel(self, tile: Tile, owned: Range, pixel: int) -> Iterator[BandDraft]:
        """The bands of one pixel whose channels do not fit the scratch at once; the last pixel brings the tail."""
        step = self.channel_step()
        for first in range(0, self.geometry.stored(tile.extents[0]), step):
            yield from self.channel_bands(tile, owned, pixel, first)
        yield from self.pixel_tail(tile, owned, pixel)

    def channel_step(self) -> int:
        """Stored channels of a band of a pixel whose channels do not fit the scratch at once."""
        most = min(self.budget.slot_bytes, BAND_BYTES) // self.geometry.scalar_bytes
        room = min(self.budget.gather_bytes // self.geometry.linear_scalar_bytes, most)
        return room // BLOCK * BLOCK or room

    def channel_bands(self, tile: Tile, owned: Range, pixel: int, first: int) -> Iterator[BandDraft]:
        """The band of a pixel's stored channels from `first` on, if any of its bytes are owned."""
        geometry = self.geometry
        size, stored = geometry.pixel_bytes(tile.extents[0]), geometry.stored(tile.extents[0])
        end = min(first + self.channel_step(), stored)
        pieces = [
            Piece(pixel * size + plane * stored + first, end - first, plane * (end - first))
            for plane in range(geometry.scalar_bytes)
        ]
        if any(self._clip(piece, owned) for piece in pieces):
            yield self._channel_band(tile, owned, pixel, (first, end), pieces)

    def pixel_tail(self, tile: Tile, owned: Range, pixel: int) -> Iterator[BandDraft]:
        """The band of the tile's alignment bytes, which follow its last pixel, if any of them are owned."""
        end = (pixel + 1) * self.geometry.pixel_bytes(tile.extents[0])
        tail = Piece(end, self.geometry.tile_bytes(tile.extents) - end, 0)
        if pixel + 1 == tile.pixels and self._clip(tail, owned):
            yield self._tail_band(tile, owned, tail)

    def owned_tail(self, tile: Tile, owned: Range) -> BandDraft:
        """The band of a part that begins behind the last pixel."""
        end = tile.pixels * self.geometry.pixel_bytes(tile.extents[0])
        return self._tail_band(tile, owned, Piece(end, owned[1] - end, 0))

    def _channel_band(self, tile: Tile, owned: Range, pixel: int, stored: Range, pieces: list[Piece]) -> BandDraft:
        """The band of the stored channels `stored` of one pixel, padding included."""
        geometry, slot = self.geometry, self.budget.slot(self.made)
        channels, _, height, width = tile.extents
        first, end = stored
        valid = max(0, min(end, channels) - first)
        row, column = divmod(pixel, width)
        steps = self._fills(slot, 1, valid, end - first)
        reads, ticks, scattered = [], 0, 0
        if valid:
            extents = (valid, 1, 1, 1)
            reads.append(self._read(tile, (first, *divmod(row, height), column), extents, 0))
            steps.append(self._move(extents, 0, reads[0], slot, (1, 0, 0, 0), end - first))
            ticks, scattered = box_ticks(geometry, self.spec, extents, geometry.scalar_bytes * (end - first))
        clears = 2 if _cleared(geometry, valid, end - first) else 0
        counts = {"scattered_scalars": scattered, "channel_bands": 1, "plane_clears": clears}
        return self._band(tile, owned, reads, steps, pieces, ticks, counts)

    def _tail_band(self, tile: Tile, owned: Range, tail: Piece) -> BandDraft:
        """The band of a tile's alignment bytes, which are zero."""
        slot = self.budget.slot(self.made)
        return self._band(tile, owned, [], [VectorFill((tail.size,), slot, (1,), 0)], [tail], 0, {})

    def _clip(self, piece: Piece, owned: Range) -> Piece | None:
        """The owned part of a piece, if any."""
        low, high = max(piece.tile_byte, owned[0]), min(piece.tile_byte + piece.size, owned[1])
        return Piece(low, high - low, piece.slot_byte + low - piece.tile_byte) if low < high else None

    def _band(
        self,
        tile: Tile,
        owned: Range,
        covers: Sequence[BoxDescriptors],
        steps: list[VectorMove | VectorFill],
        pieces: Sequence[Piece],
        ticks: int,
        counts: dict[str, int],
    ) -> BandDraft:
        """Closes a band: clips what it drains to the owned bytes and adds the fixed costs."""
        self.budget.check(
            sum(read.scratch_bytes for read in covers), max(piece.slot_byte + piece.size for piece in pieces)
        )
        geometry, slot = self.geometry, self.budget.slot(self.made)
        base = geometry.output_address + tile.tiled_offset
        clipped = [part for part in (self._clip(piece, owned) for piece in pieces) if part]
        drained = [self._drained(base + part.tile_byte, slot + part.slot_byte, part.size) for part in clipped]
        low, high = clipped[0].tile_byte, clipped[-1].tile_byte + clipped[-1].size
        fragments = sum(part.size % geometry.pixel_bytes(tile.extents[0]) != 0 for part in clipped)
        compute = self.spec.compute
        ticks += compute.band_ticks + counts.get("plane_clears", 0) * compute.clear_ticks
        self.made += 1
        footprint = DrainFootprint(base + low, base + high, 0, high - low)
        return BandDraft(covers, steps, ticks, drained, footprint, {**counts, "fragments": fragments})

    def _drained(self, address: int, scratch: int, size: int) -> BoxDescriptors:
        """What stores a part of a slot: one stretch of bytes."""
        return build_descriptors(address, scratch, (), (), size, self.spec.dma.field_limit)


def _cleared(geometry: PacketGeometry, channels: int, stored: int) -> bool:
    """Whether the last block of each plane is cleared: BF16 with padding, and a complete block to hold it."""
    return geometry.tiled_dtype == "bf16" and channels < stored and stored >= BLOCK
