"""Loop nests: loops in loops whose addresses repeat, or do not, are what they are band by band."""

import random

import pytest

from tessbed.firmware_models.planning.blocks import BlockMaker
from tessbed.sim.spec.device_spec import DeviceSpec
from tests.firmware_models.planning.test_launch_summary import HWC, check, device, packet_geometry
from tests.oracle import Geometry as Asked

NESTED = {
    "a grid that is a block many times and a rest": (
        Asked("tess", (23, 25, 64), "int8", HWC, (1, 1, 1, 64)), "_repeated"
    ),
    "rows whose tiles move apart": (Asked("detess", (60, 9, 17), "int8", HWC, (1, 7, 3, 5)), "_flat"),
    "a loop that is taken turn by turn": (
        Asked("tess", (5, 25, 26, 256), "int8", (-1, 1, 2, 3), (1, 1, 1, 256), strides_bytes=(166416, 6656, 256, 1)),
        "_turn_by_turn",
    ),
}  # fmt: skip
"""Launches, and the form of blocks in which some of their loops are."""


@pytest.mark.parametrize("name", NESTED)
def test_loops_in_loops_are_what_they_are_band_by_band(name, monkeypatch) -> None:
    """Reads of a band that move apart, and an outer loop in which the inner ones repeat but it does not; in the form
    that costs an engine least."""
    asked, form = NESTED[name]
    taken, blocks = [], getattr(BlockMaker, form)
    monkeypatch.setattr(BlockMaker, form, lambda maker, nodes: taken.append(nodes) or blocks(maker, nodes))
    for seed in range(2):
        rng = random.Random(seed)
        geometry = packet_geometry(asked, rng)
        for spec in (device(rng), DeviceSpec()):
            check(geometry, spec, 1 + 2 * seed)
    assert taken


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
def test_an_outer_loop_of_long_ones_is_what_it_is_band_by_band(seed) -> None:
    """Rows of odd places that repeat after 512 tiles, in volumes that do not; taken turn by turn by a worker alone."""
    rng, strides = random.Random(seed), (100816, 1440, 24, 1)
    asked = Asked("tess", (5, 70, 60, 24), "int8", (-1, 1, 2, 3), (1, 1, 1, 24), strides_bytes=strides)
    geometry = packet_geometry(asked, rng)
    for spec in (device(rng), DeviceSpec()):
        check(geometry, spec, 1 + 2 * seed)
