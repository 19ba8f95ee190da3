"""Planning of a launch in numbers alone: what equal work items share is what each would have by itself."""

import random
from typing import Any

import pytest

from tessbed.firmware_models import kernel_handles
from tessbed.firmware_models.band import WorkItem
from tessbed.firmware_models.band_cache import BandTemplates
from tessbed.firmware_models.geometry import PacketGeometry
from tessbed.firmware_models.launch_summary import _Draft, _OutlineKey
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


@pytest.fixture(autouse=True)
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


def reported(geometry: PacketGeometry, spec: DeviceSpec, workers: int):
    """Each worker's bands, and all that is counted."""
    drawn = _Draft(spec).draw(_OutlineKey(geometry, workers, (), spec))
    bands = [[drawn.bands[band] for band in unrolled(runs)] for runs in drawn.workers]
    return bands, drawn.reads, drawn.writes, drawn.counts


def device(rng: random.Random) -> DeviceSpec:
    """A device where granules, slots and room differ."""
    changes = {
        "write_granule_bytes": rng.choice([16, 64, 128]),
        "byte_strobes": rng.random() < 0.2,
        "slots": rng.randint(1, 4),
        "scratch_bytes": 65536 + rng.choice([4096, 65536]),
    }
    return override(DeviceSpec(), changes)


def made_alone(self, item):
    """A work item's bands without a look at equal ones."""
    return [self._part(template, item) for template in BandTemplates().of(item)]


def shared_and_alone(asked: Asked, rng: random.Random, monkeypatch) -> list:
    """What is reported of a tensor somewhere on some device, with sharing and without."""
    geometry, spec, workers = packet_geometry(asked, rng), device(rng), rng.choice([1, 3, 4, 7])
    shared = reported(geometry, spec, workers)
    with monkeypatch.context() as patch:
        patch.setattr(_Draft, "_parts_of", made_alone)
        return [shared, reported(geometry, spec, workers)]


@pytest.mark.parametrize("name", GRIDS)
def test_equal_sites_share_what_each_has_alone(name, monkeypatch) -> None:
    """Grids of many equal tiles on any device: nothing that is counted differs."""
    for seed in range(4):
        shared, alone = shared_and_alone(GRIDS[name], random.Random(f"{name}/{seed}"), monkeypatch)
        assert shared == alone


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


def test_sites_with_equal_keys_make_equal_bands() -> None:
    """Tensors of any rank, order of axes and gaps, and grids where most work items are equal."""
    several = 0
    for number, asked in enumerate([*GRIDS.values(), *random_geometries(360, seed=2)]):
        if 0 not in asked.shape:
            rng = random.Random(number)
            geometry, spec, workers = packet_geometry(asked, rng), device(rng), rng.choice([1, 3, 4])
            known: dict[Any, Any] = {}
            for worker in range(workers):
                for item in kernel_handles.WORK_ITEMS[geometry.packs](geometry, spec, workers)(worker):
                    several += item.key in known
                    assert made(item) == known.setdefault(item.key, made(item))
    assert several > 10_000


def test_templates_make_what_each_work_item_would_make(likes, monkeypatch) -> None:
    """Whole bands, down to each packing step and its slot, whether they are made anew or after an equal work item's."""
    copied = 0

    def counted(*arguments):
        nonlocal copied
        bands = likes(*arguments)
        copied += bands is not None
        return bands

    for number, asked in enumerate([*GRIDS.values(), *random_geometries(360, seed=3)]):
        if 0 not in asked.shape:
            rng = random.Random(number)
            geometry, spec, workers = packet_geometry(asked, rng), device(rng), rng.choice([1, 3, 4])
            items = kernel_handles.WORK_ITEMS[geometry.packs](geometry, spec, workers)
            for worker in range(workers):
                anew = list(program_of(items, spec)(worker))
                with monkeypatch.context() as patch:
                    patch.setattr(BandTemplates, "like", counted)
                    assert list(program_of(items, spec)(worker)) == anew
    assert copied > 5_000
