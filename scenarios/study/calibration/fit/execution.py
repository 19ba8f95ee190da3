"""Execution of a fit: from a table to a Calibration, stage by stage, in parallel, resumed where it was interrupted.

1. Starts: least squares from the guesses and from drawn points. The best is where all else begins (search/starts).
2. Choices: each combination of discrete choices, then each count of credits, fitted from there (search/choices).
3. Scans and hops: out of shallow minima; how rough the sum of squares is widens the intervals (search/starts).
4. Profiles of all parameters, for verdicts (likelihood/judgement).
5. What the data do not determine goes back to its guess. The rest is fitted again, made whole, and profiled where it
   carries a combination (result).
"""

from collections.abc import Callable
from math import sqrt

from tessbed.scenarios.study.calibration.estimate import Calibration
from tessbed.scenarios.study.calibration.fit.assembly import assemble
from tessbed.scenarios.study.calibration.fit.fit_input import FitInput
from tessbed.scenarios.study.calibration.fit.likelihood.judgement import judged
from tessbed.scenarios.study.calibration.fit.local_fit import LocalFit
from tessbed.scenarios.study.calibration.fit.result import calibration_of
from tessbed.scenarios.study.calibration.fit.search.choices import Choices
from tessbed.scenarios.study.calibration.fit.search.starts import best_start, hopped, scanned
from tessbed.scenarios.study.calibration.fit.task_runner import TaskRunner

Say = Callable[[str], None]


def fit_table(given: FitInput, runner: TaskRunner, say: Say = lambda text: None) -> Calibration:
    """The calibration. Raises ScenarioError for what can not be fitted; an interrupt leaves the state to go on from."""
    assembly = assemble(given.setup, given.table, given.experiments)
    problem = assembly.problem
    rows = problem.model.rows
    off = sqrt(problem.squares(problem.base) / len(rows.logs))
    say(f"{rows.observations:,} rows, {len(problem.parameters)} parameters; the guesses are off by {100 * off:.1f} %")
    tried = Choices(given.setup, assembly, runner)
    found = tried.best(LocalFit.of(problem, best_start(given, problem, runner)))
    judgement = judged(hopped(given, scanned(found, runner), runner), runner)
    return calibration_of(given, assembly, runner, tried, judgement)
