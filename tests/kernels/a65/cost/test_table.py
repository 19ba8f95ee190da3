"""The recorded tables belong to the code as it is, and have every step that the model can ask for."""

import tomllib
from itertools import product

import pytest

from tessbed.kernels.a65.cost import nests
from tessbed.kernels.a65.cost.plan_steps import plan_steps
from tessbed.kernels.a65.cost.table import COLUMNS, PATH, REMEASURE, step_costs
from tessbed.kernels.a65.row_path import choose
from tests.contract.backends import plan_of
from tests.geometries import FAMILY, KINDS, random_geometries
from tests.kernels.a65.neon import build, calibration
from tests.requests import request_of

LOOPS_PATH = build.HERE / "loops.toml"
RENEW = f"""the rows or their compiler's options changed: run `{REMEASURE}`, which measures anew; where
test_counts.py then fails, let kernels/a65/cost/{{nests,features}}.py follow the new loops, and run it again"""


@pytest.mark.parametrize("path", [PATH, LOOPS_PATH], ids=lambda path: path.name)
def test_it_is_of_this_code(path):
    """A table says of which C sources it is, with which tools and when it was made."""
    made = tomllib.loads(path.read_text())["made"]
    assert made["sources_sha256"] == build.sources_sha256(), RENEW
    assert {"date", "command", "compiler", "counts", "cycles", "core_mhz"} <= made.keys()


def test_costs():
    """Every step has a whole cost in each column, and none takes time back."""
    for step, costs in step_costs().steps.items():
        assert len(costs) == len(COLUMNS), step
        assert all(isinstance(cost, int) and cost >= 0 for cost in costs), step


def test_every_step_has_a_cost(monkeypatch):
    """Random geometries, and channel counts and widths far beyond the calibration's, make no step without a cost,
    whether their outputs are small or past the caches."""
    rows = product((*KINDS, *FAMILY), (1, 2, 7, 8, 9, 15, 47, 96, 129, 160, 300, 4097), calibration.ORDERS)
    wide = [
        calibration.row_path(kind, channels, width, height, order, pad16=pad16)
        for (kind, channels, order), width, height, pad16 in product(rows, (1, 8, 31, 400), (1, 4), (False, True))
    ]
    listed = (*random_geometries(1200, 7), *random_geometries(800, 7, FAMILY), *calibration.blocked(), *wide)
    for geometry in listed:
        plan = plan_of(request_of(geometry))
        path = choose(plan)
        for stream_bytes in (1 << 62, 0):
            monkeypatch.setattr(nests, "STREAM_BYTES", stream_bytes)
            assert not plan_steps(plan, path).keys() - step_costs().steps.keys(), geometry
