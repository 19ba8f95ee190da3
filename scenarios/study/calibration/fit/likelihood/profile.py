"""Profile: how far one parameter may be from its fitted value before the data object, all others fitted anew.

A parameter is moved in one direction and held, the others are fitted again, and S rises. Where it has risen by the
threshold is the end of the interval on that side. The root of the rise is nearly a straight line, so a few points find
the end. Where S has not risen so far at the end of the parameter's range, that side is open.

Other parameters may make up for the one that moves. What moved with it, and whether one of them stopped at the end of
its own range, is kept: an interval that ends because another range does is no knowledge of the data.

S is rough, and the solution is the best of many fits. So is a point of a profile: where it would be outside by not so
much, it is tried again from hops around it. Else an interval would end where a single fit got stuck.

The order in which transfers are served may change on the way, and S then jumps up, and down again farther away. So a
walk also looks at a few places beyond the end that it found. Where one is inside, it walks on from there: an interval
holds all that the data do not exclude, and says nothing of gaps.

A walk may begin at a point that is known to be inside the threshold, farther away than a walk from the solution came.
"""

from collections.abc import Iterator
from math import sqrt

import attrs
import numpy as np

from tessbed.scenarios.study.calibration.fit.problem import FitProblem
from tessbed.scenarios.study.calibration.fit.search.refit import Refit
from tessbed.scenarios.study.calibration.fit.search.solver import Solution, solve
from tessbed.scenarios.study.calibration.prediction.launch_model import Floats

MOST_POINTS = 8
NEAR = 0.06
"""How near the root of the rise must be to that of the threshold, relative to it."""
TOLERANCE = 0.01
"""By how much less than this, relative to the threshold, another step makes S smaller when a fit ends."""
AT_END = 1e-6
SOLVER_STEPS = 12
TRIES, MARGIN = 4, 1.7
"""So many hops from a point whose rise is outside by this factor at most."""
HOPELESS = 2.5
"""New derivatives bring no rise inside that is outside by this factor."""
BEYOND = (1.3, 1.7, 2.2)
"""Where a walk looks for more, relative to the way to the end that it found."""
PROMISING = 0.85
"""A rise is worth a thorough look whose root is below the straight line by this factor."""
MOST_LANDS = 2
ONWARD = 1.15
"""The first step from a point ahead, relative to the way to it."""


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


@attrs.frozen(eq=False)
class Advance:
    """Sides that are known, and for each a point inside the threshold ahead of its end, or None: it stays as it is."""

    sides: tuple[Side, Side]
    points: tuple[Floats | None, Floats | None]


@attrs.define(eq=False)
class _Walk:
    """One side under way: the least points outside and the farthest inside, as (distance, root of the rise)."""

    problem: FitProblem
    best: Solution
    number: int
    direction: int
    target: float
    derivatives: Floats
    spread: Floats
    confounded: bool
    inside: tuple[float, float] = (0.0, 0.0)
    outside: tuple[float, float] | None = None
    point: Floats = attrs.field(factory=lambda: np.empty(0))
    stopped: set[int] = attrs.field(factory=set)
    better: Solution | None = None
    timed: int = 0

    def go(self, first: float, farthest: float, ahead: Floats | None = None) -> Side:
        """Walk until the end is bracketed closely, or the end of the range is inside; from `ahead`, if it is given."""
        self.point = self.best.point if ahead is None else ahead
        step = min(first, farthest) if ahead is None else min(self._begin(ahead), farthest)
        end = self._end(step, farthest)
        for _ in range(MOST_LANDS):
            step = None if end is None else self._beyond(end, farthest)
            if step is None:
                break
            end = self._end(step, farthest)
        return self._side(end)

    def _end(self, step: float, farthest: float) -> float | None:
        """How far the end is, from the first step to it; None where the end of the range is inside."""
        for _ in range(MOST_POINTS):
            rise = self._rise(step)
            if rise <= self.target:
                if step >= farthest * (1 - 1e-9):
                    return None
                self.inside = (step, rise)
            else:
                self.outside = (step, rise)
            if abs(rise - self.target) <= NEAR * self.target:
                break
            step = min(self._next(step, rise), farthest)
        return self._crossing(farthest)

    def _beyond(self, end: float, farthest: float) -> float | None:
        """The next step from a place beyond the end that is inside; None where none is."""
        stopped = set(self.stopped)
        for step in self._places_beyond(end):
            rise = self._look(step, PROMISING * self.target * step / end)
            if rise <= self.target:
                self.inside, self.outside = (step, rise), None
                return min(step * ONWARD, farthest)
            self.stopped = set(stopped)
        return None

    def _places_beyond(self, end: float) -> list[float]:
        """Where to look, by how far it is from the solution: at whole values, which devices have."""
        own = float(self.best.point[self.number])
        low, high = float(self.problem.lowest[self.number]), float(self.problem.highest[self.number])
        far = (min(high, max(low, own + self.direction * end * factor)) for factor in BEYOND if end)
        steps = {self.direction * (self.problem.whole(self.number, at) - own) for at in far}
        return sorted(step for step in steps if step > end * (1 + NEAR))

    def _look(self, step: float, promising: float) -> float:
        """The root of the rise there, with new derivatives if it is a promising one without."""
        found = self._refit(self.best.point, step)
        found.run_led()
        if self.target < self._root(found.squares) < promising:
            found.run_anew()
        self.timed += found.timed
        return self._keep(Solution(found.point, found.squares, found.timed))

    def _begin(self, ahead: Floats) -> float:
        """Take a point ahead as inside; the first step from it."""
        values = self.problem.values(ahead)
        rise = self._root(self.problem.squares(values))
        way = self.direction * float(ahead[self.number] - self.best.point[self.number])
        self.inside = (way, min(rise, self.target))
        return way * ONWARD

    def _rise(self, step: float) -> float:
        """The root of how much S rises with the parameter `step` away."""
        found = self._refit(self.best.point, step)
        found.run_led()
        if self._is_out(found.squares) and self.inside[0]:  # where the others went so far may be a better start
            other = self._refit(self.point, step)
            if other.run_led() < found.squares:
                found = other
        if self._is_out(found.squares) and not self._is_out(found.squares, HOPELESS):
            found.run_anew()  # the derivatives of the solution may be the reason
        solution = Solution(found.point, found.squares, found.timed)
        if self._is_out(found.squares) and self.confounded:  # others may still make up for it, farther away
            solved = solve(self.problem, found.point, [self.number], most_steps=SOLVER_STEPS)
            solution = min(solution, solved, key=lambda one: one.squares)
            self.timed += solved.timed
        self.timed += found.timed
        return self._keep(self._tried_again(solution))

    def _tried_again(self, found: Solution) -> Solution:
        """The best of fits from hops around a point that is a little outside, until one is inside."""
        random = np.random.default_rng((self.number, self.direction + 1, self.timed))
        for _ in range(TRIES):
            if not self._is_out(found.squares) or self._is_out(found.squares, MARGIN):
                break
            point = found.point + self.spread @ random.standard_normal(len(found.point))
            point[self.number] = found.point[self.number]
            point = np.clip(point, self.problem.lowest, self.problem.highest)
            refit = Refit(self.problem, point, [self.number], self.derivatives, TOLERANCE * self.target**2)
            refit.run()
            self.timed += refit.timed
            found = min(found, Solution(refit.point, refit.squares, 0), key=lambda one: one.squares)
        return found

    def _is_out(self, squares: float, margin: float = 1 - NEAR) -> bool:
        return self._root(squares) > self.target * margin

    def _root(self, squares: float) -> float:
        return sqrt(max(0.0, squares - self.best.squares))

    def _keep(self, found: Solution) -> float:
        rise = self._root(found.squares)
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
    spread: Floats,
    *,
    confounded: bool = False,
    advance: Advance | None = None,
) -> ParameterProfile:
    """The profile of a parameter around the best solution, where the derivatives of the residuals are known.

    `first` is a guess of the interval's half width on the parameter's scale. Of one that is `confounded` with others,
    ways are long and curved, and the solver goes them where a refit does not. `spread` makes hops of standard normal
    draws. An `advance` goes on with known sides.
    """
    sides, better, timed = [], None, 0
    own = float(best.point[number])
    if not derivatives[:, number].any():  # no row moves with it, wherever it is
        open_ = Side(None, tuple(best.point.tolist()), ())
        return ParameterProfile(number, (open_, open_), None, 0)
    room = own - float(problem.lowest[number]), float(problem.highest[number]) - own
    for side, direction in enumerate((-1, 1)):
        ahead = advance.points[side] if advance else None
        if advance and ahead is None:
            sides.append(advance.sides[side])
            continue
        walk = _Walk(problem, best, number, direction, sqrt(threshold), derivatives, spread, confounded)
        open_ = Side(None, tuple(best.point.tolist()), ())
        sides.append(walk.go(first, room[side], ahead) if room[side] > AT_END else open_)
        timed += walk.timed
        if walk.better is not None and (better is None or walk.better.squares < better.squares):
            better = walk.better
    return ParameterProfile(number, (sides[0], sides[1]), better, timed)
