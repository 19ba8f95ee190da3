"""Nest totals: long launches are planned from their nests alone, and are what they are band by band."""

import random
from math import prod

import pytest

from tessbed.firmware_models.geometry import PacketGeometry
from tessbed.firmware_models.launch_outline import Outline
from tessbed.firmware_models.planning.blocks import BlockMaker
from tessbed.firmware_models.planning.enumerating_planner import EnumeratingPlanner
from tessbed.firmware_models.planning.launch_summary import NESTS, plan_launch, plan_nests
from tessbed.firmware_models.planning.parts import PartTable
from tessbed.sim.spec.device_spec import DeviceSpec
from tests.bench_planning import KINDS
from tests.firmware_models.planning.test_launch_summary import GRIDS, device, packet_geometry, planned, several
from tests.oracle import linear_width, packs
from tests.planning_kinds import RandomKind


def from_nests(geometry: PacketGeometry, spec: DeviceSpec, workers: int) -> Outline:
    """The launch planned as a long one, however short it is."""
    nests = NESTS[geometry.packs](geometry, spec, workers)
    return plan_nests(PartTable(spec), [nests(worker) for worker in range(workers)], most_kept=-1)


def check(geometry: PacketGeometry, spec: DeviceSpec, workers: int) -> None:
    """Compare it with the launch band by band."""
    drawn, one_by_one = from_nests(geometry, spec, workers), EnumeratingPlanner(spec).draw(geometry, workers)
    assert drawn.long
    assert planned(drawn) == planned(one_by_one)
    assert (*drawn.bands,) == one_by_one.bands


@pytest.mark.parametrize("seed", range(31, 34))
def test_random_launches_from_their_nests_are_what_they_are_band_by_band(seed) -> None:
    """Bands, their order, traffic, and every count, those of drains that wait included."""
    for launch in several(100, seed):
        check(*launch)


@pytest.mark.parametrize("name", GRIDS)
def test_grids_from_their_nests_are_what_they_are_band_by_band(name) -> None:
    """Grids of many tiles, on devices of one slot to eight and granules of 16 to 512 bytes."""
    rng = random.Random(name)
    geometry = packet_geometry(GRIDS[name], rng)
    check(geometry, device(rng), rng.choice([1, 3, 4, 7, 64]))


@pytest.mark.parametrize("name", KINDS)
def test_kinds_that_grow_are_what_they_are_band_by_band(name) -> None:
    """Every kind of shape whose planning is measured, on the default device and on a random one."""
    rng = random.Random(name)
    for spec in (DeviceSpec(), device(rng)):
        check(packet_geometry(KINDS[name](rng.randint(20, 40), rng.randint(20, 40)), rng), spec, rng.choice([1, 3, 5]))


@pytest.mark.parametrize("seed", range(24))
def test_random_kinds_are_what_they_are_band_by_band(seed) -> None:
    """The kinds of the random search: any order of axes in memory, bands of many tiles, gaps, devices and workers."""
    kind = RandomKind.of(seed, (3200, 3125))
    check(kind.bound(9, 13), kind.spec, kind.workers)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1300))
def test_hundreds_of_random_kinds_are_what_they_are_band_by_band(seed) -> None:
    """The same for hundreds, of more tiles."""
    kind = RandomKind.of(seed, (3200, 3125))
    check(kind.bound(20, 31), kind.spec, kind.workers)


@pytest.mark.parametrize("name", KINDS)
def test_ten_million_tiles_are_planned_without_writing_a_run_out(name, monkeypatch) -> None:
    """No sequence of bands is made, and all bytes are counted, each way."""
    monkeypatch.setattr(BlockMaker, "blocks", None)
    asked = KINDS[name](3200, 3125)
    geometry = packet_geometry(asked, random.Random(name))
    drawn = plan_launch(geometry, DeviceSpec(), 4, most_kept=-1)
    assert drawn.writes.payload_bytes == (
        geometry.output_bytes if packs(asked) else prod(asked.shape) * linear_width(asked)
    )


@pytest.mark.long
@pytest.mark.parametrize("seed", range(200, 220))
def test_thousands_of_launches_from_their_nests_are_what_they_are_band_by_band(seed) -> None:
    """The same for a thousand tensors each."""
    for launch in several(1000, seed):
        check(*launch)
