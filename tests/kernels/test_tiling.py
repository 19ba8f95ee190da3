"""Tiles over mapped axes: every offset, step and size here was worked out by hand."""

import pytest

from tessbed.kernels.operations import TileFormat
from tessbed.kernels.tiling import MappedAxis, round_up, stored_channels, tile_classes, tile_grid

# 5 rows of 7 pixels of 3 one-byte channels, dense, in tiles of 2 x 4 x 3: full tiles hold 24 bytes of 32, those of the
# last 3 columns 18 of 32, those of the last row 12 of 16, and the corner 9 of 16.
C, D, H, W = (
    MappedAxis(3, 3, 1),
    MappedAxis(1, 1, 0),
    MappedAxis(5, 2, 21),
    MappedAxis(7, 4, 3),
)


@pytest.mark.parametrize(
    ("extent", "tile", "parts"),
    [
        (5, 2, ((0, 2, 2), (4, 1, 1))),
        (4, 2, ((0, 2, 2),)),
        (1, 2, ((0, 1, 1),)),
        (0, 2, ()),
    ],
)
def test_parts_of_an_axis(extent: int, tile: int, parts: tuple[tuple[int, int, int], ...]) -> None:
    """Full tiles, then what is left; neither where there is none."""
    assert MappedAxis(extent, tile, 1).parts == parts


@pytest.mark.parametrize(("channels", "padded"), [(1, 16), (16, 16), (17, 32)])
@pytest.mark.parametrize("tile_format", [TileFormat.PAD16, TileFormat.CBLOCKED])
def test_stored_channels(tile_format: TileFormat, channels: int, padded: int) -> None:
    """Padded and blocked pixels store whole blocks of 16 channels, compact ones what they have."""
    assert stored_channels(tile_format, channels) == padded
    assert stored_channels(TileFormat.COMPACT, channels) == channels


def test_round_up() -> None:
    """To the next multiple; a multiple stays."""
    assert [round_up(value, 16) for value in (0, 1, 16, 17)] == [0, 16, 16, 32]


def test_sizes_of_a_grid() -> None:
    """Two full rows of a full and a narrow tile, then a flat row: 2 x (32 + 32) + (16 + 16) bytes."""
    grid = tile_grid(TileFormat.COMPACT, 1, (C, D, H, W))
    assert grid.volume_bytes == 160
    assert [grid.sizes[0, 0, h, w] for h in (0, 1) for w in (0, 1)] == [32, 32, 16, 16]
    assert [grid.sizes[0, 0, h] for h in (0, 1)] == [64, 32]


def test_classes_of_a_grid() -> None:
    """Four shapes of tiles, in the order in which their first tiles are stored."""
    classes = tile_classes(TileFormat.COMPACT, tile_grid(TileFormat.COMPACT, 1, (C, D, H, W)))
    found = [(one.counts[2:], one.extents[2:], one.tiled_offset, one.linear_offset, one.span_bytes) for one in classes]
    assert found == [
        ((2, 1), (2, 4), 0, 0, 32),
        ((2, 1), (2, 3), 32, 12, 32),
        ((1, 1), (1, 4), 128, 84, 16),
        ((1, 1), (1, 3), 144, 96, 16),
    ]
    assert [one.tiled_steps[2] for one in classes] == [64, 64, 32, 32]
    assert {one.linear_steps for one in classes} == {(3, 0, 42, 12)}
    assert [one.pixels for one in classes] == [8, 6, 4, 3]


def test_empty_axis_has_no_tile() -> None:
    """An extent of 0 leaves no class and no byte."""
    grid = tile_grid(TileFormat.COMPACT, 2, (C, D, H, MappedAxis(0, 4, 3)))
    assert (grid.volume_bytes, tile_classes(TileFormat.COMPACT, grid)) == (0, ())
