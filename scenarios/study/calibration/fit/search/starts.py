"""Starts, scans and hops: where a search begins, and how it leaves the shallow minima of a rough sum of squares.

Shares stay at their guesses in the starts, since what they share makes up for them, in a long narrow valley. Rates and
latencies have the deepest kinks, since their prices are rounded to bursts and bytes: a scan moves each of them to other
values, fits the rest around it, and lets it go. A hop
moves the parameters a little, as far as the data let them, and fits again. Prices have kinks, so that S has many
shallow minima. A hop may find a lower one, and all of them together say how rough S is.
"""

import numpy as np

from tessbed.scenarios.study.calibration.fit.fit_input import FitInput
from tessbed.scenarios.study.calibration.fit.local_fit import LocalFit
from tessbed.scenarios.study.calibration.fit.problem import FitProblem
from tessbed.scenarios.study.calibration.fit.search.solver import Solution
from tessbed.scenarios.study.calibration.fit.task_runner import TaskRunner
from tessbed.scenarios.study.calibration.fit.tasks import RefitTask, ScanTask, SolveTask, solution_of

SLIGHT = 0.05
"""Of the variance: a step that gains less ends a refit."""
ROUGHLY = 0.5
"""Of the variance: what ends a refit of a scan, which looks for gains of VALLEY."""
HOPS, HOP_LAPS = 8, 4
FACTORS = (0.8, 0.87, 0.94, 1.06, 1.13, 1.2)
SCAN_LAPS = 3
VALLEY = 10.0
"""Of the variance: a scan that gains less has met a shallow minimum, which is for hops.

Theory. With normal scatter of variance v, exp((S - S') / 2v) is the likelihood ratio of another place to this one. If
this one is right, the mean of the ratio over all measurements is 1 (it integrates a density), so that by Markov it
exceeds exp(VALLEY / 2) = 148 less often than once in 148. A lap tries 30 places: by chance alone one of them leads a
fit away from the right valley once in five fits at most, and in fact more rarely, as 30 places end in few valleys. At
2.7, where an interval ends, the same bound says nothing. A valley that is right is better by 10 as soon as it explains
one row that is off by more than 3 deviations in the other.
"""
LATENCIES = ("memory.read_latency_ticks", "memory.write_latency_ticks")


def best_start(given: FitInput, problem: FitProblem, runner: TaskRunner) -> Solution:
    """The best of the guesses' and the drawn starts."""
    draws = np.random.default_rng(given.seed).random((given.starts, len(problem.parameters)))
    shares = tuple(n for n, parameter in enumerate(problem.parameters) if parameter.scale == "share")
    points = [problem.guess, *(problem.lowest + (problem.highest - problem.lowest) * row for row in draws[1:])]
    for point in points:
        point[list(shares)] = problem.guess[list(shares)]
    tasks = [SolveTask(f"start {number}", problem, point, shares) for number, point in enumerate(points, 1)]
    best = min(map(solution_of, runner.run(tasks).values()), key=lambda solution: solution.squares)
    return solution_of(runner.run([SolveTask("released", problem, best.point)])["released"]) if shares else best


def scanned(found: LocalFit, runner: TaskRunner) -> LocalFit:
    """The lowest minimum that moving one rate or latency leads to, again from there as long as that helps."""
    for lap in range(1, SCAN_LAPS + 1):
        tasks = [
            _scan_task(found, lap, number, factor)
            for number, parameter in enumerate(found.problem.parameters)
            if parameter.scale == "rate" or parameter.path in LATENCIES
            for factor in FACTORS
        ]
        ended = map(solution_of, runner.run(tasks).values())
        best = min(ended, key=lambda solution: solution.squares, default=found.best)
        if found.best.squares - best.squares < VALLEY * found.scatter.variance:
            break
        found = LocalFit.of(found.problem, best)
    return found


def _scan_task(found: LocalFit, lap: int, number: int, factor: float) -> ScanTask:
    """With a parameter at so many times its value, whole and inside its range."""
    parameter = found.problem.parameters[number]
    value = round(factor * parameter.value(float(found.best.point[number])))
    place = parameter.coordinate(min(parameter.high, max(parameter.low, value)))
    slight = ROUGHLY * found.scatter.variance
    name = f"scan {lap} {parameter.path} x {factor:g}"
    return ScanTask(name, found.problem, found.best, found.nearby.derivatives, number, place, slight)


def hopped(given: FitInput, found: LocalFit, runner: TaskRunner) -> LocalFit:
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
            found = LocalFit.of(found.problem, best)
    excess = np.array(squares) - found.best.squares
    return found.roughened(float(np.median(excess)))
