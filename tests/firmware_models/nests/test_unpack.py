"""Nests of unpacking: the bands of a tile, cut by rows, inside rows and by channels, are what they are one by one."""

import random

import pytest

from tessbed.sim.spec.device_spec import override
from tests.firmware_models.nests.long_tiles import LONG_TILES, check_long_tile
from tests.firmware_models.planning.test_launch_summary import HWC, check, device, packet_geometry
from tests.oracle import Geometry as Asked


@pytest.mark.parametrize("shape", LONG_TILES.values(), ids=LONG_TILES)
def test_a_tile_of_many_bands_by_runs_is_what_it_is_band_by_band(shape) -> None:
    """A tile is cut into runs of bands, too: by rows, inside rows, and by the channels of wide pixels."""
    check_long_tile("detess", shape)


@pytest.mark.parametrize("tile", [4, 7])
def test_a_row_of_many_tiles_in_pieces_is_what_it_is_band_by_band(tile) -> None:
    """Rows that are taken whole and do not fit the scratch: pieces of several tiles, from any place of one on."""
    for seed in range(3):
        rng = random.Random(f"{tile}/{seed}")
        spec = device(rng)
        spec = override(spec, {"scratch_bytes": 65536 + 512 * (1 + spec.slots)})
        asked = Asked("detess", (5, 1500, 5), "int8", HWC, (1, 2, tile, 5))
        check(packet_geometry(asked, rng), spec, rng.choice([1, 3]))
