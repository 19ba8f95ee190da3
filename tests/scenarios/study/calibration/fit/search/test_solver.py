"""The solver: from any start it finds what explains a twin's measurements as well as the truth does."""

from random import Random

import numpy as np
import pytest

from tessbed.scenarios.study.calibration.board_data import Setup
from tessbed.scenarios.study.calibration.experiment import Experiment
from tessbed.scenarios.study.calibration.fit.problem import FitProblem
from tessbed.scenarios.study.calibration.fit.search.solver import solve
from tessbed.scenarios.study.calibration.parameter_space import PARAMETERS, parameter_value
from tessbed.scenarios.study.calibration.prediction.launch_model import LaunchModel
from tessbed.scenarios.study.calibration.prediction.row_model import CLOCK_MHZ, row_model
from tests.scenarios.study.calibration.twin import hidden_values, measure

OPEN = ("dma.outstanding", "memory.background_percent")


@pytest.fixture(scope="module")
def problem(experiments: list[Experiment]) -> FitProblem:
    """60 experiments of a hidden device."""
    some = Random("solver").sample(experiments, 60)
    table = measure(some, hidden_values(3), seed=3)
    model = row_model(LaunchModel.of(some), [one.name for one in some], table, Setup("twin", 1000, "measured"))
    guesses = {parameter.path: float(parameter_value(some[0].device, parameter.path)) for parameter in PARAMETERS}
    free = tuple(parameter for parameter in PARAMETERS if parameter.path not in OPEN)
    return FitProblem(model, free, guesses | {CLOCK_MHZ: 1000.0})


def test_the_best_of_a_few_starts_is_as_good_as_the_truth(problem: FitProblem) -> None:
    """The least squares are below those of the hidden values, and from any start far below those of the guesses."""
    draws = np.random.default_rng(0).random((2, len(problem.guess)))
    starts = [problem.guess, *(problem.lowest + (problem.highest - problem.lowest) * draw for draw in draws)]
    found = [solve(problem, start).squares for start in starts]
    assert min(found) < problem.squares({**problem.base, **hidden_values(3)})
    assert max(found) < 0.1 * problem.squares(problem.base)


def test_what_no_row_depends_on_stays_at_its_guess(problem: FitProblem) -> None:
    """Device ticks say nothing of the ways to the device and back."""
    found = problem.values(solve(problem, problem.guess, most_steps=5).point)
    assert [found[path] for path in ("dispatch_ticks", "decode_ticks")] == pytest.approx([100_000, 2_000])


def test_held_coordinates_stay(problem: FitProblem) -> None:
    """A coordinate that is held is where it was, whatever the others do."""
    start = problem.guess.copy()
    start[8] += 0.3
    assert solve(problem, start, [8], most_steps=5).point[8] == start[8]
