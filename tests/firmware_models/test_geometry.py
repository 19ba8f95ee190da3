"""Where tiles and scalars are, against a walk that visits one after the other."""

from itertools import product
from math import prod

from tests.firmware_models.rig import device_geometry
from tests.geometries import random_geometries
from tests.oracle import Geometry


def literal_tiles(geometry: Geometry):
    """(volume, index, first elements, extents, tiled offset) of every tile in storage order, C, D, H, W."""
    axes = (-1, *range(len(geometry.shape) - 3, len(geometry.shape))) if geometry.cblocked else geometry.axes
    tile = (1, *geometry.cblocked) if geometry.cblocked else geometry.tile
    assert axes is not None
    assert tile is not None
    order = (axes[3], *axes[:3])
    sizes = (tile[3], *tile[:3])
    extents = [geometry.shape[axis] if axis >= 0 else 1 for axis in order]
    steps = [[(low, min(size, n - low)) for low in range(0, n, size)] for n, size in zip(extents, sizes, strict=True)]
    outer = prod(n for axis, n in enumerate(geometry.shape) if axis not in order)
    padded = geometry.pad16 or geometry.cblocked is not None
    offset = 0
    for volume in range(outer):
        for index in product(*(range(len(step)) for step in steps)):
            chosen = [step[i] for step, i in zip(steps, index, strict=True)]
            counts = tuple(count for _, count in chosen)
            yield volume, index, tuple(low for low, _ in chosen), counts, offset
            channels = -(-counts[0] // 16) * 16 if padded else counts[0]
            width = 1 if geometry.dtype == "int8" else 2
            offset += -(-prod(counts[1:]) * channels * width // 16) * 16


def test_tiles_are_where_a_walk_finds_them() -> None:
    """Tile number, place, extents and offset agree with a literal walk, on every layout and rank."""
    for geometry in random_geometries(150, seed=31):
        if 0 in geometry.shape:
            continue
        device, tiles = device_geometry(geometry), list(literal_tiles(geometry))
        assert device.tiles == len(tiles)
        for number, (volume, index, first, extents, offset) in enumerate(tiles):
            tile = device.tile(number)
            assert (tile.first, tile.extents, tile.tiled_offset) == (first, extents, offset)
            assert device.tile_at(volume, index) == tile
            assert device.tile_bytes(extents) % 16 == 0


def test_a_byte_knows_its_tile() -> None:
    """The first and last byte of each tile name it."""
    for geometry in random_geometries(60, seed=32):
        if 0 in geometry.shape:
            continue
        device = device_geometry(geometry)
        for number in range(device.tiles):
            tile = device.tile(number)
            end = tile.tiled_offset + device.tile_bytes(tile.extents)
            assert device.tile_number(tile.tiled_offset) == number
            assert device.tile_number(end - 1) == number
