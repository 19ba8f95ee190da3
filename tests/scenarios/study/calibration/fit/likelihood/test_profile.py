"""Profiles of problems that are known as formulas: their ends, open sides, and ways that others lend."""

from math import sqrt

import attrs
import numpy as np
import pytest

from tessbed.scenarios.study.calibration.fit.likelihood.profile import Advance, ParameterProfile, Side, profile
from tessbed.scenarios.study.calibration.fit.search.solver import Solution
from tests.scenarios.study.calibration.fit.analytic import AnalyticProblem, linear

MATRIX = [[1.0, 1.0], [0.0, 2.0]]  # y has a variance of 1/4 + 0, x one of 1 + 1/4


def solved(problem, number: int, first: float = 0.3, threshold: float = 2.7, **options) -> ParameterProfile:
    """The profile around the origin, which is the solution."""
    best = Solution(np.zeros(2), 0.0, 0)
    spread = np.zeros((2, 2))
    return profile(problem, best, problem.derivatives(best.point), number, first, threshold, spread, **options)


@pytest.mark.parametrize(("number", "variance"), [(0, 1.25), (1, 0.25)])
def test_the_ends_are_where_the_squares_reach_the_threshold(number: int, variance: float) -> None:
    """Of a linear problem the rise over x is x^2 over its variance, the other one being fitted again."""
    found = solved(linear(MATRIX, [0, 0]), number)
    low, high = (side.end for side in found.sides)
    assert (low, high) == pytest.approx((-sqrt(2.7 * variance), sqrt(2.7 * variance)), rel=0.05)
    assert found.better is None


def test_what_the_data_do_not_know_is_open() -> None:
    """A sum alone leaves both its terms open: the other one makes up for it until the end of its range."""
    found = solved(linear([[1.0, 1.0], [1.0, 1.0]], [0, 0]), 0)
    assert [side.end for side in found.sides] == [None, None]
    assert all(abs(side.point[0] + side.point[1]) < 0.1 for side in found.sides)
    assert solved(linear([[0.0, 1.0]], [0]), 0).sides[0].point == (0.0, 0.0)


def test_a_lent_point_is_walked_on_from() -> None:
    """A side goes on from a point ahead of it; one to which nothing is lent stays as it is."""
    problem = linear(MATRIX, [0, 0])
    known = Side(-0.5, (-0.5, 0.0), ()), Side(0.5, (0.5, 0.0), ())
    found = solved(problem, 0, advance=Advance(known, (None, np.array([1.0, -0.2]))))
    assert found.sides[0] == known[0]
    assert found.sides[1].end == pytest.approx(sqrt(2.7 * 1.25), rel=0.05)


def walled(low: float, high: float) -> AnalyticProblem:
    """S is x^2 / 4, and 100 more between both places: there the order of transfers is another one."""
    height = 10.0

    def formula(x: np.ndarray) -> np.ndarray:
        return np.array([x[0] / 2, x[1], height if low < x[0] < high else 0.0])

    ends = np.array([10.0, 10.0])
    return AnalyticProblem(formula, lambda x: np.array([[0.5, 0.0], [0.0, 1.0], [0.0, 0.0]]), -ends, ends)


def test_a_walk_goes_on_behind_a_wall() -> None:
    """S is below 2.7 as far as 3.29, but for the places from 1.5 to 2.4: the interval holds what is on both sides."""
    found = solved(walled(1.5, 2.4), 0)
    assert found.sides[0].end == pytest.approx(-2 * sqrt(2.7), rel=0.05)
    assert found.sides[1].end == pytest.approx(2 * sqrt(2.7), rel=0.05)


def test_behind_a_wall_may_be_nothing() -> None:
    """Where S is above the threshold again behind it, the interval ends at the wall."""
    found = solved(walled(2.0, 4.5), 0)
    assert 1.7 < (found.sides[1].end or 0.0) < 2.1


def test_data_without_scatter_leave_no_interval() -> None:
    """Where the solution explains everything exactly, nothing beside it is inside, whole values neither."""
    problem = attrs.evolve(linear(MATRIX, [0.6, 0.6]), grain=1.0)
    best = Solution(np.array([0.3, 0.3]), 0.0, 0)
    found = profile(problem, best, problem.derivatives(best.point), 0, 0.3, 0.0, np.zeros((2, 2)))
    assert [side.end for side in found.sides] == pytest.approx([0.3, 0.3])
