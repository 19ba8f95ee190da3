"""The model's steps against the emulated core: the same rows are called, and as much is executed as the steps say.

The geometries are none of the calibration's. What the model says of instructions is checked here, what it says of
cycles in the long part where LLVM's tools are installed.
"""

import shutil
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import pytest

from tessbed.kernels.a65.cost.features import MOVERS
from tessbed.kernels.a65.cost.table import SCALE, step_costs
from tests.geometries import FAMILY, random_geometries
from tests.oracle import Geometry

pytest.importorskip("ziglang", reason="needs the package ziglang, which has no wheel for this machine")
pytest.importorskip("unicorn", reason="needs the package unicorn, which has no wheel for this machine")

from tests.kernels.a65.neon import build, costs, schedule
from tests.kernels.a65.neon.calibration import row_path
from tests.kernels.a65.neon.counting import Counting
from tests.shared_build import built_once

FRESH = 1009
MOST_MEAN, MOST_EACH = 0.05, 0.30
"""Relative errors of whole calls: on the mean of all, and of the worst one, which is a short call."""
LARGE = [
    row_path(("tess", "int8", None), 3, 200, 20, "dense", pad16=True),
    row_path(("tess", "bf16", None), 3, 300, 9, "pitched", pad16=True),
    row_path(("tess", "bf16", None), 20, 64, 7, "chw", pad16=False),
    row_path(("detess", "int8", None), 40, 90, 5, "dense", pad16=True),
    row_path(("detesscast", "bf16", "fp32"), 48, 60, 5, "dense", pad16=False),
    row_path(("casttess", "bf16", "fp32"), 3, 250, 6, "dense", pad16=True),
    row_path(("quanttess", "int8", "fp32"), 3, 250, 6, "chw", pad16=False),
    row_path(("detessdequant", "int8", "fp32"), 80, 40, 4, "dense", pad16=True),
]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """This tree's rows, compiled."""
    return built_once(tmp_path_factory, "neon", build.build) / build.PROGRAM


@pytest.fixture(scope="module")
def counting(program):
    """A core that counts."""
    return Counting.of(program)


def assert_same_rows(call: costs.Call) -> None:
    """The movers and converters were called as often as the steps say."""
    said: Counter[str] = Counter()
    for (name, step), times in call.steps.items():
        function = name.split(",")[0]
        counted = step.startswith("row") if function in MOVERS else step == "call"
        if counted and name not in ("loops", "same"):
            said[function] += times
    assert +said == Counter({name: times for name, times in call.count.calls.items() if not name.endswith("_same")})


def sums(call: costs.Call, columns: slice) -> np.ndarray:
    """What the model says that the call takes."""
    table = step_costs().steps
    costs = np.array([np.array(table[step][columns]) * times for step, times in call.steps.items()])
    return costs.sum(axis=0) / SCALE


def assert_near(said: Sequence[np.ndarray], took: Sequence[np.ndarray]) -> None:
    """Every call and the mean of all are within the tolerance."""
    errors = np.abs(np.array(said) / np.array(took) - 1)
    assert errors.mean(axis=0).max() <= MOST_MEAN
    assert errors.max() <= MOST_EACH


def check_instructions(counting: Counting, listed: Iterable[Geometry]) -> None:
    """Rows and instructions of each call."""
    said, took = [], []
    for call in costs.calls_of(counting, listed):
        assert_same_rows(call)
        said.append(sums(call, slice(0, 1)))
        took.append(np.array([call.count.instructions]))
    assert_near(said, took)


def test_random_geometries(counting):
    """Fresh geometries of all ranks, operations and dtypes execute what the model says."""
    check_instructions(counting, (*random_geometries(72, FRESH), *random_geometries(48, FRESH, FAMILY)))


def test_large_rows(counting):
    """A row path of many pixels each: the loops, with little around them, to five parts in a hundred."""
    for call in costs.calls_of(counting, LARGE):
        assert_same_rows(call)
        assert sums(call, slice(0, 1))[0] == pytest.approx(call.count.instructions, rel=0.05)


@pytest.mark.long
def test_many_random_geometries(counting):
    """Two thousand of them."""
    check_instructions(counting, (*random_geometries(1200, FRESH + 1), *random_geometries(800, FRESH + 1, FAMILY)))


@pytest.mark.long
@pytest.mark.skipif(not shutil.which(schedule.ANALYZER), reason="needs llvm-mca, of Debian's package llvm")
def test_cycles(counting, program):
    """The cycles of fresh geometries, block by block by the analyzer, are those that the model says."""
    listed = (*LARGE, *random_geometries(360, FRESH + 2), *random_geometries(240, FRESH + 2, FAMILY))
    calls = list(costs.calls_of(counting, listed))
    cycles = schedule.schedules(
        program, {block for call in calls for blocks in call.count.blocks.values() for block in blocks}
    )
    took = [np.sum([costs.totals(b, cycles) for b in call.count.blocks.values()], axis=0) for call in calls]
    assert_near([sums(call, slice(0, None)) for call in calls], took)
