"""Scans: a deeper valley behind a wall is found by moving a rate, and only one that is deep enough is gone to."""

import numpy as np
import pytest

from tessbed.scenarios.study.calibration.fit.local_fit import LocalFit
from tessbed.scenarios.study.calibration.fit.search.refit import Refit
from tessbed.scenarios.study.calibration.fit.search.solver import Solution
from tessbed.scenarios.study.calibration.fit.search.starts import VALLEY, scanned
from tessbed.scenarios.study.calibration.fit.tasks import ScanTask, solution_of
from tessbed.scenarios.study.calibration.parameter_space import FreeParameter
from tests.scenarios.study.calibration.conftest import local_runner
from tests.scenarios.study.calibration.fit.analytic import two_valleys

RATE = FreeParameter("dma.bytes_per_tick", 4, 64, "rate")
LATENCY = FreeParameter("memory.read_latency_ticks", 1, 64)
OTHER = FreeParameter("dma.setup_ticks", 1, 64)
WALL, BOTTOMS = 21.5, (20.0, 23.0)


def at_twenty(parameter: FreeParameter, floors: tuple[float, float]) -> LocalFit:
    """At the bottom of the nearer valley. Its S is 39 floors squared, so that with a floor of 1 the variance is 1."""
    problem = two_valleys(parameter, WALL, floors, BOTTOMS)
    point = np.array([parameter.coordinate(20.0)])
    return LocalFit.of(problem, Solution(point, problem.squares(point), 0))


def value(found: LocalFit, parameter: FreeParameter) -> float:
    """Where a fit is."""
    return parameter.value(float(found.best.point[0]))


def test_a_refit_alone_stays_in_its_valley() -> None:
    """Derivatives know nothing of what is behind the wall."""
    found = at_twenty(RATE, (1.0, 0.5))
    refit = Refit(found.problem, found.best.point + 0.02, (), found.nearby.derivatives, 1e-6)
    refit.run()
    refit.run_anew()
    assert RATE.value(float(refit.point[0])) == pytest.approx(20, rel=0.01)


@pytest.mark.parametrize("parameter", [RATE, LATENCY])
def test_a_scan_finds_the_valley_behind_a_wall(parameter: FreeParameter) -> None:
    """13 % farther up is behind the wall, and from there the fit goes to the bottom: S is 39 * 0.5^2."""
    found = scanned(at_twenty(parameter, (1.0, 0.5)), local_runner())
    assert value(found, parameter) == pytest.approx(23, rel=0.01)
    assert found.best.squares == pytest.approx(39 * 0.25, rel=0.01)


def test_a_valley_that_is_hardly_deeper_is_left_alone() -> None:
    """By less than VALLEY variances: noise alone digs that deep in one of so many places."""
    gain = 39 * (1 - 0.9**2)
    assert gain < VALLEY
    assert value(scanned(at_twenty(RATE, (1.0, 0.9)), local_runner()), RATE) == pytest.approx(20, rel=0.01)


def test_only_rates_and_latencies_are_scanned() -> None:
    """Their prices have the kinks; what is merely added has none."""
    assert value(scanned(at_twenty(OTHER, (1.0, 0.5)), local_runner()), OTHER) == pytest.approx(20, rel=0.01)


def test_a_scan_task_ends_where_its_place_leads() -> None:
    """From 13 % above to the deeper bottom, from 6 % below back to where it began."""
    found = at_twenty(RATE, (1.0, 0.5))
    for factor, bottom in ((1.13, 23.0), (0.94, 20.0)):
        place = RATE.coordinate(20 * factor)
        task = ScanTask("scan", found.problem, found.best, found.nearby.derivatives, 0, place, 1e-6)
        assert RATE.value(float(solution_of(task.run()).point[0])) == pytest.approx(bottom, rel=0.01)
