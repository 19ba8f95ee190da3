"""Tiles of many bands, cut alike by packing and unpacking: by rows, inside rows, by the channels of wide pixels."""

import random

from tessbed.sim.spec.device_spec import override
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


def check_long_tile(op: str, shape: tuple[int, ...]) -> None:
    """Compare such a tile's bands with those that are made one by one, on four devices with little scratch."""
    for seed in range(4):
        rng = random.Random(f"{op}/{shape}/{seed}")
        axes, tile = (HWC, (1, *shape)) if len(shape) == 3 else ((0, 1, 2, 3), shape)
        asked = Asked(op, shape, rng.choice(["int8", "bf16"]), axes, tile, pad16=False)
        spec = device(rng)
        spec = override(spec, {"scratch_bytes": 65536 + rng.choice([512, 512, 900]) * (1 + spec.slots)})
        check(packet_geometry(asked, rng), spec, rng.choice([1, 3, 4, 7]))
