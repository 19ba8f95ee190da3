"""Nests of packing: the bands of a tile, cut by rows, inside rows and by channels, are what they are one by one."""

import random

import pytest

from tessbed.firmware_models.nests import pack as pack_nest
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tests.firmware_models.planning.test_launch_summary import HWC, check, device, packet_geometry
from tests.oracle import Geometry as Asked

LONG_TILES = {
    "rows of several planes": (6, 50, 7, 16),
    "planes that fit": (300, 2, 3, 16),
    "rows of one": (4_000, 1, 16),
    "rows that fit": (700, 7, 16),
    "rows longer than a band": (60, 90, 16),
    "one row": (1, 5_000, 16),
    "one pixel of many channels": (1, 1, 30_000),
    "wide pixels": (5, 4, 1_500),
}


@pytest.mark.parametrize("shape", LONG_TILES.values(), ids=LONG_TILES)
def test_a_tile_of_many_bands_by_runs_is_what_it_is_band_by_band(shape) -> None:
    """A tile is cut into runs of bands, too: by rows, inside rows, and by the channels of wide pixels."""
    for seed in range(4):
        rng = random.Random(f"tess/{shape}/{seed}")
        axes, tile = (HWC, (1, *shape)) if len(shape) == 3 else ((0, 1, 2, 3), shape)
        asked = Asked("tess", shape, rng.choice(["int8", "bf16"]), axes, tile, pad16=False)
        spec = device(rng)
        spec = override(spec, {"scratch_bytes": 65536 + rng.choice([512, 512, 900]) * (1 + spec.slots)})
        check(packet_geometry(asked, rng), spec, rng.choice([1, 3, 4, 7]))


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
