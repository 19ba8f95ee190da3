"""Execution of a fit: from a table to a Calibration, stage by stage, in parallel, resumed where it was interrupted.

1. Starts: least squares from the guesses and from drawn points. Shares stay at their guesses at first, since what they
   share makes up for them, in a long narrow valley. The best is where all else begins.
2. Choices: each combination of discrete choices, then each count of credits, fitted from there. The guess is kept
   unless the data exclude it.
3. Hops: the parameters are moved a little, as far as the data let them, and fitted again. Prices have kinks, so that S
   has many shallow minima. A hop may find a lower one, and all of them say how rough S is: by how much a fit misses its
   least value. An interval allows for that, since the points of a profile are such fits.
4. Profiles of all parameters, for verdicts. From a better fit that one meets they are made again, once.
5. What the data do not determine goes back to its guess. The rest is fitted again, made whole, and profiled where it
   carries a combination.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import sqrt
from typing import Any

import attrs
import numpy as np

from tessbed import __version__
from tessbed.scenarios.model import ScenarioJob
from tessbed.scenarios.study.calibration.board_data import Setup, Table
from tessbed.scenarios.study.calibration.estimate import Calibration, Domain, Estimate, Value
from tessbed.scenarios.study.calibration.experiment import Experiment
from tessbed.scenarios.study.calibration.fit.assembly import COUNTS, Assembly, assemble
from tessbed.scenarios.study.calibration.fit.clock import relative_to_clock
from tessbed.scenarios.study.calibration.fit.confounding import Confounding, confoundings
from tessbed.scenarios.study.calibration.fit.polish import polish
from tessbed.scenarios.study.calibration.fit.problem import FitProblem
from tessbed.scenarios.study.calibration.fit.solver import Solution
from tessbed.scenarios.study.calibration.fit.task_runner import TaskRunner
from tessbed.scenarios.study.calibration.fit.tasks import ProfileTask, RefitTask, SolveTask, profile_of, solution_of
from tessbed.scenarios.study.calibration.fit.uncertainty import CONFIDENCE, Neighbourhood, Scatter
from tessbed.scenarios.study.calibration.fit.verdicts import (
    Interval,
    ParameterVerdict,
    combinations,
    estimates,
    interval_of,
    verdict_of,
)
from tessbed.scenarios.study.calibration.parameter_space import CLOCK, PARAMETERS, parameter_value
from tessbed.scenarios.study.calibration.prediction.launch_model import Floats
from tessbed.sim.spec.device_spec import DeviceSpec

SLIGHT = 0.05
"""Of the variance: a step that gains less ends the fit of a choice."""
BETTER = 0.3
"""Of the variance: a profile that meets a fit better by more begins the profiles anew."""
WIDEST = 0.25
"""The first step of a profile is no longer, on the parameter's scale."""
HOPS, HOP_LAPS = 8, 3
FARTHEST = 0.3
ROUGHEST = 4.0
"""Of the variance: a rougher S than this is not the model's, but a solver's that ended far away."""
CONFOUNDED = 8.0
"""What others leave open of a parameter, by so many times what it is known by itself, is worth a thorough look."""
Say = Callable[[str], None]


@attrs.frozen(eq=False)
class FitInput:
    """What a fit depends on: setup, the rows that are for fitting, their experiments, and how hard to look."""

    setup: Setup
    table: Table
    experiments: tuple[Experiment, ...]
    table_sha256: str = ""
    seed: int = 0
    starts: int = 4

    @property
    def key(self) -> str:
        """A hash of all of it: equal keys are equal fits."""
        rows = [attrs.astuple(attrs.evolve(row, place=None)) for row in self.table.observations]
        shapes = [(one.name, one.shape, one.workers, repr(one.device)) for one in self.experiments]
        said = [__version__, repr(self.setup), rows, shapes, self.seed, self.starts]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()


@attrs.frozen(eq=False)
class _Fit:
    """A solution with what is known around it."""

    problem: FitProblem
    best: Solution
    nearby: Neighbourhood
    scatter: Scatter
    roughness: float = 0.0

    @classmethod
    def of(cls, problem: FitProblem, best: Solution) -> "_Fit":
        timings = problem.timings(problem.values(best.point))
        derivatives, _ = problem.jacobian(best.point, timings, range(len(best.point)))
        nearby = Neighbourhood.of(derivatives)
        return cls(problem, best, nearby, Scatter.of(problem, best.squares, nearby.rank))

    @property
    def deviation(self) -> float:
        """The standard deviation of one repetition."""
        return sqrt(self.scatter.variance)

    @property
    def alone(self) -> Floats:
        """The standard deviation of each parameter with everything else known."""
        return self.nearby.alone * self.deviation

    def hop(self, draw: Floats) -> Floats:
        """A point near the best one, drawn as the data leave it open, but no direction with more than FARTHEST."""
        sizes, directions = np.linalg.eigh(self.nearby.covariance)
        deviations = np.minimum(np.sqrt(np.maximum(sizes, 0.0)) * self.deviation, FARTHEST)
        moved = directions @ (deviations * draw)
        return np.clip(self.best.point + moved, self.problem.lowest, self.problem.highest)

    def profile_task(self, name: str, number: int) -> ProfileTask:
        reach = float(self.nearby.together[number]) * self.deviation * self.scatter.reach
        first, threshold = min(reach, WIDEST), self.scatter.threshold() + self.roughness
        confounded = bool(self.nearby.together[number] > CONFOUNDED * self.nearby.alone[number])
        own = self.problem, self.best, self.nearby.derivatives, number
        return ProfileTask(name, *own, first, threshold, confounded)


def fit_table(given: FitInput, runner: TaskRunner, say: Say = lambda text: None) -> Calibration:
    """The calibration. Raises ScenarioError for what can not be fitted; an interrupt leaves the state to go on from."""
    assembly = assemble(given.setup, given.table, given.experiments)
    problem = assembly.problem
    rows = problem.model.rows
    off = sqrt(problem.squares(problem.base) / len(rows.logs))
    say(f"{rows.observations:,} rows, {len(problem.parameters)} parameters; the guesses are off by {100 * off:.1f} %")
    start = _starts(given, problem, runner)
    tried = _Choices(given.setup, assembly, runner)
    found = _hopped(given, tried.best(_Fit.of(problem, start)), runner)
    found, verdicts, groups = _judged(found, runner)
    return _result(given, assembly, runner, tried, found, verdicts, groups)


def _starts(given: FitInput, problem: FitProblem, runner: TaskRunner) -> Solution:
    """The best of the guesses' and the drawn starts."""
    draws = np.random.default_rng(given.seed).random((given.starts, len(problem.parameters)))
    shares = tuple(n for n, parameter in enumerate(problem.parameters) if parameter.scale == "share")
    points = [problem.guess, *(problem.lowest + (problem.highest - problem.lowest) * row for row in draws[1:])]
    for point in points:
        point[list(shares)] = problem.guess[list(shares)]
    tasks = [SolveTask(f"start {number}", problem, point, shares) for number, point in enumerate(points, 1)]
    best = min(map(solution_of, runner.run(tasks).values()), key=lambda solution: solution.squares)
    return solution_of(runner.run([SolveTask("released", problem, best.point)])["released"]) if shares else best


def _hopped(given: FitInput, found: _Fit, runner: TaskRunner) -> _Fit:
    """The lowest minimum that hops find, and how rough S is around it."""
    random = np.random.default_rng((given.seed, 1))
    squares: list[float] = []
    for lap in range(1, HOP_LAPS + 1):
        points = [found.hop(random.standard_normal(len(found.best.point))) for _ in range(HOPS)]
        slight = SLIGHT * found.scatter.variance
        tasks = [
            RefitTask(f"hop {lap}.{number}", found.problem, Solution(point, 0.0, 0), found.nearby.derivatives, slight)
            for number, point in enumerate(points, 1)
        ]
        ended = [solution_of(result) for result in runner.run(tasks).values()]
        squares += [solution.squares for solution in ended]
        best = min(ended, key=lambda solution: solution.squares)
        if best.squares < found.best.squares:
            found = _Fit.of(found.problem, best)
    excess = np.array(squares) - found.best.squares
    return attrs.evolve(found, roughness=min(float(np.median(excess)), ROUGHEST * found.scatter.variance))


@attrs.define(eq=False)
class _Choices:
    """Discrete choices and counts, and which of their values the data do not exclude."""

    setup: Setup
    assembly: Assembly
    runner: TaskRunner
    kept: dict[str, tuple[Value, ...]] = attrs.field(factory=dict)
    counted: list[Estimate] = attrs.field(factory=list)

    def best(self, found: _Fit) -> _Fit:
        """The fit with the best choices and counts."""
        paths = list(self.setup.choices)
        if paths:
            combined = [dict(zip(paths, values, strict=True)) for values in product(*self.setup.choices.values())]
            fits = {_label(one): attrs.evolve(found.problem, choices=one) for one in combined}
            found, admitted = self._tried(found, fits, _label(_guessed(found.problem.device, paths)))
            chosen = dict(found.problem.choices)
            for path in paths:
                values = dict.fromkeys(fits[label].choices[path] for label in admitted)
                self.kept[path] = (chosen[path], *(value for value in values if value != chosen[path]))
        for parameter in self.assembly.counts:
            guess = round(found.problem.base[parameter.path])
            numbers = sorted({guess, *(n for n in COUNTS if parameter.low <= n <= parameter.high)})
            path = parameter.path
            fits = {
                f"{path}={n}": attrs.evolve(found.problem, base={**found.problem.base, path: float(n)}) for n in numbers
            }
            found, admitted = self._tried(found, fits, f"{path}={guess}")
            self.counted.append(_count(path, guess, round(found.problem.base[path]), numbers, admitted))
        return found

    def _tried(self, found: _Fit, fits: Mapping[str, FitProblem], guess: str) -> tuple[_Fit, list[str]]:
        """The best of some problems, and which of them are admitted; the guess where it is among those."""
        slight = SLIGHT * found.scatter.variance
        own = found.best, found.nearby.derivatives, slight
        tasks = [RefitTask(f"choice {name}", one, *own) for name, one in fits.items()]
        solutions = dict(zip(fits, map(solution_of, self.runner.run(tasks).values()), strict=True))
        least = min(solution.squares for solution in solutions.values())
        limit = least + Scatter.of(found.problem, least, found.nearby.rank).threshold()
        admitted = [name for name, solution in solutions.items() if solution.squares <= limit]
        chosen = guess if guess in admitted else min(admitted, key=lambda name: solutions[name].squares)
        if chosen == guess:
            return found, admitted
        task = SolveTask(f"chosen {chosen}", fits[chosen], solutions[chosen].point)
        return _Fit.of(fits[chosen], solution_of(self.runner.run([task])[task.name])), admitted


def _guessed(device: DeviceSpec, paths: Sequence[str]) -> dict[str, Any]:
    return {path: parameter_value(device, path) for path in paths}


def _label(choices: Mapping[str, Any]) -> str:
    return ", ".join(f"{path}={value}" for path, value in choices.items())


def _count(path: str, guess: int, value: int, numbers: Sequence[int], admitted: Sequence[str]) -> Estimate:
    """The estimate of a count, from which of the numbers that were tried the data do not exclude."""
    inside = [n for n in numbers if f"{path}={n}" in admitted]
    below, above = [n for n in numbers if n < inside[0]], [n for n in numbers if n > inside[-1]]
    low, high = (below[-1] + 1.0 if below else None), (above[0] - 1.0 if above else None)
    word = {(0, 0): "untouched", (1, 0): "at_least", (0, 1): "at_most"}.get((bool(below), bool(above)), "determined")
    sure = {"untouched": "guess", "determined": "calibrated"}.get(word, "guess" if value == guess else "bound")
    return Estimate(path, guess, value, word, sure, low, high, fitted=float(value))


def _judged(found: _Fit, runner: TaskRunner) -> tuple[_Fit, dict[int, ParameterVerdict], tuple[Confounding, ...]]:
    """The verdicts on all free parameters, from profiles around the best solution that is met."""
    for lap in ("profile", "again"):
        tasks = [found.profile_task(f"{lap} {p.path}", n) for n, p in enumerate(found.problem.parameters)]
        profiles = [
            profile_of(task.number, result) for task, result in zip(tasks, runner.run(tasks).values(), strict=True)
        ]
        met = [one.better for one in profiles if one.better is not None]
        better = min(met, key=lambda solution: solution.squares, default=found.best)
        if lap == "again" or found.best.squares - better.squares < BETTER * found.scatter.variance:
            break
        task = SolveTask("better", found.problem, better.point)
        rough = found.roughness
        found = attrs.evolve(_Fit.of(found.problem, solution_of(runner.run([task])["better"])), roughness=rough)
    groups = confoundings(found.problem, found.best, profiles, found.alone)
    verdicts = {one.number: verdict_of(found.problem, found.best, one, groups, found.alone) for one in profiles}
    return found, verdicts, groups


def _result(
    given: FitInput,
    assembly: Assembly,
    runner: TaskRunner,
    tried: _Choices,
    found: _Fit,
    verdicts: Mapping[int, ParameterVerdict],
    groups: Sequence[Confounding],
) -> Calibration:
    """The calibration: what is not determined at its guess, the rest fitted again and made whole."""
    problem = found.problem
    guesses = problem.values(problem.guess)
    kept = [n for n, verdict in verdicts.items() if verdict.keeps_guess(n, guesses[problem.parameters[n].path])]
    final = _with_guesses("determined", found, kept, runner)
    if final.best.squares - found.best.squares > found.scatter.threshold() + found.roughness:  # a guess is in the way
        kept = [n for n in kept if verdicts[n].word in ("untouched", "combination")]
        final = _with_guesses("bounded", found, kept, runner)
    whole = polish(final.problem, final.best.point, final.nearby, final.deviation)
    carried = {}
    for group in groups:
        path = problem.parameters[group.members[0]].path
        number = next(n for n, p in enumerate(final.problem.parameters) if p.path == path)
        [result] = runner.run([final.profile_task(f"carrier {path}", number)]).values()
        interval: Interval = interval_of(final.problem.parameters[number], profile_of(number, result))
        carried[group.members[0]] = final.problem, final.best, interval
    point = problem.point(final.problem.values(final.best.point))
    shown = attrs.evolve(found.best, point=point)
    judged = estimates(problem, shown, verdicts, whole)
    known = tuple(
        Estimate(path, _guess(given, path), round(problem.base[path]), "known", "setup") for path in assembly.known
    )
    calibration = Calibration(
        board=given.setup.board,
        preset=given.setup.preset,
        clock_mhz=given.setup.clock_mhz,
        clock_source=given.setup.clock_source,
        confidence=CONFIDENCE,
        seed=given.seed,
        estimates=_ordered((*judged, *tried.counted, *known)),
        combinations=combinations(problem, groups, carried),
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


def _with_guesses(name: str, found: _Fit, kept: Sequence[int], runner: TaskRunner) -> _Fit:
    """The fit of the other parameters with these at their guesses."""
    problem = found.problem
    own = problem.values(problem.guess)
    base = {**problem.base, **{problem.parameters[n].path: own[problem.parameters[n].path] for n in kept}}
    free = [n for n in range(len(problem.parameters)) if n not in kept]
    final = attrs.evolve(problem, base=base, parameters=tuple(problem.parameters[n] for n in free))
    [result] = runner.run([SolveTask(name, final, found.best.point[free])]).values()
    return attrs.evolve(_Fit.of(final, solution_of(result)), roughness=found.roughness)


def _guess(given: FitInput, path: str) -> Value:
    return parameter_value(given.experiments[0].device, path)


def _ordered(found: Sequence[Estimate]) -> tuple[Estimate, ...]:
    order = {parameter.path: number for number, parameter in enumerate((*PARAMETERS, CLOCK))}
    return tuple(sorted(found, key=lambda one: order[one.path]))


def domain_of(experiments: Sequence[Experiment]) -> Domain:
    """What experiments cover."""
    workers = [one.workers for one in experiments]
    sizes = [_output_bytes(one) for one in experiments]
    jobs = {_job(one) for one in experiments}
    return Domain((min(workers), max(workers)), (min(sizes), max(sizes)), tuple(sorted(jobs)))


def _job(one: Experiment) -> str:
    job = one.job
    return f"{job.what} {job.geometry.dtype.value}" if isinstance(job, ScenarioJob) else f"kernel {job.what}"


def _output_bytes(one: Experiment) -> int:
    job = one.job
    if isinstance(job, ScenarioJob):
        return job.plan.output.required_bytes
    return sum(port.required_bytes for port in job.planned.outputs)
