"""Verdicts: from profiles and confounded groups to what may be said of each parameter, and what stays at its guess."""

from collections.abc import Mapping, Sequence
from math import ceil, floor

import attrs

from tessbed.scenarios.study.calibration.estimate import Combination, Estimate
from tessbed.scenarios.study.calibration.fit.likelihood.confounding import SIGNIFICANT, Confounding
from tessbed.scenarios.study.calibration.fit.likelihood.profile import ParameterProfile
from tessbed.scenarios.study.calibration.fit.problem import FitProblem
from tessbed.scenarios.study.calibration.fit.search.solver import Solution
from tessbed.scenarios.study.calibration.parameter_space import FreeParameter
from tessbed.scenarios.study.calibration.prediction.launch_model import Floats

Interval = tuple[float | None, float | None]


@attrs.frozen(eq=False)
class ParameterVerdict:
    """What the data say of one free parameter: a word of estimate.VERDICTS, its interval, its group if it has one."""

    word: str
    interval: Interval
    group: Confounding | None = None

    def place(self, number: int, guess: int) -> int | None:
        """Where the parameter stays while the rest is fitted: at its guess, or at the bound that excludes the guess.

        None for what is fitted: the data determine it, or it carries a combination.
        """
        if self.word == "determined" or (self.group is not None and self.group.members[0] == number):
            return None
        low, high = self.interval
        place = guess if low is None else max(guess, ceil(low))
        return place if high is None else min(place, floor(high))


def verdict_of(
    problem: FitProblem, best: Solution, one: ParameterProfile, groups: Sequence[Confounding], alone: Floats
) -> ParameterVerdict:
    """The verdict on a profile's parameter; `alone` are standard deviations with everything else known."""
    parameter, group = problem.parameters[one.number], next((g for g in groups if one.number in g.members), None)
    found = interval_of(parameter, one)
    low, high = found
    if group is not None:
        return ParameterVerdict("combination", (None, None), group)
    if low is None and high is None:
        room = problem.highest[one.number] - problem.lowest[one.number]
        moved = SIGNIFICANT * float(alone[one.number]) < float(room)
        return ParameterVerdict("combination" if moved and _made_up(best, one, alone) else "untouched", found)
    if low is not None and high is not None:
        return ParameterVerdict("determined", found)
    return ParameterVerdict("at_least" if low is not None else "at_most", found)


def interval_of(parameter: FreeParameter, one: ParameterProfile) -> Interval:
    """The interval of a profile, as values of the parameter: real numbers, though a device has whole ones.

    Widened to the whole numbers that are as good as the best whole one, intervals of 90 % would hold the truth in 97 of
    100 cases, since many are narrower than one.
    """
    ends = [None if side.end is None else parameter.value(side.end) for side in one.sides]
    low, high = reversed(ends) if parameter.scale == "share" else ends
    return low, high


def whole_range(parameter: FreeParameter, interval: Interval) -> tuple[int, int]:
    """The whole values that an interval holds, its ends rounded outwards, inside the parameter's range."""
    low, high = interval
    least = parameter.low if low is None else max(parameter.low, floor(low))
    return least, parameter.high if high is None else min(parameter.high, ceil(high))


def estimates(
    problem: FitProblem, best: Solution, verdicts: Mapping[int, ParameterVerdict], whole: Mapping[str, int]
) -> tuple[Estimate, ...]:
    """The estimates of the free parameters; `whole` are the values of those that do not stay at their guesses."""
    return tuple(_estimate(problem, best, number, verdict, whole) for number, verdict in sorted(verdicts.items()))


def combinations(
    problem: FitProblem, groups: Sequence[Confounding], carried: Mapping[int, tuple[FitProblem, Solution, Interval]]
) -> tuple[Combination, ...]:
    """What is determined of each group; `carried` are the fits with the first member alone open, and its interval."""
    return tuple(_combination(problem, group, *carried[group.members[0]]) for group in groups)


def _estimate(
    problem: FitProblem, best: Solution, number: int, verdict: ParameterVerdict, whole: Mapping[str, int]
) -> Estimate:
    parameter = problem.parameters[number]
    guess = round(problem.base[parameter.path])
    kept = parameter.path not in whole
    value = guess if kept else whole[parameter.path]
    provenance = {"determined": "calibrated", "combination": "combination"}.get(verdict.word, "bound")
    return Estimate(
        path=parameter.path,
        guess=guess,
        value=value,
        verdict=verdict.word,
        provenance="guess" if kept else provenance,
        low=verdict.interval[0],
        high=verdict.interval[1],
        combination=verdict.group.text(problem) if verdict.group else "",
        fitted=None if kept else parameter.value(float(best.point[number])),
    )


def _combination(
    problem: FitProblem, group: Confounding, carrier: FitProblem, found: Solution, interval: Interval
) -> Combination:
    """The values of a group while its first member goes from one end of its interval to the other."""
    point = problem.guess
    at = carrier.values(found.point)
    path = problem.parameters[group.members[0]].path

    def value(own: float | None) -> float | None:
        return None if own is None else group.value(problem, problem.point({**problem.values(point), path: own}))

    ends = sorted(end for end in map(value, interval) if end is not None)
    low, high = (ends[0], ends[1]) if len(ends) == 2 else (None, None)
    paths = tuple(problem.parameters[number].path for number in group.members)
    middle = value(at[path])
    assert middle is not None
    return Combination(group.text(problem), group.kind, paths, middle, low, high)


def _made_up(best: Solution, one: ParameterProfile, alone: Floats) -> bool:
    """Whether the parameter moved significantly on a way that the data let go."""
    return any(
        abs(side.point[one.number] - float(best.point[one.number])) > SIGNIFICANT * float(alone[one.number])
        for side in one.sides
    )
