"""Refits: least squares from known derivatives, inside the ranges, also where a direction is hardly known."""

import numpy as np
import pytest

from tessbed.scenarios.study.calibration.fit.search.refit import Refit
from tests.scenarios.study.calibration.fit.analytic import linear, precise_sum


def refit(problem, point: list[float], held: tuple[int, ...] = ()) -> Refit:
    """A refit with the derivatives at its start."""
    start = np.array(point)
    return Refit(problem, start, list(held), problem.derivatives(start), 1e-9)


def test_a_linear_problem_takes_a_step_or_two() -> None:
    """It ends at the solution of the normal equations, by hand: x = 2, y = -0.5."""
    found = refit(linear([[1, 0], [0, 2], [1, 2]], [2, -1, 1]), [2.5, 0.0])
    assert found.run() == pytest.approx(0.0, abs=1e-6)
    assert found.point == pytest.approx([2.0, -0.5], abs=1e-3)


def test_a_coordinate_at_its_end_leaves_the_rest_to_the_others() -> None:
    """x may be 1 at most, so that y makes up for it where it can: the rest is x + y = 3 with x = 1."""
    problem = linear([[1, 1], [0.1, 0]], [3, 1], room=1.0)
    found = refit(problem, [0.5, 0.5])
    found.run()
    assert found.point == pytest.approx([1.0, 1.0])
    assert found.squares == pytest.approx(1 + 0.81)


def test_a_held_coordinate_stays() -> None:
    """The other one is fitted around it: 2 y = -1 and 1.5 + 2 y = 1 give y = -0.375."""
    found = refit(linear([[1, 0], [0, 2], [1, 2]], [2, -1, 1]), [1.5, 0.0], held=(0,))
    found.run()
    assert found.point == pytest.approx([1.5, -0.375], abs=1e-3)


def test_a_direction_that_is_hardly_known_does_not_stop_the_others() -> None:
    """A long step along it, on which the sum is not linear, is damped; the sum keeps its own step."""
    found = refit(precise_sum(), [0.05, 0.02])
    before = found.problem.squares(found.point)
    assert before > 100
    assert found.run() < 0.02
