"""Launch program: an outline priced on a device, whichever way its bands are kept."""

import random
from collections.abc import Sequence

import attrs
import pytest

from tessbed.firmware_models.launch_outline import BandShape
from tessbed.firmware_models.planning.launch_program import exact_program
from tessbed.firmware_models.planning.launch_summary import outline
from tessbed.sim.exact.engine import FORMS, VARIABLE, simulate
from tessbed.sim.exact.program import unrolled
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tests.firmware_models.planning.test_launch_summary import GRIDS, packet_geometry
from tests.firmware_models.planning.test_runs import KEPT, LONG, launch

PRICING = [
    ("memory", "bytes_per_tick"), ("memory", "background_percent"), ("memory", "read_latency_ticks"),
    ("memory", "write_latency_ticks"), ("memory", "page_walk_ticks"), ("dma", "bytes_per_tick"),
    ("dma", "outstanding_bursts"), ("dma", "setup_ticks"), ("dma", "row_ticks"),
]  # fmt: skip
"""The parameters that decide what a transfer costs, by docs/simulation.md, "Transfers"."""


def test_a_program_is_kept_for_devices_that_price_alike() -> None:
    """Credits price nothing and share it, latencies do not; what is kept equals what is made anew."""
    geometry, spec = packet_geometry(GRIDS[next(iter(GRIDS))], random.Random(1)), DeviceSpec()
    drawn = outline(geometry, spec, 4)
    program = exact_program(drawn, spec)
    assert exact_program(drawn, override(spec, {"dma": {"outstanding": 3}})) is program
    for part, name in PRICING:
        base = getattr(getattr(spec, part), name)
        other = override(spec, {part: {name: base + 1}})
        assert exact_program(drawn, other) == exact_program(attrs.evolve(drawn), other), name
    assert exact_program(drawn, override(spec, {"memory": {"read_latency_ticks": 7}})) is not program


@attrs.frozen(eq=False)
class BandsAnew(Sequence[BandShape]):
    """Bands that nobody keeps: each is made when it is looked at, and so is all that it touches."""

    bands: Sequence[BandShape]

    def __len__(self) -> int:
        return len(self.bands)

    def __getitem__(self, index) -> BandShape:
        band = self.bands[index]
        return band._replace(groups=(*band.groups,), chain=(*band.chain,))


def test_bands_that_nobody_keeps_are_priced_as_they_are() -> None:
    """What touches the same has one price, and nothing else has it, though a tuple that is gone leaves its id to the
    next: bands are looked at several times."""
    plan, spec = launch(KEPT), DeviceSpec()
    wanted = exact_program(plan, spec).bands
    anew = exact_program(attrs.evolve(plan, bands=BandsAnew(plan.bands), long=True), spec).bands
    assert [(*anew,) for _ in range(4)] == [wanted] * 4


def test_the_bands_of_a_long_launch_are_priced_when_they_are_looked_at() -> None:
    """As a whole, one by one, from behind and as a slice they are those of a launch that is kept."""
    spec = DeviceSpec()
    wanted, long = exact_program(launch(KEPT), spec), exact_program(launch(LONG), spec)
    bands = wanted.bands
    workers = [[long.bands[band] for band in unrolled(runs)] for runs in long.workers]
    assert workers == [[bands[band] for band in unrolled(runs)] for runs in wanted.workers]
    assert ((*long.bands,), len(long.bands), long.bands[-1], long.bands[2:5]) == (
        bands, len(bands), bands[-1], [*bands[2:5]]
    )  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_a_long_launch_takes_the_ticks_of_one_that_is_kept(form, monkeypatch) -> None:
    """In both forms of the engine, the first time and again."""
    monkeypatch.setenv(VARIABLE, form)
    spec, long = DeviceSpec(), launch(LONG)
    wanted = simulate(spec, exact_program(launch(KEPT), spec))
    assert [simulate(spec, exact_program(long, spec)) for _ in range(2)] == [wanted] * 2
