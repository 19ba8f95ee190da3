"""Coverage: intervals hold the truth as often as they claim, over 200 planted values of hidden devices."""

from random import Random

import pytest

from tessbed.scenarios.study.calibration.board_data import Setup, Table
from tessbed.scenarios.study.calibration.experiment import Experiment
from tessbed.scenarios.study.calibration.fit.execution import fit_table
from tessbed.scenarios.study.calibration.fit.fit_input import FitInput
from tessbed.scenarios.study.calibration.validation import validate_calibration
from tests.scenarios.study.calibration.conftest import held_out, local_runner
from tests.scenarios.study.calibration.twin import hidden_values, measure

OBSERVABLES = ("device", "record", "job", "first_job")
PLANTED = 200


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_intervals_cover_as_often_as_they_claim(experiments: list[Experiment]) -> None:
    """Of 200 determined values 85 to 95 % are inside their 90 % interval, and all inside twice that.

    What is held out is predicted within twice the scatter.
    """
    inside, near, number = 0, 0, 0
    seed = 1000
    while number < PLANTED:
        seed += 1
        some = Random(f"coverage {seed}").sample(experiments, 130)
        hidden = hidden_values(seed)
        named = {one.name: one for one in some}
        table = held_out(measure(some, hidden, OBSERVABLES, seed=seed), named, every=6)
        rows: Table = table.part("fit")
        setup = Setup("twin", 1000, "measured")
        used = tuple(named[name] for name in rows.experiments)
        found = fit_table(FitInput(setup, rows, used, seed=seed), local_runner())
        own = validate_calibration(found, setup, table, named).scores[0]
        assert own.mape < 2 * 100 * 0.02, (seed, own)
        for one in found.estimates:
            if one.verdict == "determined" and one.low is not None and one.high is not None:
                value, width = hidden[one.path], one.high - one.low
                number += 1
                inside += one.low <= value <= one.high
                near += one.low - width / 2 <= value <= one.high + width / 2
    assert 0.85 <= inside / number <= 0.95, (inside, number)
    assert near == number, (near, number)
