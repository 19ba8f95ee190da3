"""Profile: how far one parameter may be from its fitted value before the data object, all others fitted anew.

A parameter is moved in one direction and held, the others are fitted again, and S rises. Where it has risen by the
threshold is the end of the interval on that side. The root of the rise is nearly a straight line, so a few points find
the end. Where S has not risen so far at the end of the parameter's range, that side is open.

Other parameters may make up for the one that moves. What moved with it, and whether one of them stopped at the end of
its own range, is kept: an interval that ends because another range does is no knowledge of the data.
"""

from collections.abc import Iterator
from math import sqrt

import attrs
import numpy as np

from tessbed.scenarios.study.calibration.fit.problem import FitProblem
from tessbed.scenarios.study.calibration.fit.refit import Refit
from tessbed.scenarios.study.calibration.fit.solver import Solution, solve
from tessbed.scenarios.study.calibration.prediction.launch_model import Floats

MOST_POINTS = 8
NEAR = 0.06
"""How near the root of the rise must be to that of the threshold, relative to it."""
TOLERANCE = 0.01
"""By how much less than this, relative to the threshold, another step makes S smaller when a fit ends."""
AT_END = 1e-6
SOLVER_STEPS = 12


@attrs.frozen(eq=False)
class Side:
    """One side of a profile: where it ends on the parameter's scale, or None where it is open.

    `point` is the fit at its last place, inside the threshold or at it; `stopped` are the other parameters that came to
    the end of their ranges on the way.
    """

    end: float | None
    point: tuple[float, ...]
    stopped: tuple[int, ...]


@attrs.frozen(eq=False)
class ParameterProfile:
    """Both sides of a parameter, towards lower and higher places of its scale; a better fit if one was met."""

    number: int
    sides: tuple[Side, Side]
    better: Solution | None
    timed: int


@attrs.define(eq=False)
class _Walk:
    """One side under way: the least points outside and the farthest inside, as (distance, root of the rise)."""

    problem: FitProblem
    best: Solution
    number: int
    direction: int
    target: float
    derivatives: Floats
    confounded: bool
    inside: tuple[float, float] = (0.0, 0.0)
    outside: tuple[float, float] | None = None
    point: Floats = attrs.field(factory=lambda: np.empty(0))
    stopped: set[int] = attrs.field(factory=set)
    better: Solution | None = None
    timed: int = 0

    def go(self, first: float, farthest: float) -> Side:
        """Walk until the end is bracketed closely, or the end of the range is inside."""
        self.point = self.best.point
        step = min(first, farthest)
        for _ in range(MOST_POINTS):
            rise = self._rise(step)
            if rise <= self.target:
                if step >= farthest * (1 - 1e-9):
                    return self._side(None)
                self.inside = (step, rise)
            else:
                self.outside = (step, rise)
            if abs(rise - self.target) <= NEAR * self.target:
                break
            step = min(self._next(step, rise), farthest)
        return self._side(self._crossing(farthest))

    def _rise(self, step: float) -> float:
        """The root of how much S rises with the parameter `step` away."""
        found = self._refit(self.best.point, step)
        found.run_led()
        if self._is_out(found.squares) and self.inside[0]:  # where the others went so far may be a better start
            other = self._refit(self.point, step)
            if other.run_led() < found.squares:
                found = other
        if self._is_out(found.squares):  # the derivatives of the solution may be the reason
            found.run_anew()
        solution = Solution(found.point, found.squares, found.timed)
        if self._is_out(found.squares) and self.confounded:  # others may still make up for it, farther away
            solved = solve(self.problem, found.point, [self.number], most_steps=SOLVER_STEPS)
            solution = min(solution, solved, key=lambda one: one.squares)
            self.timed += solved.timed
        self.timed += found.timed
        return self._keep(solution)

    def _is_out(self, squares: float) -> bool:
        return sqrt(max(0.0, squares - self.best.squares)) > self.target * (1 - NEAR)

    def _keep(self, found: Solution) -> float:
        rise = sqrt(max(0.0, found.squares - self.best.squares))
        self.stopped |= set(self._ends(found.point))
        if found.squares < (self.better or self.best).squares:
            self.better = found
        if rise <= self.target * (1 + NEAR):
            self.point = found.point
        return rise

    def _refit(self, start: Floats, step: float) -> Refit:
        point = start.copy()
        point[self.number] = self.best.point[self.number] + self.direction * step
        point = np.clip(point, self.problem.lowest, self.problem.highest)
        return Refit(self.problem, point, [self.number], self.derivatives, TOLERANCE * self.target**2)

    def _next(self, step: float, rise: float) -> float:
        if self.outside is None:
            return step * min(2.5, max(1.5, 1.05 * self.target / max(rise, 1e-12)))
        (low, below), (high, above) = self.inside, self.outside
        part = (self.target - below) / max(above - below, 1e-12)
        return low + (high - low) * min(0.95, max(0.05, part))

    def _crossing(self, farthest: float) -> float:
        if self.outside is None:
            return min(farthest, self.inside[0] * self.target / max(self.inside[1], 1e-12))
        (low, below), (high, above) = self.inside, self.outside
        return low + (high - low) * (self.target - below) / max(above - below, 1e-12)

    def _side(self, end: float | None) -> Side:
        own = float(self.best.point[self.number])
        stopped = tuple(sorted(self.stopped - {self.number}))
        return Side(None if end is None else own + self.direction * end, tuple(self.point.tolist()), stopped)

    def _ends(self, point: Floats) -> Iterator[int]:
        """The parameters that are at an end of their range there, and were not at the solution."""
        low, high = self.problem.lowest, self.problem.highest
        margin = AT_END * np.maximum(1.0, high - low)
        here = (point <= low + margin) | (point >= high - margin)
        before = (self.best.point <= low + margin) | (self.best.point >= high - margin)
        yield from (int(number) for number in np.flatnonzero(here & ~before))


def profile(
    problem: FitProblem,
    best: Solution,
    derivatives: Floats,
    number: int,
    first: float,
    threshold: float,
    *,
    confounded: bool = False,
) -> ParameterProfile:
    """The profile of a parameter around the best solution, where the derivatives of the residuals are known.

    `first` is a guess of the interval's half width on the parameter's scale. Of one that is `confounded` with others,
    ways are long and curved, and the solver goes them where a refit does not.
    """
    sides, better, timed = [], None, 0
    own = float(best.point[number])
    if not derivatives[:, number].any():  # no row moves with it, wherever it is
        open_ = Side(None, tuple(best.point.tolist()), ())
        return ParameterProfile(number, (open_, open_), None, 0)
    room = own - float(problem.lowest[number]), float(problem.highest[number]) - own
    for direction, farthest in zip((-1, 1), room, strict=True):
        walk = _Walk(problem, best, number, direction, sqrt(threshold), derivatives, confounded)
        sides.append(walk.go(first, farthest) if farthest > AT_END else Side(None, tuple(best.point.tolist()), ()))
        timed += walk.timed
        if walk.better is not None and (better is None or walk.better.squares < better.squares):
            better = walk.better
    return ParameterProfile(number, (sides[0], sides[1]), better, timed)
