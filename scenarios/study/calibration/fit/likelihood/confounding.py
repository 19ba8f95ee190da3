"""Confounding: which parameters the data do not tell apart, and what of them they determine: a sum, a product, a ratio.

A profile moves one parameter and fits all others anew. Where that goes on to the end of a range without the data
objecting, some other parameters made up for it, each by a move that alone the data would never have accepted. Those are
confounded with it. Along such ways, which are long, what the data determine stays constant: of the members as they are
(a sum or a difference) or of their logarithms (a product or a ratio), with every sign tried.
"""

from collections.abc import Sequence
from itertools import combinations, product

import attrs
import numpy as np

from tessbed.scenarios.study.calibration.fit.likelihood.profile import ParameterProfile, Side
from tessbed.scenarios.study.calibration.fit.problem import FitProblem
from tessbed.scenarios.study.calibration.fit.search.solver import Solution
from tessbed.scenarios.study.calibration.prediction.launch_model import Floats
from tessbed.scenarios.study.calibration.prediction.row_model import PART_TICKS

SIGNIFICANT = 3.0
"""A move of so many standard deviations, all else known, is one that the data would object to."""
CONSTANT = 0.12
"""How much a combination may change along a way, relative to what its members change."""
MOST_MEMBERS = 4
PART = 0.02
"""A member of a combination changes by this much at least, relative to what all change."""


@attrs.frozen(eq=False)
class Confounding:
    """Parameters by their numbers that are only determined together.

    `kind` is a sum, difference, product or ratio; `signs` has +1 for a term or factor, -1 for one that is
    subtracted or divides. The first member, which the data know best by itself, carries what the others leave to it
    when they stay at their guesses.
    """

    members: tuple[int, ...]
    kind: str
    signs: tuple[int, ...]

    def text(self, problem: FitProblem) -> str:
        """The combination in words."""
        names = [_name(problem, number) for number in self.members]
        marks = {"sum": "+-", "difference": "+-", "product": "*/", "ratio": "*/"}[self.kind]
        text = names[0]
        for name, sign in zip(names[1:], self.signs[1:], strict=True):
            text += f" {marks[sign != self.signs[0]]} {name}"
        return text

    def value(self, problem: FitProblem, point: Floats) -> float:
        """The combination at a point."""
        terms = [_term(problem, number, float(point[number])) for number in self.members]
        signs = [sign * self.signs[0] for sign in self.signs]
        if self.kind in ("sum", "difference"):
            return sum(sign * term for sign, term in zip(signs, terms, strict=True))
        return float(np.prod([term**sign for sign, term in zip(signs, terms, strict=True)]))


def confoundings(
    problem: FitProblem, best: Solution, profiles: Sequence[ParameterProfile], alone: Floats
) -> tuple[Confounding, ...]:
    """The groups of confounded parameters; `alone` are standard deviations with everything else known."""
    ways = [way for one in profiles for side in one.sides if (way := _way(best, one, side, alone))]
    groups: list[set[int]] = []
    related = (_related(problem, best, ways, way) for way in ways)
    for members in sorted((one for one in related if one), key=lambda one: (len(one), sorted(one))):
        touching = [group for group in groups if group & members]
        together = members.union(*touching)
        if not touching or _relation(problem, best, ways, together, alone) is not None:
            groups = [group for group in groups if group not in touching] + [together]
    found = (_relation(problem, best, ways, group, alone) for group in groups)
    return tuple(sorted((one for one in found if one is not None), key=lambda one: one.members))


@attrs.frozen(eq=False)
class _Way:
    """The far end of a way that the data let go, and who moved on it significantly, the one that was pushed first."""

    members: tuple[int, ...]
    point: Floats


def _way(best: Solution, one: ParameterProfile, side: Side, alone: Floats) -> _Way | None:
    """The way of a side that is open, or that ended because the range of another parameter did."""
    moves = np.abs(np.array(side.point) - best.point) / alone
    movers = [int(number) for number in np.argsort(-moves, kind="stable") if moves[number] > SIGNIFICANT]
    limited = any(number in movers for number in side.stopped)
    if one.number not in movers or len(movers) < 2 or not (side.end is None or limited):
        return None
    others = [number for number in movers if number != one.number]
    return _Way((one.number, *others[: MOST_MEMBERS - 1]), np.array(side.point))


def _related(problem: FitProblem, best: Solution, ways: Sequence[_Way], way: _Way) -> set[int]:
    """The one that was pushed, with as few of those that moved as have a relation; nobody where none has.

    One way alone would fit some relation by chance: there must be as many as members. Parts of a job need no more than
    one, since they are only ever added.
    """
    pushed, *others = way.members
    for size in range(2, len(way.members) + 1):
        for some in combinations(others, size - 1):
            members = (pushed, *some)
            points = [other.point for other in ways if set(members) <= set(other.members)]
            enough = len(points) >= size or all(_is_part(problem, number) for number in members)
            if enough and _relations(problem, best, points, members)[0][2] < CONSTANT:
                return set(members)
    return set()


def _relation(
    problem: FitProblem, best: Solution, ways: Sequence[_Way], group: set[int], alone: Floats
) -> Confounding | None:
    """The group in order, with its relation along all ways on which its members were pushed; None where none holds."""
    ordered = sorted(group, key=lambda number: _rank(problem, alone, number))
    points = [way.point for way in ways if way.members[0] in group and group <= set(way.members)]
    if len(ordered) > MOST_MEMBERS or not points:
        return None
    kind, signs, spread = _relations(problem, best, points, ordered)[0]
    return Confounding(tuple(ordered), kind, signs) if spread < CONSTANT else None


def _rank(problem: FitProblem, alone: Floats, number: int) -> tuple[bool, float, int]:
    """Who comes first in a combination, and carries it: no share, and what is known best."""
    return problem.parameters[number].scale == "share", float(alone[number]), number


def _relations(
    problem: FitProblem, best: Solution, points: Sequence[Floats], members: Sequence[int]
) -> list[tuple[str, tuple[int, ...], float]]:
    """Every relation of the members with how far it is from constant, the most constant first; at least one."""
    found = [("joint", (1,) * len(members), np.inf)]
    for logs in (False, True):
        if not all(_fits(problem, number, logs=logs) for number in members):
            continue
        here = _terms(problem, best.point, members, logs=logs)
        moves = np.array([_terms(problem, point, members, logs=logs) - here for point in points])
        size = float(np.abs(moves).sum(axis=1).max())
        idle = np.abs(moves).max(axis=0).min() < PART * size  # one that takes no part in it
        if size <= 0 or idle or not np.isfinite(moves).all():
            continue
        for rest in product((1, -1), repeat=len(members) - 1):
            signs = (1, *rest)
            spread = float(np.abs(moves @ np.array(signs)).max()) / size
            names = ("product", "ratio") if logs else ("sum", "difference")
            found.append((names[-1 in rest], signs, spread))
    return sorted(found, key=lambda relation: relation[2])


def _fits(problem: FitProblem, number: int, *, logs: bool) -> bool:
    """Whether a parameter can be in a product, or in a sum: ticks alone are added, parts of a job only that."""
    return not _is_part(problem, number) if logs else problem.parameters[number].scale == "ticks"


def _is_part(problem: FitProblem, number: int) -> bool:
    return problem.parameters[number].path in PART_TICKS.values()


def _terms(problem: FitProblem, point: Floats, members: Sequence[int], *, logs: bool) -> Floats:
    terms = np.array([_term(problem, number, float(point[number])) for number in members])
    return np.log(np.maximum(terms, 1e-9)) if logs else terms


def _term(problem: FitProblem, number: int, at: float) -> float:
    """A member as it stands in a combination: a share that others take by what it leaves."""
    parameter = problem.parameters[number]
    return (100 - parameter.value(at)) / 100 if parameter.scale == "share" else parameter.value(at)


def _name(problem: FitProblem, number: int) -> str:
    parameter = problem.parameters[number]
    return f"(1 - {parameter.path} / 100)" if parameter.scale == "share" else parameter.path
