"""Analytic problems: residuals that are known as formulas, with the interface of a FitProblem, and no device."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from tessbed.scenarios.study.calibration.parameter_space import FreeParameter

Floats = NDArray[np.float64]
NO_TIMINGS = SimpleNamespace(timed=1)


@attrs.frozen(eq=False)
class AnalyticProblem:
    """Residuals and their derivatives as functions of a point; the guess is the middle of the ranges."""

    formula: Callable[[Floats], Floats]
    derivatives: Callable[[Floats], Floats]
    lowest: Floats
    highest: Floats
    parameters: tuple[FreeParameter, ...] = ()
    grain: float = 0.0

    @property
    def model(self) -> Any:
        """Rows that were measured once each, so that their scatter is that of the residuals."""
        rows = len(self.formula(self.guess))
        return SimpleNamespace(rows=SimpleNamespace(scatter=np.zeros(rows), observations=rows, logs=np.zeros(rows)))

    @property
    def guess(self) -> Floats:
        """The middle of the ranges."""
        return (self.lowest + self.highest) / 2

    def values(self, point: Floats) -> Floats:
        """The point itself."""
        return point

    def whole(self, number: int, at: float) -> float:
        """The nearest multiple of the grain; without one every place is that of a whole value."""
        return round(at / self.grain) * self.grain if self.grain else at

    def timings(self, values: Floats, like: Any = None) -> Any:
        """Nothing is timed; each is counted as one."""
        return NO_TIMINGS

    def residuals(self, values: Floats, timings: Any) -> Floats:
        """By the formula."""
        return self.formula(values)

    def squares(self, values: Floats) -> float:
        """Their sum of squares."""
        found = self.formula(values)
        return float(found @ found)

    def jacobian(self, point: Floats, timings: Any, columns: Sequence[int]) -> tuple[Floats, int]:
        """By the formula."""
        return self.derivatives(point)[:, list(columns)], 1


def linear(matrix: Sequence[Sequence[float]], wanted: Sequence[float], room: float = 10.0) -> Any:
    """Residuals that are a matrix times the point less what is wanted."""
    rows, goal = np.array(matrix), np.array(wanted)
    ends = np.full(rows.shape[1], room)
    return AnalyticProblem(lambda x: rows @ x - goal, lambda x: rows, -ends, ends)


def precise_sum(weight: float = 300.0) -> Any:
    """Of two ticks on the logarithmic scale a precise sum, and next to nothing of the second by itself."""

    def formula(x: Floats) -> Floats:
        return np.array([weight * np.log((np.exp(x[0]) + np.exp(x[1])) / 2), 0.01 * (x[1] - 10)])

    def derivatives(x: Floats) -> Floats:
        parts = np.exp(x) / np.exp(x).sum()
        return np.array([weight * parts, [0.0, 0.01]])

    ends = np.array([3.0, 3.0])
    return AnalyticProblem(formula, derivatives, -ends, ends)


def two_valleys(
    parameter: FreeParameter, wall: float, floors: tuple[float, float], bottoms: tuple[float, float]
) -> Any:
    """Of one parameter 40 residuals: the way to the bottom of a valley, and its floor 39 times; a wall between both."""

    def valley(x: Floats) -> int:
        return int(x[0] > parameter.coordinate(wall))

    def formula(x: Floats) -> Floats:
        way = 30 * (x[0] - parameter.coordinate(bottoms[valley(x)]))
        return np.array([way, *[floors[valley(x)]] * 39])

    def derivatives(x: Floats) -> Floats:
        return np.array([[30.0], *[[0.0]] * 39])

    ends = (np.array([parameter.coordinate(end)]) for end in (parameter.low, parameter.high))
    return AnalyticProblem(formula, derivatives, *ends, (parameter,))
