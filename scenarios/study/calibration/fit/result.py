"""Result of a fit: what the data do not determine back at its guess, the rest fitted again and made whole."""

from collections.abc import Mapping, Sequence

import attrs

from tessbed import __version__
from tessbed.scenarios.study.calibration.domain import domain_of
from tessbed.scenarios.study.calibration.estimate import Calibration, Combination, Estimate
from tessbed.scenarios.study.calibration.fit.assembly import Assembly
from tessbed.scenarios.study.calibration.fit.clock import relative_to_clock
from tessbed.scenarios.study.calibration.fit.fit_input import FitInput
from tessbed.scenarios.study.calibration.fit.likelihood.confounding import Confounding
from tessbed.scenarios.study.calibration.fit.likelihood.judgement import Judgement, profile_task
from tessbed.scenarios.study.calibration.fit.likelihood.uncertainty import CONFIDENCE
from tessbed.scenarios.study.calibration.fit.likelihood.verdicts import (
    Interval,
    combinations,
    estimates,
    interval_of,
    whole_range,
)
from tessbed.scenarios.study.calibration.fit.local_fit import LocalFit
from tessbed.scenarios.study.calibration.fit.problem import FitProblem
from tessbed.scenarios.study.calibration.fit.search.choices import Choices
from tessbed.scenarios.study.calibration.fit.search.polish import polish
from tessbed.scenarios.study.calibration.fit.search.solver import Solution
from tessbed.scenarios.study.calibration.fit.task_runner import TaskRunner
from tessbed.scenarios.study.calibration.fit.tasks import SolveTask, profile_of, solution_of
from tessbed.scenarios.study.calibration.parameter_space import CLOCK, PARAMETERS


def calibration_of(
    given: FitInput, assembly: Assembly, runner: TaskRunner, tried: Choices, judgement: Judgement
) -> Calibration:
    """The calibration that follows from the verdicts."""
    found, problem = judgement.fit, judgement.fit.problem
    final = _with_guesses(judgement, runner)
    known = [Estimate(path, given.guess(path), round(problem.base[path]), "known", "setup") for path in assembly.known]
    calibration = Calibration(
        board=given.setup.board,
        preset=given.setup.preset,
        clock_mhz=given.setup.clock_mhz,
        clock_source=given.setup.clock_source,
        confidence=CONFIDENCE,
        seed=given.seed,
        estimates=_ordered((*_judged(judgement, final), *tried.counted, *known)),
        combinations=_combinations(judgement, final, runner),
        choices=tuple(tried.kept.items()),
        domain=domain_of(given.experiments),
        noise=found.scatter.noise,
        misfit=found.scatter.misfit,
        rows=problem.model.rows.observations,
        experiments=len(given.experiments),
        table_sha256=given.table_sha256,
        version=__version__,
        lack=found.scatter.lack,
    )
    return relative_to_clock(calibration) if assembly.relative else calibration


def _with_guesses(judgement: Judgement, runner: TaskRunner) -> LocalFit:
    """The fit of the rest with what the data do not determine at its guess, or at the bound that excludes the guess.

    Where these places do not go together, the bounded parameters take theirs one by one, as far as the data let them.
    """
    found, verdicts = judgement.fit, judgement.verdicts
    guesses = found.problem.values(found.problem.guess)
    paths = [parameter.path for parameter in found.problem.parameters]
    places = {n: place for n, one in verdicts.items() if (place := one.place(n, round(guesses[paths[n]]))) is not None}
    final = _held("determined", found, places, runner)
    if final.best.squares - found.best.squares <= found.allowance:
        return final
    bounded = [number for number in places if verdicts[number].word in ("at_least", "at_most")]
    held = {number: place for number, place in places.items() if number not in bounded}
    final = _held("bounded", found, held, runner)
    for number in bounded:
        other = _held(f"bounded {paths[number]}", found, {**held, number: places[number]}, runner)
        if other.best.squares - found.best.squares <= found.allowance:
            final, held = other, {**held, number: places[number]}
    return final


def _held(name: str, found: LocalFit, places: Mapping[int, int], runner: TaskRunner) -> LocalFit:
    """The fit of the other parameters with these at their places."""
    problem = found.problem
    base = {**problem.base, **{problem.parameters[number].path: float(place) for number, place in places.items()}}
    free = [number for number in range(len(problem.parameters)) if number not in places]
    final = attrs.evolve(problem, base=base, parameters=tuple(problem.parameters[n] for n in free))
    [result] = runner.run([SolveTask(name, final, found.best.point[free])]).values()
    return LocalFit.of(final, solution_of(result), found.roughness)


def _judged(judgement: Judgement, final: LocalFit) -> tuple[Estimate, ...]:
    """The estimates of the free parameters, with whole values inside their intervals rounded outwards."""
    problem = judgement.fit.problem
    ranges = {problem.parameters[n].path: verdict.interval for n, verdict in judgement.verdicts.items()}
    limits = {one.path: whole_range(one, ranges[one.path]) for one in final.problem.parameters}
    whole = polish(final.problem, final.best.point, final.nearby, final.deviation, limits)
    base = problem.base
    bounds = {
        path: round(value) for path, value in final.problem.base.items() if path in ranges and value != base[path]
    }
    shown = attrs.evolve(judgement.fit.best, point=problem.point(final.problem.values(final.best.point)))
    return estimates(problem, shown, judgement.verdicts, bounds | whole)


def _combinations(judgement: Judgement, final: LocalFit, runner: TaskRunner) -> tuple[Combination, ...]:
    """The groups, each with the interval of the member that carries it."""
    problem = judgement.fit.problem
    carried: dict[int, tuple[FitProblem, Solution, Interval]] = {}
    for group in judgement.groups:
        carried[group.members[0]] = final.problem, final.best, _carried(problem, group, final, runner)
    return combinations(problem, judgement.groups, carried)


def _carried(problem: FitProblem, group: Confounding, final: LocalFit, runner: TaskRunner) -> Interval:
    """The interval of a group's first member, all others being at their guesses."""
    path = problem.parameters[group.members[0]].path
    number = next(n for n, parameter in enumerate(final.problem.parameters) if parameter.path == path)
    [result] = runner.run([profile_task(final, f"carrier {path}", number)]).values()
    return interval_of(final.problem.parameters[number], profile_of(number, result))


def _ordered(found: Sequence[Estimate]) -> tuple[Estimate, ...]:
    order: Mapping[str, int] = {parameter.path: number for number, parameter in enumerate((*PARAMETERS, CLOCK))}
    return tuple(sorted(found, key=lambda one: order[one.path]))
