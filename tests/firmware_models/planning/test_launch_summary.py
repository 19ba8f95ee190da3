"""Planning of a launch: by runs it is what it is band by band, and equal work items share what each would make."""

import random
from collections.abc import Iterator
from functools import partial
from typing import Any

import attrs
import pytest

from tessbed.firmware_models import kernel_handles
from tessbed.firmware_models.band import WorkItem
from tessbed.firmware_models.band_cache import BandTemplates
from tessbed.firmware_models.geometry import PacketGeometry
from tessbed.firmware_models.launch_outline import Outline
from tessbed.firmware_models.ops import pack
from tessbed.firmware_models.planning import launch_summary
from tessbed.firmware_models.planning.enumerating_planner import EnumeratingPlanner
from tessbed.firmware_models.planning.launch_summary import outline, plan_launch
from tessbed.firmware_models.worker_loop import program_of
from tessbed.kernels.ev74.codec import decode
from tessbed.kernels.ev74.encode import encode_plan
from tessbed.sim.exact.program import unrolled
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tests.contract.backends import plan_of
from tests.geometries import random_geometries
from tests.oracle import Geometry as Asked
from tests.requests import request_of

HWC, CHANNELS_FIRST = (-1, 0, 1, 2), (-1, 1, 2, 0)
GRIDS = {
    "tess": Asked("tess", (70, 90, 16), "int8", HWC, (1, 4, 4, 16)),
    "tess, spans off the granules": Asked("tess", (40, 62, 5), "bf16", HWC, (1, 3, 7, 5)),
    "tess, padded and strided": Asked(
        "tess", (33, 48, 3), "int8", HWC, (1, 2, 4, 3), pad16=True, strides_bytes=(512, 4, 1)
    ),
    "detess, rows whole": Asked("detess", (64, 60, 16), "int8", HWC, (1, 4, 4, 16)),
    "detess, rows cut": Asked("detess", (24, 512, 16), "bf16", HWC, (1, 4, 32, 16)),
    "detess, planar": Asked("detess", (16, 64, 256), "int8", CHANNELS_FIRST, (1, 4, 64, 16)),
    "detess, an outer axis": Asked("detess", (5, 24, 64, 16), "int8", (-1, 1, 2, 3), (1, 4, 8, 16)),
    "detess, uneven tiles in a band": Asked("detess", (16, 8, 12, 15), "int8", (0, 1, 2, 3), (3, 2, 1, 6)),
    "detesscast": Asked("detesscast", (40, 128, 32), "bf16", cblocked=(4, 8, 32), to="fp32"),
}


@pytest.fixture
def likes(monkeypatch):
    """What work items ask of band templates; they get nothing, so that what they make themselves can be compared."""
    like = BandTemplates.like
    monkeypatch.setattr(BandTemplates, "like", lambda *_: None)
    return like


def packet_geometry(asked: Asked, rng: random.Random) -> PacketGeometry:
    """The geometry on the device, both buffers anywhere that scalars may be."""
    plan = plan_of(request_of(asked))
    source, target = (base + 16 * rng.randrange(512) for base in (1 << 20, 1 << 24))
    return PacketGeometry.of(decode(encode_plan(plan, plan.op).bind(source, target).raw))


def device(rng: random.Random) -> DeviceSpec:
    """A device where granules, slots and room differ."""
    changes = {
        "write_granule_bytes": rng.choice([16, 32, 64, 128, 512]),
        "byte_strobes": rng.random() < 0.2,
        "slots": rng.choice([1, 2, 2, 3, 4, 8]),
        "scratch_bytes": 65536 + rng.choice([5120, 8192, 65536]),
        "dma": {"burst_bytes": rng.choice([64, 256, 1024]), "wait_group": rng.choice([1, 4, 16])},
    }
    return override(DeviceSpec(), changes)


@attrs.frozen
class Planned:
    """An outline without its runs: each worker's bands one by one, and all that is counted."""

    workers: list
    reads: Any
    writes: Any
    counts: Any


def planned(drawn: Outline) -> Planned:
    """The same whichever way the bands are in runs."""
    bands = [[drawn.bands[band] for band in unrolled(runs)] for runs in drawn.workers]
    return Planned(bands, drawn.reads, drawn.writes, dict(drawn.counts))


def check(geometry: PacketGeometry, spec: DeviceSpec, workers: int) -> Outline:
    """The launch planned by runs, after it has been compared with itself band by band."""
    drawn, one_by_one = plan_launch(geometry, spec, workers), EnumeratingPlanner(spec).draw(geometry, workers)
    assert planned(drawn) == planned(one_by_one)
    assert (*drawn.bands,) == one_by_one.bands  # in the order in which they are met first
    return drawn


def several(count: int, seed: int) -> Iterator[tuple[PacketGeometry, DeviceSpec, int]]:
    """Random tensors of all operations and classes of tiles, anywhere in memory, on random devices and grids."""
    for number, asked in enumerate(random_geometries(count, seed=seed)):
        if 0 not in asked.shape:
            rng = random.Random(f"{seed}/{number}")
            yield packet_geometry(asked, rng), device(rng), rng.choice([1, 2, 3, 4, 7, 16, 64])


@pytest.mark.parametrize("name", GRIDS)
def test_grids_by_runs_are_what_they_are_band_by_band(name) -> None:
    """Grids of many equal tiles on any device and in any number of workers."""
    for seed in range(3):
        rng = random.Random(f"{name}/{seed}")
        check(packet_geometry(GRIDS[name], rng), device(rng), rng.choice([1, 3, 4, 7, 64]))


@pytest.mark.parametrize("seed", range(2))
def test_random_launches_by_runs_are_what_they_are_band_by_band(seed) -> None:
    """Every operation, both ways, with padding, gaps, cut tiles, outer axes, small slots, and granules of any size."""
    for launch in several(80, seed):
        check(*launch)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 120))
def test_thousands_of_launches_by_runs_are_what_they_are_band_by_band(seed) -> None:
    """The same for a thousand tensors each."""
    for launch in several(1000, seed):
        check(*launch)


@pytest.mark.parametrize("op", ["tess", "detess"])
def test_what_small_launches_share_changes_none_of_them(op) -> None:
    """One tensor at other granules, bursts, slots and worker counts, in any order: each as if it were alone."""
    rng = random.Random(op)
    geometry = packet_geometry(next(g for g in random_geometries(200, seed=5) if g.op == op and 0 not in g.shape), rng)
    launches = [
        (override(DeviceSpec(), {"slots": slots, "write_granule_bytes": granule, "dma": {"burst_bytes": burst}}), grid)
        for slots in (1, 2, 3) for granule in (16, 64, 4096) for burst in (64, 256) for grid in (1, 3, 4, 16)
    ]  # fmt: skip
    for spec, workers in rng.sample(launches, len(launches)):
        assert planned(outline(geometry, spec, workers)) == planned(plan_launch(geometry, spec, workers))


def test_small_launches_are_planned_band_by_band_and_are_the_same() -> None:
    """Which planner made it can not be told from an outline but by its runs."""
    taken = 0
    for geometry, spec, workers in several(30, 21):
        assert planned(outline(geometry, spec, workers)) == planned(plan_launch(geometry, spec, workers))
        taken += geometry.tiles <= launch_summary.SMALL_TILES
    assert taken > 5


MILLIONS = {
    "tess": Asked("tess", (3200, 3125, 16), "int8", HWC, (1, 1, 1, 16)),
    "detess": Asked("detess", (3200, 3125, 16), "int8", HWC, (1, 1, 1, 16)),
    "tess, one tile": Asked("tess", ((1 << 31) - 1, 1, 16), "int8", HWC, (1, (1 << 31) - 1, 1, 16)),
    "detess, one tile": Asked("detess", ((1 << 31) - 1, 1, 16), "int8", HWC, (1, (1 << 31) - 1, 1, 16)),
}


@pytest.mark.parametrize("name", MILLIONS)
def test_millions_of_bands_are_planned_without_taking_each(name) -> None:
    """What a plan keeps does not grow with the tensor, and all of it is there: each byte once, each way."""
    geometry = packet_geometry(MILLIONS[name], random.Random(name))
    drawn = plan_launch(geometry, DeviceSpec(), 4)
    assert sum(len(run.bands) for runs in drawn.workers for run in runs) < 30_000
    assert drawn.counts["bands"] > 1_000_000
    assert drawn.writes.payload_bytes == geometry.output_bytes
    assert drawn.reads.payload_bytes == geometry.input_bytes


def made(item: WorkItem):
    """A work item's bands, addresses counted from its own."""
    return [
        (
            [read._replace(address=read.address - item.input, scratch=0) for read in band.reads],
            [drain._replace(address=drain.address - item.output, scratch=0) for drain in band.chain],
            (band.footprint.low - item.output, band.footprint.high - item.output, band.footprint.period),
            (band.footprint.inner, band.ticks, band.oversized, band.counts),
        )
        for band in item.make(item, 0)
    ]


MANY = [120, pytest.param(720, marks=pytest.mark.long)]
"""How many random tensors the equality of work items is looked at for."""


@pytest.mark.parametrize("count", MANY)
def test_work_items_with_equal_keys_make_equal_bands(count: int) -> None:
    """Tensors of any rank, order of axes and gaps, and grids where most work items are equal."""
    several = 0
    for number, asked in enumerate([*GRIDS.values(), *random_geometries(count, seed=2)]):
        if 0 not in asked.shape:
            rng = random.Random(number)
            geometry, spec, workers = packet_geometry(asked, rng), device(rng), rng.choice([1, 3, 4])
            known: dict[Any, Any] = {}
            for worker in range(workers):
                for item in one_by_one(geometry, spec, workers, worker):
                    several, bands = several + (item.key in known), made(item)
                    assert bands == known.setdefault(item.key, bands)
    assert several > 25 * count


def one_by_one(geometry: PacketGeometry, spec: DeviceSpec, workers: int, worker: int) -> Iterator[WorkItem]:
    """The work items of a worker, each by itself: of packing, by the number of its tile."""
    if not geometry.packs:
        yield from kernel_handles.WORK_ITEMS[False](geometry, spec, workers)(worker)
        return
    maker = pack.PackMaker(geometry, spec)
    low, high = pack.pack_cuts(geometry, spec, workers)[worker : worker + 2]
    for number in range(geometry.tile_number(low) if low < high else geometry.tiles, geometry.tiles):
        tile = geometry.tile(number)
        if tile.tiled_offset < high:
            yield maker.item(tile, low, high)


@pytest.mark.parametrize("count", MANY)
def test_templates_make_what_each_work_item_would_make(count, likes, monkeypatch) -> None:
    """Whole bands, down to each packing step and its slot, whether they are made anew or after an equal work item's."""
    copied = 0

    def counted(*arguments):
        nonlocal copied
        bands = likes(*arguments)
        copied += bands is not None
        return bands

    for number, asked in enumerate([*GRIDS.values(), *random_geometries(count, seed=3)]):
        if 0 not in asked.shape:
            rng = random.Random(number)
            geometry, spec, workers = packet_geometry(asked, rng), device(rng), rng.choice([1, 3, 4])
            items = kernel_handles.WORK_ITEMS[geometry.packs](geometry, spec, workers)
            for worker in range(workers):
                anew = list(program_of(partial(one_by_one, geometry, spec, workers), spec)(worker))
                with monkeypatch.context() as patch:
                    patch.setattr(BandTemplates, "like", counted)
                    assert list(program_of(items, spec)(worker)) == anew
    assert copied > 12 * count
