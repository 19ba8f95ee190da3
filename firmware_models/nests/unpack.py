"""Nests of unpacking: the blocks of a worker, and in each the bands of its pixels, or of the channels of wide ones."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from math import gcd

from tessbed.firmware_models.band import WorkItem
from tessbed.firmware_models.geometry import BLOCK, PacketGeometry, TileAxis
from tessbed.firmware_models.nests.grid import AxisRange, ItemNests, MoveTo
from tessbed.firmware_models.nests.nest import Leaf, Move, Node, loop_of, looped, moved
from tessbed.firmware_models.nests.unpack_bands import planned_band
from tessbed.firmware_models.ops.unpack import (
    C,
    Cut,
    D,
    Dimension,
    OutputBlock,
    UnpackMaker,
    output_dimensions,
    unpack_cuts,
)
from tessbed.firmware_models.partition import Range, boxes
from tessbed.sim.spec.device_spec import DeviceSpec


def unpack_nests(geometry: PacketGeometry, spec: DeviceSpec, workers: int) -> Callable[[int], list[Node]]:
    """The bands of each worker of a launch."""
    dimensions = output_dimensions(geometry)
    cuts = unpack_cuts(geometry, spec, dimensions, workers)
    maker = UnpackMaker(geometry, spec, dimensions)
    nests = ItemNests(
        lambda item: block_nodes(maker, item.part[0]), lambda item: item.part[1], _move_by_tiles(maker.geometry)
    )
    return lambda worker: list(_worker_nodes(maker, nests, cuts[worker], cuts[worker + 1]))


def _worker_nodes(maker: UnpackMaker, nests: ItemNests, low: int, high: int) -> Iterator[Node]:
    """The blocks that produce the output positions [low, high), in address order."""
    for box in boxes([dimension.level.extent for dimension in maker.dimensions], low, high):
        yield from nests.grid([*map(_stretches(maker), maker.dimensions, box)], _items(maker, box))


def _move_by_tiles(geometry: PacketGeometry) -> MoveTo:
    """A read moves by what each tile along an axis adds to it, which differs between full tiles and cut ones."""

    def move(leaf: Leaf, item: WorkItem, other: WorkItem) -> Move:
        block, following = item.part[0], other.part[0]
        by = Move((following.volume - block.volume) * geometry.span_bytes(), other.output - item.output)
        for step, axis, (low, _), (high, _) in zip(
            leaf.band.tile_steps, geometry.axes, block.ranges, following.ranges, strict=True
        ):
            tiles = high // axis.tile - low // axis.tile
            by = by.plus(Move(step, 0).times(tiles)) if tiles else by
        return by

    return move


def _stretches(maker: UnpackMaker) -> Callable[[Dimension, Range], list[AxisRange]]:
    """How an axis is cut: at each index of an outer one, not at all where it is taken whole, else at tile edges."""

    def stretches(dimension: Dimension, inside: Range) -> list[AxisRange]:
        low, high = inside
        if dimension.mapped is None:
            return [AxisRange(low, high - low)]
        if dimension.mapped in maker.whole:
            return [AxisRange(0, 1)]
        return _tiles(dimension.level.tile, inside)

    return stretches


def _tiles(tile: int, inside: Range) -> list[AxisRange]:
    """The tiles of a range, those that lie in it whole together."""
    low, high = inside
    first, full, end = low // tile, high // tile, -(-high // tile)
    begin = -(-low // tile)
    parts = ((first, begin), (begin, full), (max(full, begin), end)) if begin <= full else ((first, end),)
    return [AxisRange(start, stop - start) for start, stop in parts if start < stop]


def _items(maker: UnpackMaker, box: Sequence[Range]) -> Callable[[tuple[int, ...]], WorkItem]:
    """The work item at an index: of an outer axis, or of tiles."""

    @cache
    def cut_at(number: int, position: int) -> Cut:
        dimension, inside = maker.dimensions[number], box[number]
        if dimension.mapped in maker.whole:
            return maker.cut(dimension, *inside)
        step = 1 if dimension.mapped is None else dimension.level.tile
        return maker.cut(dimension, max(inside[0], position * step), min(inside[1], (position + 1) * step))

    return lambda index: maker.item([cut_at(*of) for of in enumerate(index)])


def block_nodes(maker: UnpackMaker, block: OutputBlock) -> list[Node]:
    """The bands of a block: pieces of its pixels, or where one is too much, of their channels."""
    most = maker.most_pixels(block)
    return _pixel_nodes(maker, block, max(1, most), _band_nodes if most else _channel_nodes)


def _pixel_nodes(
    maker: UnpackMaker, block: OutputBlock, most: int, inner: Callable[[UnpackMaker, OutputBlock], list[Node]]
) -> list[Node]:
    """Pieces of at most `most` pixels: along an axis they come again, but for the last where it is shorter."""
    cut = maker.pixel_cut(block, most)
    if cut is None:
        return inner(maker, block)
    axis, step = cut
    low, high = block.ranges[axis]

    def piece(start: int) -> list[Node]:
        return _pixel_nodes(maker, block.sliced(axis, start, min(start + step, high)), most, inner)

    along = maker.geometry.axes[axis]
    turns, pieces = _alike(along, (low, high), step)
    turn, behind = pieces * step, low + turns * pieces * step
    nodes = [node for start in range(low, min(low + turn, behind), step) for node in piece(start)]
    moves = [_move_along(axis, along, turn, leaf) for node in nodes for leaf in node.leaves()]
    rest = [node for start in range(behind, high, step) for node in piece(start)]
    return loop_of(turns, moved(nodes, moves), 0) + rest


def _move_along(axis: int, along: TileAxis, pixels: int, leaf: Leaf) -> Move:
    """The move of so many pixels along an axis: of whole tiles, or of less inside a tile."""
    tiles, inside = divmod(pixels, along.tile)
    step, times = (leaf.band.pixel_steps[axis - D], inside) if inside else (leaf.band.tile_steps[axis], tiles)
    by = Move(step, 0).times(times)
    return by.plus(Move(0, pixels * along.stride))


def _alike(axis: TileAxis, inside: Range, step: int) -> tuple[int, int]:
    """How many times pieces of `step` along an axis come again, and how many of them each time.

    In one tile all are alike. Across tiles a piece is like that which begins at the same place of a later tile, where
    both lie in full tiles.
    """
    (low, high), tile = inside, axis.tile
    if low // tile == (high - 1) // tile:
        return (high - low) // step, 1
    pieces = tile // gcd(tile, step)
    return max(0, min(high, axis.extent // tile * tile) - low) // (pieces * step), pieces


def _band_nodes(maker: UnpackMaker, block: OutputBlock) -> list[Node]:
    return [Leaf(planned_band(maker, block))]


def _channel_nodes(maker: UnpackMaker, pixel: OutputBlock) -> list[Node]:
    """Pieces of a pixel's channels: those of a tile after those of another, where they lie alike in neighbours."""
    (low, high), tile, nodes = pixel.ranges[C], maker.geometry.axes[C].tile, []

    def pieces(number: int) -> list[Node]:
        return _pieces(maker, pixel, (max(low, number * tile), min(high, (number + 1) * tile)))

    for first, size in _tiles(tile, (low, high)):
        nodes += looped(size, lambda number, first=first: pieces(first + number))
    return nodes


def _pieces(maker: UnpackMaker, pixel: OutputBlock, inside: Range) -> list[Node]:
    """Pieces of channels in one tile. Whole blocks of 16 from the first whole one of the tile on are alike."""
    nodes: list[Node] = []
    (low, high), axis, room = inside, maker.geometry.axes[C], maker.most_channels
    step = room // BLOCK * BLOCK or room

    def piece(start: int, end: int) -> list[Node]:
        return [Leaf(planned_band(maker, pixel.sliced(C, start, end)))]

    skip = (low - axis.segment(low // axis.tile)[0]) % BLOCK if room >= BLOCK else 0
    begin = min(low + step - skip, high) if skip else low
    alike = (high - begin) // step if room >= BLOCK else 0
    nodes += piece(low, begin) if skip else []
    if alike:
        nodes += looped(alike, lambda number: piece(begin + number * step, begin + (number + 1) * step))
    for start in range(begin + alike * step, high, step):
        nodes += piece(start, min(start + step, high))
    return nodes
