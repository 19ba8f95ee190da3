"""Nests of packing: the bands of a tile, cut by rows, inside rows and by channels, are what they are one by one."""

import random

import pytest

from tessbed.firmware_models.nests import pack as pack_nest
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tests.firmware_models.nests.long_tiles import LONG_TILES, check_long_tile
from tests.firmware_models.planning.test_launch_summary import HWC, check, device, packet_geometry
from tests.oracle import Geometry as Asked


@pytest.mark.parametrize("shape", LONG_TILES.values(), ids=LONG_TILES)
def test_a_tile_of_many_bands_by_runs_is_what_it_is_band_by_band(shape) -> None:
    """A tile is cut into runs of bands, too: by rows, inside rows, and by the channels of wide pixels."""
    check_long_tile("tess", shape)


@pytest.mark.parametrize("shape", [(6, 50, 7, 16), (40, 6, 7, 16)], ids=str)
def test_a_tile_of_planes_with_gaps_is_what_it_is_band_by_band(shape) -> None:
    """Bands in different planes are no run, though each is as long as the next."""
    _, height, width, channels = shape
    row = width * channels
    strides = (height * row + 48, row, channels, 1)
    for seed in range(4):
        rng = random.Random(seed)
        spec = device(rng)
        spec = override(spec, {"scratch_bytes": 65536 + 512 * (1 + spec.slots)})
        asked = Asked("tess", shape, "int8", (0, 1, 2, 3), shape, strides_bytes=strides)
        check(packet_geometry(asked, rng), spec, rng.choice([1, 3]))


def test_bands_of_a_tile_need_not_be_counted_while_many_are_left(monkeypatch) -> None:
    """While more than the square of a band's pixels are left, rows and bands are not cut one by one; they are right."""
    cut = []
    end = pack_nest.pixel_band_end
    monkeypatch.setattr(pack_nest, "pixel_band_end", lambda *of: cut.append(of) or end(*of))
    spec = override(DeviceSpec(), {"scratch_bytes": 65536 + 1024, "slots": 3})
    for shape in ((6_000, 1, 16), (1_000, 5, 16), (300, 20, 16), (60, 45, 16)):
        rng = random.Random(f"{shape}")
        drawn = check(packet_geometry(Asked("tess", shape, "int8", HWC, (1, *shape)), rng), spec, 1)
        assert len(cut) < drawn.counts["bands"] / 3, shape
        cut.clear()
