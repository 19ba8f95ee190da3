"""Design: which experiments tell most about all parameters together, and what they are expected to tell.

Theory. At a point x of the parameters an experiment adds J^T J / s^2 to the information, J being the derivatives of the
logarithms that it measures and s their scatter. The volume of the region that remains is the root of 1 / det of the
sum, so the greedy choice is the experiment that raises log det most (D-optimality). A range of a parameter is
information, too: as much as an even distribution over it has, so that log det exists from the start.

Derivatives depend on x, which nobody knows. So the gain is the mean over points drawn from the ranges, and so is what a
plan expects: medians over those points.
"""

from collections.abc import Callable, Sequence
from math import sqrt

import attrs
import numpy as np

from tessbed.scenarios.study.calibration.board_data import Observation, Setup, Table
from tessbed.scenarios.study.calibration.experiment import Experiment
from tessbed.scenarios.study.calibration.fit.problem import FitProblem
from tessbed.scenarios.study.calibration.observables import TICKS
from tessbed.scenarios.study.calibration.parameter_space import FreeParameter, in_ranges, values_by_path
from tessbed.scenarios.study.calibration.prediction.launch_model import Floats, LaunchModel
from tessbed.scenarios.study.calibration.prediction.row_model import CLOCK_MHZ, row_model

REACH = 1.645
"""Half the width of a 90 % interval, in standard deviations."""
ALIKE = 0.98
"""Two parameters whose derivatives are in this proportion everywhere are not told apart."""
PRECISE, WEAK = 0.1, 0.5
FAINT = 1e-4
"""A row moves with a parameter where its logarithm changes by more, over one unit of the parameter's scale."""

Advance = Callable[[int], None]


@attrs.frozen(eq=False)
class Information:
    """Derivatives at drawn points: point, experiment, observable, parameter; each relative to the scatter of a mean."""

    parameters: tuple[FreeParameter, ...]
    rows: Floats

    @property
    def prior(self) -> Floats:
        """The information of the ranges, a number for each parameter."""
        return 12 / np.array([_width(parameter) for parameter in self.parameters]) ** 2


@attrs.frozen
class Expectation:
    """What a plan expects of a parameter: a 90 % interval of so many percent either way, in a word, and its doubles.

    The word is precise, weak, open, or untouched. `alike` are parameters that the plan does not tell from this one.
    """

    path: str
    percent: float
    word: str
    alike: tuple[str, ...] = ()


def information(
    experiments: Sequence[Experiment],
    observables: Sequence[str],
    setup: Setup,
    *,
    noise: float,
    repeats: int,
    points: int,
    seed: int,
    advance: Advance = lambda done: None,
) -> Information:
    """What each experiment would tell at points drawn from the ranges."""
    problem = _problem(experiments, observables, setup)
    draws = np.random.default_rng(seed).random((points, len(problem.parameters)))
    found = []
    for draw in draws:
        point = problem.lowest + (problem.highest - problem.lowest) * draw
        timings = problem.timings(problem.values(point))
        derivatives, _ = problem.jacobian(point, timings, range(len(point)))
        found.append(derivatives.reshape(len(experiments), len(observables), -1))
        advance(1)
    return Information(problem.parameters, np.array(found) * sqrt(repeats) / noise)


def best_choice(found: Information, budget: int, allowed: Sequence[int]) -> list[int]:
    """The numbers of the experiments that a budget is best spent on, in the order in which they were chosen."""
    points = len(found.rows)
    known = np.stack([np.diag(found.prior)] * points)
    left, chosen = list(allowed), []
    while left and len(chosen) < budget:
        gains = np.zeros(len(left))
        for inverse, rows in zip(np.linalg.inv(known), found.rows[:, left], strict=True):
            told = rows @ inverse @ np.swapaxes(rows, 1, 2)
            gains += np.linalg.slogdet(np.eye(rows.shape[1]) + told)[1]
        best = left.pop(int(gains.argmax()))
        chosen.append(best)
        rows = found.rows[:, best]
        known = known + np.swapaxes(rows, 1, 2) @ rows
    return chosen


def expectations(found: Information, chosen: Sequence[int]) -> list[Expectation]:
    """What these experiments are expected to tell of each parameter."""
    rows = found.rows[:, list(chosen)].reshape(len(found.rows), -1, len(found.parameters))
    told = np.swapaxes(rows, 1, 2) @ rows
    spread = np.sqrt(np.diagonal(np.linalg.inv(told + np.diag(found.prior)), axis1=1, axis2=2))
    lengths = np.sqrt(np.diagonal(told, axis1=1, axis2=2))
    half = np.median(REACH * spread, axis=0)
    touched = np.median(lengths, axis=0) > FAINT
    return [
        Expectation(
            path=parameter.path,
            percent=100 * float(np.expm1(half[number])),
            word=_word(float(half[number]), bool(touched[number])),
            alike=_alike(found, told, lengths, number),
        )
        for number, parameter in enumerate(found.parameters)
    ]


def _alike(found: Information, told: Floats, lengths: Floats, number: int) -> tuple[str, ...]:
    """The parameters whose rows are in proportion to those of this one, at every point."""
    with np.errstate(divide="ignore", invalid="ignore"):
        cosines = np.abs(told[:, number] / (lengths[:, [number]] * lengths))
    everywhere = np.nan_to_num(cosines).min(axis=0) > ALIKE
    return tuple(p.path for n, p in enumerate(found.parameters) if n != number and everywhere[n])


def _word(half: float, touched: bool) -> str:
    if not touched:
        return "untouched"
    return "precise" if half <= PRECISE else "weak" if half <= WEAK else "open"


def _problem(experiments: Sequence[Experiment], observables: Sequence[str], setup: Setup) -> FitProblem:
    """A problem with a row for each observable of each experiment; what was measured does not matter."""
    rows = [Observation(one.name, observable, 0, 1.0, TICKS) for one in experiments for observable in observables]
    names = [one.name for one in experiments]
    model = row_model(LaunchModel.of(experiments), names, Table(tuple(rows)), setup)
    device = experiments[0].device
    free = tuple(parameter for parameter in in_ranges(setup.ranges) if parameter.low < parameter.high)
    return FitProblem(model, free, values_by_path(device) | {CLOCK_MHZ: float(setup.clock_mhz)})


def _width(parameter: FreeParameter) -> float:
    return abs(parameter.coordinate(parameter.high) - parameter.coordinate(parameter.low))
