"""Nests of packing: the tiles of a worker, and in each the bands of its pixels, or of the channels of wide ones."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from math import prod

import attrs
import numpy as np

from tessbed.firmware_models.band import WorkItem
from tessbed.firmware_models.geometry import PacketGeometry, Tile, TileAxis
from tessbed.firmware_models.nests.grid import AxisRange, ItemNests
from tessbed.firmware_models.nests.nest import Leaf, Node, looped
from tessbed.firmware_models.nests.planned_band import DescriptorArray, PlannedBand
from tessbed.firmware_models.ops.pack import BandDraft, PackMaker, pack_cuts, pixel_band_end
from tessbed.firmware_models.partition import Range, boxes
from tessbed.sim.spec.device_spec import DeviceSpec


def pack_nests(geometry: PacketGeometry, spec: DeviceSpec, workers: int) -> Callable[[int], list[Node]]:
    """The bands of each worker of a launch."""
    cuts = pack_cuts(geometry, spec, workers)
    maker = PackMaker(geometry, spec)
    nests = ItemNests(lambda item: tile_nodes(maker, item), lambda item: item.key)
    return lambda worker: list(_worker_nodes(maker, nests, cuts[worker], cuts[worker + 1]))


def _worker_nodes(maker: PackMaker, nests: ItemNests, low: int, high: int) -> Iterator[Node]:
    """The tiles that hold output bytes [low, high): the first and the last may be owned in part."""
    if low == high:
        return
    geometry = maker.geometry
    first, last = geometry.tile_number(low), geometry.tile_number(high - 1)
    yield from nests.of(maker.item(geometry.tile(first), low, high))
    yield from _whole_tiles(geometry, nests, maker, first + 1, last)
    if last > first:
        yield from nests.of(maker.item(geometry.tile(last), low, high))


def _whole_tiles(geometry: PacketGeometry, nests: ItemNests, maker: PackMaker, low: int, high: int) -> Iterator[Node]:
    """The tiles from number `low` to before `high`, in storage order."""
    outer = [extent for extent, _ in geometry.outer]

    def item_at(index: tuple[int, ...]) -> WorkItem:
        volume = 0
        for extent, position in zip(outer, index, strict=False):
            volume = volume * extent + position
        return maker.item(geometry.tile_at(volume, index[len(outer) :]), 0, geometry.output_bytes)

    for box in boxes([*outer, *geometry.grid], low, high):
        axes = [[AxisRange(first, end - first)] for first, end in box[: len(outer)]]
        axes += [_stretches(axis, *inside) for axis, inside in zip(geometry.axes, box[len(outer) :], strict=True)]
        yield from nests.grid(axes, item_at)


def _stretches(axis: TileAxis, low: int, high: int) -> list[AxisRange]:
    """The tiles [low, high) along an axis: the full ones, and the last one where it is cut."""
    full = min(high, axis.extent // axis.tile)
    return [AxisRange(first, end - first) for first, end in ((low, full), (max(low, full), high)) if first < end]


def tile_nodes(maker: PackMaker, item: WorkItem) -> list[Node]:
    """The bands of a tile, or of the part of it that is owned."""
    tile, *part = item.part
    owned = (part[0], part[1])
    pixels, most = maker.pixels(tile, owned), maker.most_pixels(tile)
    if pixels[0] == pixels[1]:
        return [_leaf(maker.owned_tail(tile, owned))]
    cut = _PixelNest(maker, tile, owned, pixels, most) if most else _WideNest(maker, tile, owned, pixels)
    return cut.nodes()


def _leaf(draft: BandDraft) -> Leaf:
    reads, chain = DescriptorArray.of_boxes(draft.gathered), DescriptorArray.of_boxes(draft.drained)
    together = np.zeros(len(reads), np.int64)
    return Leaf(PlannedBand(reads, chain, draft.ticks, draft.footprint, draft.oversized, draft.counts, together))


@attrs.frozen
class _Bands:
    """`count` bands of `size` pixels each, from `first` on; where `alike` is equal they lie in their rows alike."""

    first: int
    size: int
    count: int
    alike: tuple[int, ...]


@attrs.frozen
class _PixelNest:
    """The bands of whole pixels. The first and the last may be owned in part, and the last brings the tile's end.

    A band takes an even part of the pixels that are left, then ends at a row's end where it can. While more than the
    square of `most` are left, an even part is `most` itself, so that no band depends on how many are left: rows, and
    bands in a row, are alike and need not be counted one by one. What remains are `most` bands or few more.
    """

    maker: PackMaker
    tile: Tile
    owned: Range
    pixels: Range
    most: int

    def nodes(self) -> list[Node]:
        """All bands."""
        return [node for part in self._parts(self.pixels[0]) for node in part]

    def _parts(self, at: int) -> Iterator[list[Node]]:
        run: _Bands | None = None
        while at < self.pixels[1]:
            rows = self._rows(at)
            if rows:
                yield from [self._band_nodes(run)] if run else []
                run = None
                yield self._row_nodes(at, rows)
                at += rows * self._width
                continue
            following = self._next(at)
            if run and run.alike == following.alike and run.alike:
                run = attrs.evolve(run, count=run.count + following.count)
            else:
                yield from [self._band_nodes(run)] if run else []
                run = following
            at = run.first + run.count * run.size
        if run:
            yield self._band_nodes(run)

    @property
    def _width(self) -> int:
        return self.tile.extents[3]

    @property
    def _slab(self) -> int:
        return self.tile.extents[2] * self._width

    def _rows(self, at: int) -> int:
        """Rows longer than a band that are cut alike, in the same slab."""
        left = self.pixels[1] - at - self.most**2
        if self._width <= self.most or at == self.pixels[0] or at % self._width:
            return 0
        rows = min(left, self._slab - at % self._slab) // self._width
        return rows if rows > 1 else 0

    def _row_nodes(self, at: int, rows: int) -> list[Node]:
        """Rows from `at` on: bands of `most` pixels, and the rest of the row."""

        def row(number: int) -> list[Node]:
            first, (count, rest) = at + number * self._width, divmod(self._width, self.most)
            cut = [_Bands(first, self.most, count, ()), _Bands(first + count * self.most, rest, 1, ())]
            return [node for bands in cut if bands.size for node in self._band_nodes(bands)]

        return looped(rows, row)

    def _next(self, at: int) -> _Bands:
        """The next bands that are known to be alike: one at least."""
        size = pixel_band_end(at, self.pixels[1], self.most, self._width) - at
        if at == self.pixels[0] or at + size == self.pixels[1]:
            return _Bands(at, size, 1, ())
        alike, room = self._place(at, size)
        known = min(self.pixels[1] - at - self.most**2, room) // size
        return _Bands(at, size, max(1, known), alike)

    def _place(self, at: int, size: int) -> tuple[tuple[int, ...], int]:
        """Where bands are alike that follow each other: in slabs, in the rows of one, in a row; and its pixels left."""
        width, slab = self._width, self._slab
        for length, within in ((slab, self.pixels[1]), (width, slab), (1, width)):
            if size % length == 0 and at // within == (at + size - 1) // within:
                return (size, length, at // within, at % length), within - at % within
        return (), 0

    def _band_nodes(self, bands: _Bands) -> list[Node]:
        def band(number: int) -> list[Node]:
            first = bands.first + number * bands.size
            return [_leaf(self.maker.pixel_band(self.tile, self.owned, first, first + bands.size))]

        return looped(bands.count, band)


@attrs.frozen
class _WideNest:
    """The bands of pixels whose channels do not fit the scratch at once: of each pixel, pieces of its channels."""

    maker: PackMaker
    tile: Tile
    owned: Range
    pixels: Range

    def nodes(self) -> list[Node]:
        """The first and the last pixel may be owned in part; between them, all are alike."""
        first, last = self.pixels
        nodes = self._pixel(first)
        _, depth, height, width = self.tile.extents
        for box in boxes((depth, height, width), first + 1, max(first + 1, last - 1)):
            nodes += self._box(box, 0)
        return nodes + (self._pixel(last - 1) if last - 1 > first else [])

    def _box(self, box: Sequence[Range], pixel: int) -> list[Node]:
        """The pixels of a box, whose first axes are in `pixel` already."""
        if not box:
            return self._pixel(pixel)
        (low, high), *rest = box
        inner = prod(self.tile.extents[4 - len(rest) :])
        return looped(high - low, lambda index: self._box(rest, pixel + (low + index) * inner))

    def _pixel(self, pixel: int) -> list[Node]:
        step, stored = self.maker.channel_step(), self.maker.geometry.stored(self.tile.extents[0])
        nodes: list[Node] = []
        for low, high in pairwise(self._piece_cuts(pixel, -(-stored // step))):
            nodes += looped(high - low, lambda number, low=low: self._piece(pixel, (low + number) * step))
        return nodes + [_leaf(draft) for draft in self.maker.pixel_tail(self.tile, self.owned, pixel)]

    def _piece(self, pixel: int, first: int) -> list[Node]:
        return [_leaf(draft) for draft in self.maker.channel_bands(self.tile, self.owned, pixel, first)]

    def _piece_cuts(self, pixel: int, pieces: int) -> list[int]:
        """Numbers of pieces between which all are alike: the last one, those in which the channels end or ownership
        begins or ends, are by themselves."""
        geometry, step = self.maker.geometry, self.maker.channel_step()
        size, stored = geometry.pixel_bytes(self.tile.extents[0]), geometry.stored(self.tile.extents[0])
        planes = [pixel * size + plane * stored for plane in range(geometry.scalar_bytes)]
        alone = {pieces - 1, self.tile.extents[0] // step}
        alone |= {(end - plane) // step for end in self.owned for plane in planes}
        cuts = {0, pieces, *alone, *(number + 1 for number in alone)}
        return sorted(cut for cut in cuts if 0 <= cut <= pieces)
