"""Solver: least squares from one start, with some coordinates held; scipy's trust region inside the ranges."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import attrs
import numpy as np

from tessbed.scenarios.format.diagnostics import Location, Problem, ScenarioError
from tessbed.scenarios.study.calibration.fit.problem import PULL, FitProblem
from tessbed.scenarios.study.calibration.prediction.launch_model import Floats, Timings

TOLERANCE = 1e-5
INSIDE = 1e-9

Advance = Callable[[int, float], None]
"""Hears of launches that were timed, and of the sum of squares where they led."""


@attrs.frozen(eq=False)
class Solution:
    """Where a solver ended: the point, S without the pull, and the launches that it timed."""

    point: Floats
    squares: float
    timed: int


@attrs.define(eq=False)
class _Search:
    """The residuals and derivatives that scipy asks for, by turns at the same point."""

    problem: FitProblem
    start: Floats
    free: Sequence[int]
    advance: Advance
    timed: int = 0
    timings: Timings | None = None

    def residuals(self, moved: Floats) -> Floats:
        point = self._point(moved)
        values = self.problem.values(point)
        self.timings = self.problem.timings(values, self.timings)
        found = self.problem.residuals(values, self.timings)
        self._count(self.timings.timed, float(found @ found))
        return np.concatenate((found, PULL * (moved - self.problem.guess[list(self.free)])))

    def jacobian(self, moved: Floats) -> Floats:
        point = self._point(moved)
        values = self.problem.values(point)
        timings = self.problem.timings(values, self.timings)
        derivatives, timed = self.problem.jacobian(point, timings, self.free)
        self._count(timed + timings.timed, float("inf"))
        return np.concatenate((derivatives, PULL * np.eye(len(self.free))))

    def _point(self, moved: Floats) -> Floats:
        point = self.start.copy()
        point[list(self.free)] = moved
        return point

    def _count(self, timed: int, squares: float) -> None:
        self.timed += timed
        self.advance(timed, squares)


def solve(
    problem: FitProblem,
    start: Floats,
    held: Sequence[int] = (),
    *,
    most_steps: int = 40,
    advance: Advance = lambda timed, squares: None,
) -> Solution:
    """The least squares around a start; coordinates that are `held` stay. Raises ScenarioError without scipy."""
    optimize = scipy_module("optimize")
    free = [number for number in range(len(start)) if number not in held]
    if not free:
        return Solution(start, problem.squares(problem.values(start)), 0)
    search = _Search(problem, start, free, advance)
    low, high = problem.lowest[free], problem.highest[free]
    margin = INSIDE * np.maximum(1.0, np.abs(high - low))
    moved = np.clip(start[free], low + margin, high - margin)
    found = optimize.least_squares(
        search.residuals,
        moved,
        search.jacobian,
        bounds=(low, high),
        method="trf",
        ftol=TOLERANCE,
        xtol=TOLERANCE,
        gtol=None,
        max_nfev=most_steps,
    )
    own = found.fun[: -len(free)]
    return Solution(search._point(found.x), float(own @ own), search.timed)


def scipy_module(name: str) -> Any:
    """A module of scipy. Raises ScenarioError where the extra is not installed."""
    try:
        return import_module(f"scipy.{name}")
    except ImportError:
        text = "needs scipy: pip install 'tessbed[calibrate]'"
        raise ScenarioError([Problem(Location("tessbed calibrate"), text, "usage")]) from None
