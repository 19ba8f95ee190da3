"""Judgement: the profiles of all parameters, what they lend each other, and the verdicts that follow from them.

S is rough: a fit from one side stops at a kink where one from another side goes on. But whoever met a point met it for
all: a point that the data do not exclude excludes no coordinate of its own. So each profile takes the farthest such
point of all the others, and walks on from there. A profile that meets a better fit than the best begins all of them
anew from it.
"""

from collections.abc import Mapping, Sequence

import attrs
import numpy as np

from tessbed.scenarios.study.calibration.fit.likelihood.confounding import Confounding, confoundings
from tessbed.scenarios.study.calibration.fit.likelihood.profile import AT_END, Advance, ParameterProfile
from tessbed.scenarios.study.calibration.fit.likelihood.verdicts import ParameterVerdict, verdict_of
from tessbed.scenarios.study.calibration.fit.local_fit import LocalFit
from tessbed.scenarios.study.calibration.fit.search.solver import Solution
from tessbed.scenarios.study.calibration.fit.task_runner import TaskRunner
from tessbed.scenarios.study.calibration.fit.tasks import ProfileTask, SolveTask, profile_of, solution_of
from tessbed.scenarios.study.calibration.prediction.launch_model import Floats

BETTER = 0.3
"""Of the variance: a profile that meets a fit better by more begins the profiles anew."""
LAPS = 3
ROUNDS = 3
"""How often profiles lend each other their points."""
AHEAD = 0.02
"""A point is lent that is ahead of an end by more than this part of the way to it."""
WIDEST = 0.25
"""The first step of a profile is no longer, on the parameter's scale."""
CONFOUNDED = 8.0
"""What others leave open of a parameter, by so many times what it is known by itself, is worth a thorough look."""


@attrs.frozen(eq=False)
class Judgement:
    """The fit that was judged, which may be a better one than was given; verdicts by parameters, and groups."""

    fit: LocalFit
    verdicts: Mapping[int, ParameterVerdict]
    groups: tuple[Confounding, ...]


def judged(found: LocalFit, runner: TaskRunner) -> Judgement:
    """The verdicts on all free parameters, from profiles around the best solution that is met."""
    profiles = _profiles(found, runner, 1)
    for lap in range(2, LAPS + 1):
        if not _is_better(found, better := _best_met(found, profiles)):
            break
        name = f"better {lap}"
        task = SolveTask(name, found.problem, better.point)
        found = found.moved(solution_of(runner.run([task])[name]))
        profiles = _profiles(found, runner, lap)
    groups = confoundings(found.problem, found.best, profiles, found.alone)
    verdicts = {one.number: verdict_of(found.problem, found.best, one, groups, found.alone) for one in profiles}
    return Judgement(found, verdicts, groups)


def profile_task(found: LocalFit, name: str, number: int, advance: Advance | None = None) -> ProfileTask:
    """The task of a parameter's profile, or of how it goes on with what others lend it."""
    reach = float(found.nearby.together[number]) * found.deviation * found.scatter.reach
    confounded = bool(found.nearby.together[number] > CONFOUNDED * found.nearby.alone[number])
    own = found.problem, found.best, found.nearby.derivatives, number
    around = min(reach, WIDEST), found.allowance, found.spread
    return ProfileTask(name, *own, *around, confounded, advance)


def _profiles(found: LocalFit, runner: TaskRunner, lap: int) -> list[ParameterProfile]:
    """The profiles of all parameters, and again of those to which others lend a point."""
    paths = [parameter.path for parameter in found.problem.parameters]
    profiles = _run(runner, [profile_task(found, f"profile {lap} {path}", n) for n, path in enumerate(paths)])
    for turn in range(1, ROUNDS + 1):
        if _is_better(found, _best_met(found, profiles)):
            break
        advances = [(one.number, _advance(found, profiles, one)) for one in profiles]
        tasks = [
            profile_task(found, f"profile {lap}.{turn} {paths[n]}", n, advance) for n, advance in advances if advance
        ]
        for one in _run(runner, tasks):
            profiles[one.number] = one
    return profiles


def _run(runner: TaskRunner, tasks: Sequence[ProfileTask]) -> list[ParameterProfile]:
    return [profile_of(task.number, result) for task, result in zip(tasks, runner.run(tasks).values(), strict=True)]


def _advance(found: LocalFit, profiles: Sequence[ParameterProfile], one: ParameterProfile) -> Advance | None:
    """For each side of a profile the point of all sides that is farthest ahead of its end; None where none is."""
    points = np.array([side.point for other in profiles for side in other.sides])
    own = float(found.best.point[one.number])
    lent: list[Floats | None] = []
    for direction, side in zip((-1, 1), one.sides, strict=True):
        ways = direction * (points[:, one.number] - own)
        farthest = int(ways.argmax())
        way = None if side.end is None else direction * (side.end - own)
        lent.append(points[farthest] if way is not None and ways[farthest] > way * (1 + AHEAD) + AT_END else None)
    return Advance(one.sides, (lent[0], lent[1])) if any(point is not None for point in lent) else None


def _is_better(found: LocalFit, other: Solution) -> bool:
    return found.best.squares - other.squares >= BETTER * found.scatter.variance


def _best_met(found: LocalFit, profiles: Sequence[ParameterProfile]) -> Solution:
    met = [one.better for one in profiles if one.better is not None]
    return min(met, key=lambda solution: solution.squares, default=found.best)
