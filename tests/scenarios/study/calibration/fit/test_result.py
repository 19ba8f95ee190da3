"""Result: what is bounded alone goes back to its guess as far as the others let it."""

import pytest

from tessbed.scenarios.study.calibration.board_data import Setup
from tessbed.scenarios.study.calibration.experiment import Experiment
from tessbed.scenarios.study.calibration.fit.likelihood.judgement import Judgement
from tessbed.scenarios.study.calibration.fit.likelihood.verdicts import ParameterVerdict
from tessbed.scenarios.study.calibration.fit.local_fit import LocalFit
from tessbed.scenarios.study.calibration.fit.problem import FitProblem
from tessbed.scenarios.study.calibration.fit.result import _with_guesses
from tessbed.scenarios.study.calibration.fit.search.solver import solve
from tessbed.scenarios.study.calibration.parameter_space import PARAMETERS, values_by_path
from tessbed.scenarios.study.calibration.prediction.launch_model import LaunchModel
from tessbed.scenarios.study.calibration.prediction.row_model import CLOCK_MHZ, row_model
from tests.scenarios.study.calibration.conftest import local_runner
from tests.scenarios.study.calibration.twin import measure

WAYS = ("dispatch_ticks", "completion_ticks")


@pytest.fixture
def found(probes: dict[str, Experiment]) -> LocalFit:
    """The fit of dispatch and completion, of which jobs tell the sum: 120,000 ticks, by guess 150,000."""
    some = list(probes.values())[:12]
    guesses = values_by_path(some[0].device)
    hidden = {
        **{path: round(value) for path, value in guesses.items()},
        "dispatch_ticks": 75_000,
        "completion_ticks": 45_000,
    }
    table = measure(some, hidden, ("job",), seed=3, repeats=2)
    model = row_model(LaunchModel.of(some), [one.name for one in some], table, Setup("twin", 1000, "measured"))
    free = tuple(parameter for parameter in PARAMETERS if parameter.path in WAYS)
    problem = FitProblem(model, free, guesses | {CLOCK_MHZ: 1000.0})
    return LocalFit.of(problem, solve(problem, problem.guess))


def test_bounded_parameters_take_their_guesses_one_by_one(found: LocalFit) -> None:
    """Either guess is possible, both are not: the first stays at its own, and the second is what is left."""
    bounded = {number: ParameterVerdict("at_most", (None, 119_000.0)) for number in range(2)}
    final = _with_guesses(Judgement(found, bounded, ()), local_runner())
    values = final.problem.values(final.best.point)
    assert values["dispatch_ticks"] == 100_000
    assert values["completion_ticks"] == pytest.approx(20_000, rel=0.1)
    assert [parameter.path for parameter in final.problem.parameters] == ["completion_ticks"]


def test_a_guess_that_is_excluded_gives_way_to_its_bound(found: LocalFit) -> None:
    """And the rest is fitted beside it: the sum stays what was measured."""
    words = {0: ParameterVerdict("at_most", (None, 80_000.5)), 1: ParameterVerdict("determined", (39_000.0, 42_000.0))}
    final = _with_guesses(Judgement(found, words, ()), local_runner())
    values = final.problem.values(final.best.point)
    assert values["dispatch_ticks"] == 80_000
    assert sum(values[path] for path in WAYS) == pytest.approx(120_000, rel=0.02)
