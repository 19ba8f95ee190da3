"""Unpacking (Detess, DetessCast) on the device: each worker owns a stretch of the linear output in address order.

The output's nonunit axes, sorted by descending stride, make address order lexicographic. A worker's stretch is a few
boxes of that index space; each box is cut along tile edges into blocks, each block into bands that fit the scratch.
Axes with short runs are taken whole, across tiles, so that a drain writes long runs instead of slivers.
All operations that unpack run this body: only their conversions and the lanes of the output scalar differ.
Source: Detess document, "Numerical behavior"; DetessCast document, "Compiler channel-block input".
"""

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import NamedTuple

import attrs

from tessbed.firmware_models.band import BAND_BYTES, Band, Budget, DrainFootprint, WorkItem, even_parts
from tessbed.firmware_models.descriptors import BoxDescriptors, build_descriptors
from tessbed.firmware_models.geometry import BLOCK, PacketGeometry
from tessbed.firmware_models.ops.joined_moves import join_moves
from tessbed.firmware_models.partition import Level, Range, boxes, cut_elements
from tessbed.firmware_models.tile_reader import TileReader
from tessbed.firmware_models.vector_cost import box_ticks
from tessbed.firmware_models.vector_ops import VectorFill, VectorMove
from tessbed.firmware_models.worker_loop import WorkItems
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.transfer.descriptor import Descriptor

RUN_BYTES = 512
"""Runs shorter than this are lengthened by taking an axis whole."""

C, D, H, W = range(4)


@attrs.frozen
class Dimension:
    """A nonunit output axis: `mapped` is C, D, H or W, or None for outer axis number `outer`."""

    level: Level
    mapped: int | None = None
    outer: int = 0


class Cut(NamedTuple):
    """A range of one axis, C, D, H or W or None for an outer one: its linear offset, and the slices before it.

    `tile` and `extent` are those of the tile in which it begins. Where `alike` is equal, it lies in its tiles alike.
    Where its tiles are `uneven`, their distance depends on where they are along the other axes.
    """

    mapped: int | None
    inside: Range
    linear: int
    volume: int
    tile: int = 0
    extent: int = 1
    alike: tuple[int, ...] = ()
    uneven: bool = False


@attrs.frozen
class OutputBlock:
    """A box of scalars in one outer slice: a range along each of C, D, H, W."""

    volume: int
    ranges: tuple[Range, ...]

    @property
    def extents(self) -> tuple[int, ...]:
        """Elements along C, D, H, W."""
        return tuple(high - low for low, high in self.ranges)

    def sliced(self, axis: int, low: int, high: int) -> "OutputBlock":
        """The block with another range along an axis."""
        return OutputBlock(self.volume, (*self.ranges[:axis], (low, high), *self.ranges[axis + 1 :]))


class BandMeasures(NamedTuple):
    """Of a band: its ticks of compute, the footprint of its drain, and what the worker loop counts for it."""

    ticks: int
    footprint: DrainFootprint
    counts: dict[str, int]


def unpack_work_items(geometry: PacketGeometry, spec: DeviceSpec, workers: int) -> WorkItems:
    """The blocks of each worker of a launch; ownership is fixed here, once, from the bound address."""
    dimensions = output_dimensions(geometry)
    cuts = unpack_cuts(geometry, spec, dimensions, workers)
    return lambda worker: UnpackMaker(geometry, spec, dimensions).items(cuts[worker], cuts[worker + 1])


def unpack_cuts(geometry: PacketGeometry, spec: DeviceSpec, dimensions: Sequence[Dimension], workers: int) -> list[int]:
    """The output positions of each worker: from one cut to the next."""
    levels = [dimension.level for dimension in dimensions]
    width, base = geometry.linear_scalar_bytes, geometry.output_address
    return cut_elements(levels, width, base, spec.write_unit_bytes, workers)


def output_dimensions(geometry: PacketGeometry) -> list[Dimension]:
    """The nonunit output axes in descending order of stride."""
    dimensions = [
        Dimension(Level(extent, stride, 1), outer=number)
        for number, (extent, stride) in enumerate(geometry.outer)
        if extent > 1
    ]
    dimensions += [
        Dimension(Level(axis.extent, axis.stride, axis.tile), mapped=number)
        for number, axis in enumerate(geometry.axes)
        if axis.extent > 1
    ]
    return sorted(dimensions, key=lambda dimension: -dimension.level.stride)


def axes_taken_whole(geometry: PacketGeometry, dimensions: Sequence[Dimension]) -> frozenset[int]:
    """The mapped axes that a band takes across tiles, because runs cut at tile edges would be short."""
    whole = []
    run = total = geometry.linear_scalar_bytes
    for dimension in reversed(dimensions):
        level = dimension.level
        if level.stride != total or dimension.mapped is None:
            break
        total *= level.extent
        if level.tile < level.extent:
            if run * level.tile >= RUN_BYTES or total > BAND_BYTES:
                break
            whole.append(dimension.mapped)
        run *= level.extent
    return frozenset(whole)


@attrs.define(init=False)
class UnpackMaker:
    """Makes one worker's bands one after the other; the band's number decides its slot."""

    geometry: PacketGeometry
    spec: DeviceSpec
    dimensions: Sequence[Dimension]
    whole: frozenset[int]
    budget: Budget
    reader: TileReader
    made: int

    def __init__(self, geometry: PacketGeometry, spec: DeviceSpec, dimensions: Sequence[Dimension]) -> None:
        self.geometry, self.spec, self.dimensions, self.made = geometry, spec, dimensions, 0
        self.whole = axes_taken_whole(geometry, dimensions)
        c_axis = geometry.axes[C]
        channels = c_axis.extent if C in self.whole else c_axis.tile
        full, rest = divmod(channels, c_axis.tile)
        gathered = full * geometry.pixel_bytes(c_axis.tile) + geometry.pixel_bytes(rest)
        self.budget = Budget.of(spec, gathered, channels * geometry.linear_scalar_bytes)
        self.reader = TileReader(geometry, spec.dma.field_limit, spec.memory.access_bytes, self.budget.gather_bytes)

    def items(self, low: int, high: int) -> Iterator[WorkItem]:
        """The blocks that produce the output positions [low, high), in address order."""
        for box in boxes([dimension.level.extent for dimension in self.dimensions], low, high):
            for chosen in product(*map(self._cuts, self.dimensions, box)):
                yield self.item(chosen)

    def _bands(self, item: WorkItem, number: int) -> Iterator[Band]:
        """The bands of a work item's part: a block, and how it lies in its tiles."""
        self.made = number
        return map(self.band, self._fitting(item.part[0]))

    def _cuts(self, dimension: Dimension, inside: Range) -> list[Cut]:
        """A range of an axis cut at tile edges, or whole where the axis is taken whole."""
        if dimension.mapped is None:
            ranges = [(index, index + 1) for index in range(*inside)]
        else:
            ranges = [inside] if dimension.mapped in self.whole else self.segments(dimension.mapped, inside)
        return [self.cut(dimension, low, high) for low, high in ranges]

    def cut(self, dimension: Dimension, low: int, high: int) -> Cut:
        """A range of an axis."""
        stride = dimension.level.stride
        if dimension.mapped is None:
            inner = prod(extent for extent, _ in self.geometry.outer[dimension.outer + 1 :])
            return Cut(None, (low, high), low * stride, low * inner)
        axis = self.geometry.axes[dimension.mapped]
        start, end = axis.segment(low // axis.tile)
        last_start, last_end = axis.segment((high - 1) // axis.tile)
        alike, uneven = (low - start, high - low, last_end - last_start), last_end - last_start != end - start
        return Cut(dimension.mapped, (low, high), low * stride, 0, low // axis.tile, end - start, alike, uneven)

    def item(self, chosen: Sequence[Cut]) -> WorkItem:
        """The block of one cut along each output axis."""
        geometry = self.geometry
        ranges, tiles, extents = [(0, 1)] * 4, [0] * 4, [1] * 4
        linear = volume = 0
        for cut in chosen:
            linear += cut.linear
            volume += cut.volume
            if cut.mapped is not None:
                ranges[cut.mapped], tiles[cut.mapped], extents[cut.mapped] = cut.inside, cut.tile, cut.extent
        uneven = min((cut.mapped for cut in chosen if cut.uneven and cut.mapped is not None), default=W)
        where = tuple(tiles[uneven + 1 :])  # an axis that is stored inside an uneven one moves its tiles apart
        alike = tuple([cut.alike for cut in chosen])
        source = geometry.input_address + geometry.tiled_offset(volume, tiles, extents)
        target = geometry.output_address + linear
        return WorkItem((where, alike), source, target, self._bands, (OutputBlock(volume, tuple(ranges)), alike))

    def segments(self, mapped: int, inside: Range) -> list[Range]:
        """The tiles along a mapped axis, clipped to `inside`."""
        axis = self.geometry.axes[mapped]
        (begin, end), tile = inside, axis.tile
        cuts = [(low, low + tile) for low in range(begin // tile * tile, end, tile)]
        cuts[0] = begin, cuts[0][1]
        cuts[-1] = cuts[-1][0], end
        return cuts

    def _fitting(self, block: OutputBlock) -> Iterator[OutputBlock]:
        """The block cut into pieces that fit the scratch: along pixels, or along channels if one pixel is too much."""
        most = self.most_pixels(block)
        for piece in self._cut_pixels(block, max(1, most)):
            yield from [piece] if most else self._cut_channels(piece)

    def most_pixels(self, block: OutputBlock) -> int:
        """The most pixels of a band of the block; 0 where one does not fit the scratch."""
        geometry = self.geometry
        gathered = self._gathered_bytes(block.ranges[C])
        packed = block.extents[C] * geometry.linear_scalar_bytes
        most = min(self.budget.gather_bytes // gathered, self.budget.slot_bytes // packed)
        return most and max(1, min(most, BAND_BYTES // max(gathered, packed)))

    def _gathered_bytes(self, channels: Range) -> int:
        """Bytes of one pixel of all the tiles that hold some channels: of full tiles, and of the cut one."""
        geometry, axis = self.geometry, self.geometry.axes[C]
        first, last = channels[0] // axis.tile, (channels[1] - 1) // axis.tile
        begin, end = axis.segment(last)
        return (last - first) * geometry.pixel_bytes(axis.tile) + geometry.pixel_bytes(end - begin)

    def _cut_pixels(self, block: OutputBlock, most: int) -> Iterator[OutputBlock]:
        """Cuts along D, H, W, the largest stride first, into pieces of at most `most` pixels."""
        cut = self.pixel_cut(block, most)
        if cut is None:
            yield block
            return
        axis, step = cut
        low, high = block.ranges[axis]
        for start in range(low, high, step):
            yield from self._cut_pixels(block.sliced(axis, start, min(start + step, high)), most)

    def pixel_cut(self, block: OutputBlock, most: int) -> tuple[int, int] | None:
        """The axis that is cut next so that pieces have at most `most` pixels, and into what; None if none is."""
        extents, inner = block.extents, prod(block.extents[D:])
        for axis in sorted((D, H, W), key=lambda axis: -self.geometry.axes[axis].stride):
            inner //= extents[axis]
            if extents[axis] * inner > most and extents[axis] > 1:
                return axis, even_parts(extents[axis], max(1, most // inner))
        return None

    def _cut_channels(self, pixel: OutputBlock) -> Iterator[OutputBlock]:
        """Cuts one pixel's channels at tile edges, then into pieces that fit."""
        geometry, room = self.geometry, self.most_channels
        for low, high in self.segments(C, pixel.ranges[C]):
            start = geometry.axes[C].segment(low // geometry.axes[C].tile)[0]
            while low < high:
                block = start + (low - start) // BLOCK * BLOCK  # channel blocks are gathered whole
                end = low + room if room < BLOCK else block + room // BLOCK * BLOCK
                yield pixel.sliced(C, low, min(end, high))
                low = min(end, high)

    @property
    def most_channels(self) -> int:
        """Channels of a band of a pixel whose channels do not fit the scratch at once."""
        geometry = self.geometry
        return min(
            self.budget.gather_bytes // geometry.scalar_bytes,
            self.budget.slot_bytes // geometry.linear_scalar_bytes,
            BAND_BYTES // geometry.linear_scalar_bytes,
        )

    def band(self, block: OutputBlock) -> Band:
        """The band of a block, to be run."""
        drain = self.drain(block)
        reads: list[Descriptor] = []
        steps: list[VectorMove | VectorFill] = []
        scratch, oversized, slot = 0, False, self.budget.slot(self.made)
        for ranges in product(*(self.segments(axis, inside) for axis, inside in enumerate(block.ranges))):
            part = self.reader.read(block.volume, ranges, scratch)
            at = slot + sum(
                (low - first) * stride
                for (low, _), (first, _), stride in zip(ranges, block.ranges, drain.scratch_strides, strict=True)
            )
            reads += part.descriptors
            steps += part.moves(self.geometry, at, drain.scratch_strides)
            scratch, oversized = scratch + part.scratch_bytes, oversized or part.oversized
        ticks, footprint, counts = self.measures(block, drain, scratch)
        return Band(reads, join_moves(steps), ticks, drain.descriptors, footprint, oversized, counts)

    def drain(self, block: OutputBlock) -> BoxDescriptors:
        """What stores a block from its slot."""
        geometry, slot = self.geometry, self.budget.slot(self.made)
        strides = [axis.stride for axis in geometry.axes]
        return build_descriptors(
            self._address(block), slot, block.extents, strides, geometry.linear_scalar_bytes, self.reader.limit
        )

    def _address(self, block: OutputBlock) -> int:
        """Where its first scalar is in the output."""
        offset = self.geometry.volume_offset(block.volume) + sum(
            low * axis.stride for (low, _), axis in zip(block.ranges, self.geometry.axes, strict=True)
        )
        return self.geometry.output_address + offset

    def measures(self, block: OutputBlock, drain: BoxDescriptors, scratch_bytes: int) -> BandMeasures:
        """What is the same of a band to be run and of one to be planned alone; it is the next one that is made.

        Raises HazardError where what it gathers does not fit its area.
        """
        width = self.geometry.linear_scalar_bytes
        self.budget.check(scratch_bytes, drain.scratch_bytes)
        ticks, scattered = box_ticks(self.geometry, self.spec, block.extents, prod(block.extents) * width)
        self.made += 1
        strides = [axis.stride for axis in self.geometry.axes]
        footprint = DrainFootprint.of(self._address(block), block.extents, strides, width)
        counts = {"scattered_scalars": scattered, "single_row_writes": len(drain) * drain.oversized}
        return BandMeasures(ticks + self.spec.compute.band_ticks, footprint, counts)
