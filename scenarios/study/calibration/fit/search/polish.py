"""Polish: whole values of the parameters near a solution, each improved by steps until none makes S smaller.

They stay inside their limits, which are those of their intervals: a value that the data exclude is no result, however
well it goes with the other whole values.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations

import attrs

from tessbed.scenarios.study.calibration.fit.likelihood.uncertainty import Neighbourhood
from tessbed.scenarios.study.calibration.fit.problem import FitProblem
from tessbed.scenarios.study.calibration.prediction.launch_model import Floats, Timings

MOST_SWEEPS = 12
RELATED = 0.5
"""Two parameters whose estimates are correlated by more than this are also moved together."""


@attrs.define(eq=False)
class _Rounding:
    """Whole values under way."""

    problem: FitProblem
    values: dict[str, float]
    limits: Mapping[str, tuple[int, int]]
    timings: Timings
    squares: float
    timed: int = 0

    def improves(self, steps: dict[str, int]) -> bool:
        """Take the steps if they make S smaller and stay inside the limits."""
        moved = {path: self.values[path] + step for path, step in steps.items()}
        if not all(self.limits[path][0] <= value <= self.limits[path][1] for path, value in moved.items()):
            return False
        values = {**self.values, **moved}
        timings = self.problem.timings(values, self.timings)
        self.timed += timings.timed
        residuals = self.problem.residuals(values, timings)
        squares = float(residuals @ residuals)
        if squares >= self.squares * (1 - 1e-9):
            return False
        self.values, self.timings, self.squares = values, timings, squares
        return True


def polish(
    problem: FitProblem,
    point: Floats,
    nearby: Neighbourhood,
    deviation: float,
    limits: Mapping[str, tuple[int, int]],
) -> dict[str, int]:
    """Whole values of all parameters of the problem inside their limits; `deviation` is that of one repetition."""
    values = {**problem.values(point)}
    for path, (low, high) in limits.items():
        values[path] = float(min(high, max(low, round(values[path]))))
    timings = problem.timings(values)
    residuals = problem.residuals(values, timings)
    rounding = _Rounding(problem, values, limits, timings, float(residuals @ residuals))
    moves = [*_single(problem, point, nearby, deviation), *_pairs(problem, nearby)]
    for _ in range(MOST_SWEEPS):
        if not sum(rounding.improves(move) for move in moves):
            break
    return {parameter.path: round(rounding.values[parameter.path]) for parameter in problem.parameters}


def _single(problem: FitProblem, point: Floats, nearby: Neighbourhood, deviation: float) -> Iterator[dict[str, int]]:
    """Steps of one parameter: from half a standard deviation down to one, by halves."""
    for number, parameter in enumerate(problem.parameters):
        at = float(point[number])
        spread = min(float(nearby.together[number]) * deviation, 0.3)
        step = round(abs(parameter.value(at + spread) - parameter.value(at)) / 2)
        while step > 1:
            yield from ({parameter.path: sign * step} for sign in (1, -1))
            step //= 2
        yield from ({parameter.path: sign} for sign in (1, -1))


def _pairs(problem: FitProblem, nearby: Neighbourhood) -> Iterator[dict[str, int]]:
    spread = nearby.together
    for one, other in combinations(range(len(problem.parameters)), 2):
        if abs(nearby.covariance[one, other]) > RELATED * spread[one] * spread[other]:
            first, second = problem.parameters[one].path, problem.parameters[other].path
            yield from ({first: a, second: b} for a in (1, -1) for b in (1, -1))
