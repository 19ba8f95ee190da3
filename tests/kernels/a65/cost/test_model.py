"""The A65's modelled ticks: the sum by hand, and what holds for any costs."""

import pickle

import pytest

from tessbed.kernels.a65.cost import model
from tessbed.kernels.a65.cost.model import a65_cost, modelled_ticks
from tessbed.kernels.a65.cost.parameters import SCHEDULE, tick_parameters
from tessbed.kernels.a65.cost.plan_steps import plan_steps
from tessbed.kernels.a65.cost.table import StepCosts
from tessbed.kernels.a65.row_path import choose
from tests.contract.backends import plan_of
from tests.geometries import FAMILY, KINDS, random_geometries
from tests.kernels.a65.neon.calibration import row_path
from tests.oracle import Geometry
from tests.requests import request_of


def cost_of(geometry: Geometry) -> model.A65Cost:
    """The cost of a geometry."""
    plan = plan_of(request_of(geometry))
    return a65_cost(plan, choose(plan))


def test_by_hand(monkeypatch):
    """Ten pixels of three bytes into 160: two pixels a cycle on one core, and nothing else costs anything."""
    geometry = Geometry("tess", (2, 5, 3), "int8", (-1, 0, 1, 2), (1, 2, 5, 3), pad16=True)
    plan = plan_of(request_of(geometry))
    free = dict.fromkeys(plan_steps(plan, choose(plan)), (0, 0, 0, 0))
    costs = {("pack_bytes", "padded pixel"): (300, 700, 1400, 50), ("pack_bytes", "careful pixel"): (0, 0, 0, 25)}
    monkeypatch.setattr(model, "step_costs", lambda: StepCosts(free | costs, {"core_mhz": 1400}))
    a65_cost.cache_clear()
    try:
        cost = cost_of(geometry)
    finally:
        a65_cost.cache_clear()
    # five pixels at 7 cycles are 35, at 1.4 cycles a tick 25; at 14 cycles twice that; 5 * 0.5 + 5 * 0.25 are 4 whole
    # cycles, in 3 whole ticks. 190 bytes at 64 ticks for 1024 are 12
    assert (cost.instructions, dict(cost.cycles)) == (15, {"cortex-a65": 35, "cortex-a55": 70, "cortex-a76": 4})
    assert cost.ticks == 1500 + 25 + 12
    assert cost.band == {"cortex-a55": 1500 + 50 + 12, "cortex-a76": 1500 + 3 + 12}


def test_empty():
    """An empty tensor takes no tick on any core."""
    cost = cost_of(Geometry("detess", (0, 8), "bf16", (-1, -1, 0, 1), (1, 1, 1, 8)))
    assert (cost.ticks, set(cost.band.values())) == (0, {0})


def test_equal_plans():
    """Equal plans have equal whole ticks, whether they are remembered, or came through a pickle."""
    for geometry in (*random_geometries(72, 3), *random_geometries(48, 3, FAMILY)):
        plan = plan_of(request_of(geometry))
        again = pickle.loads(pickle.dumps(plan))
        first, second = a65_cost(plan, choose(plan)), a65_cost.__wrapped__(again, choose(again))
        assert first == second
        assert isinstance(first.ticks, int)
        assert modelled_ticks(plan, choose(plan)) == first.ticks


@pytest.mark.parametrize("kind", [*KINDS, *FAMILY], ids=lambda kind: "-".join(filter(None, kind)))
@pytest.mark.parametrize("order", ["dense", "pitched", "gapped", "chw"])
def test_more_rows_take_longer(kind, order):
    """A taller image never takes fewer ticks by the schedule of any core, where no tile has alignment bytes."""
    for channels in (1, 3, 8, 16, 20, 33, 64):
        for pad16 in (False, True):
            heights = [cost_of(row_path(kind, channels, 48, height, order, pad16=pad16)) for height in range(1, 13)]
            for ticks in ([cost.ticks for cost in heights], *([c.band[core] for c in heights] for core in model.BAND)):
                assert ticks == sorted(ticks)


def test_padded_narrow_pixels_cost_pixel_by_pixel():
    """Padding breaks a dense row: three channels padded to 16 take more cycles than the same bytes copied."""
    compact, padded = (
        cost_of(row_path(("tess", "int8", None), 3, 64, 16, "dense", pad16=pad16)).cycles["cortex-a65"]
        for pad16 in (False, True)
    )
    assert padded > 3 * compact


def test_provenance():
    """Cycles are a schedule, memory's share and the call stay guesses."""
    said = {one.name: one.provenance for one in tick_parameters()}
    assert said["a65 cycles"] == SCHEDULE == "static schedule of a Cortex-A53, band a55 to a76, caches not modelled"
    assert said["a65 memory"] == said["a65 call"] == "guess"
