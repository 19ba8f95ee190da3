"""Planning of a launch in numbers alone: what equal sites share is what each would have by itself."""

import random
from typing import Any

import pytest

from tessbed.firmware_models import image
from tessbed.firmware_models.bands import Moulds, Site, program_of
from tessbed.firmware_models.geometry import Geometry
from tessbed.firmware_models.timed import _Draft, _Wanted
from tessbed.kernels.ev74.encode import encode_plan
from tessbed.kernels.ev74.packet import decode
from tessbed.sim.spec import DeviceSpec, override
from tessbed.sim.timing import unrolled
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
    """What sites ask of moulds; they get nothing, so that what they make themselves can be compared."""
    like = Moulds.like
    monkeypatch.setattr(Moulds, "like", lambda *_: None)
    return like


def packet_geometry(asked: Asked, rng: random.Random) -> Geometry:
    """The geometry on the device, both buffers anywhere that scalars may stand."""
    plan = plan_of(request_of(asked))
    source, target = (base + 16 * rng.randrange(512) for base in (1 << 20, 1 << 24))
    return Geometry.of(decode(encode_plan(plan, plan.op).bind(source, target).raw))


def told(geometry: Geometry, spec: DeviceSpec, workers: int):
    """Each worker's bands, and all that is counted."""
    drawn = _Draft(spec).draw(_Wanted(geometry, workers, (), spec))
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


def made_alone(self, site):
    """A site's bands without a look at equal ones."""
    self._moulds.clear()
    return [self._part(mould, site) for mould in self._moulds_of(site)]


def shared_and_alone(asked: Asked, rng: random.Random, monkeypatch) -> list:
    """What is told of a tensor somewhere on some device, with sharing and without."""
    geometry, spec, workers = packet_geometry(asked, rng), device(rng), rng.choice([1, 3, 4, 7])
    shared = told(geometry, spec, workers)
    with monkeypatch.context() as patch:
        patch.setattr(_Draft, "_parts_of", made_alone)
        return [shared, told(geometry, spec, workers)]


@pytest.mark.parametrize("name", GRIDS)
def test_equal_sites_share_what_each_has_alone(name, monkeypatch) -> None:
    """Grids of many equal tiles on any device: nothing that is counted differs."""
    for seed in range(4):
        shared, alone = shared_and_alone(GRIDS[name], random.Random(f"{name}/{seed}"), monkeypatch)
        assert shared == alone


def made(site: Site):
    """A site's bands, addresses counted from its own."""
    return [
        (
            [read._replace(address=read.address - site.input, scratch=0) for read in band.reads],
            [drain._replace(address=drain.address - site.output, scratch=0) for drain in band.chain],
            (band.footprint.low - site.output, band.footprint.high - site.output, band.footprint.period),
            (band.footprint.inner, band.ticks, band.oversized, band.counts),
        )
        for band in site.make(site)
    ]


def test_sites_with_equal_keys_make_equal_bands() -> None:
    """Tensors of any rank, order of axes and gaps, and grids where most sites are equal."""
    several = 0
    for number, asked in enumerate([*GRIDS.values(), *random_geometries(360, seed=2)]):
        if 0 not in asked.shape:
            rng = random.Random(number)
            geometry, spec, workers = packet_geometry(asked, rng), device(rng), rng.choice([1, 3, 4])
            known: dict[Any, Any] = {}
            for worker in range(workers):
                for site in image.SITES[geometry.packs](geometry, spec, workers)(worker):
                    several += site.key in known
                    assert made(site) == known.setdefault(site.key, made(site))
    assert several > 10_000


def test_moulds_make_what_each_site_would_make(likes, monkeypatch) -> None:
    """Whole bands, down to each packing step and its slot, whether they are made anew or after an equal site's."""
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
            sites = image.SITES[geometry.packs](geometry, spec, workers)
            for worker in range(workers):
                anew = list(program_of(sites)(worker))
                with monkeypatch.context() as patch:
                    patch.setattr(Moulds, "like", counted)
                    assert list(program_of(sites)(worker)) == anew
    assert copied > 5_000
