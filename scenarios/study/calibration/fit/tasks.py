"""Tasks: the parts of a fit that need nothing of each other: a start, a choice, a profile. Another process may run one.

A task is a value, and its result plain numbers, equal wherever and in whatever order tasks run.
"""

from typing import Any

import attrs
import numpy as np

from tessbed.scenarios.study.calibration.fit.likelihood.profile import Advance, ParameterProfile, Side, profile
from tessbed.scenarios.study.calibration.fit.problem import FitProblem
from tessbed.scenarios.study.calibration.fit.search.refit import Refit
from tessbed.scenarios.study.calibration.fit.search.solver import Solution, solve
from tessbed.scenarios.study.calibration.prediction.launch_model import Floats

AGAIN = 3
"""How often a solver starts anew from where it ended: kinks can stop it early."""


@attrs.frozen(eq=False)
class SolveTask:
    """Least squares from a start; coordinates that are `held` stay."""

    name: str
    problem: FitProblem
    start: Floats
    held: tuple[int, ...] = ()

    def run(self) -> dict[str, Any]:
        """The best solution that is found from there."""
        best = solve(self.problem, self.start, self.held)
        timed = best.timed
        for _ in range(AGAIN):
            found = solve(self.problem, best.point, self.held)
            timed += found.timed
            gain = best.squares - found.squares
            best = found if gain > 0 else best
            if gain < 1e-3 * best.squares:
                break
        return solution_result(attrs.evolve(best, timed=timed))


@attrs.frozen(eq=False)
class RefitTask:
    """Least squares near a solution of a problem that differs a little, from its derivatives."""

    name: str
    problem: FitProblem
    best: Solution
    derivatives: Floats
    tolerance: float

    def run(self) -> dict[str, Any]:
        """What is found from there."""
        found = Refit(self.problem, self.best.point, (), self.derivatives, self.tolerance)
        found.run()
        found.run_anew()
        return solution_result(Solution(found.point, found.squares, found.timed))


@attrs.frozen(eq=False)
class ScanTask:
    """Least squares with a coordinate moved: first while it is held there, then with it released."""

    name: str
    problem: FitProblem
    best: Solution
    derivatives: Floats
    number: int
    place: float
    tolerance: float

    def run(self) -> dict[str, Any]:
        """Where that ends."""
        point = self.best.point.copy()
        point[self.number] = self.place
        found = Refit(self.problem, point, (self.number,), self.derivatives, self.tolerance)
        found.run_led()
        found.run_anew()
        found.held = ()
        found.run()
        found.run_anew()
        return solution_result(Solution(found.point, found.squares, found.timed))


@attrs.frozen(eq=False)
class ProfileTask:
    """The profile of a parameter; see `profile`."""

    name: str
    problem: FitProblem
    best: Solution
    derivatives: Floats
    number: int
    first: float
    threshold: float
    spread: Floats
    confounded: bool = False
    advance: Advance | None = None

    def run(self) -> dict[str, Any]:
        """Both of its sides."""
        around = self.problem, self.best, self.derivatives, self.number
        first = self.first, self.threshold, self.spread
        found = profile(*around, *first, confounded=self.confounded, advance=self.advance)
        return {
            "sides": [attrs.asdict(side) for side in found.sides],
            "better": None if found.better is None else solution_result(found.better),
            "timed": found.timed,
        }


Task = SolveTask | RefitTask | ScanTask | ProfileTask


def run_task(task: Task) -> dict[str, Any]:
    """The result of a task, as JSON holds it."""
    return task.run()


def solution_result(found: Solution) -> dict[str, Any]:
    """A solution as a result."""
    return {"point": found.point.tolist(), "squares": found.squares, "timed": found.timed}


def solution_of(result: dict[str, Any]) -> Solution:
    """The solution of a result."""
    return Solution(np.array(result["point"]), result["squares"], result["timed"])


def profile_of(number: int, result: dict[str, Any]) -> ParameterProfile:
    """The profile of a result."""
    low, high = (Side(side["end"], tuple(side["point"]), tuple(side["stopped"])) for side in result["sides"])
    better = result["better"]
    return ParameterProfile(number, (low, high), None if better is None else solution_of(better), result["timed"])
