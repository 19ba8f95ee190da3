"""Validation: a twin of our own model passes, a board with another memory fails, with the pairs that are wrong."""

from math import exp
from random import Random

import attrs
import pytest

from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.study.calibration.board_data import FIT, VALIDATE, Observation, Table
from tessbed.scenarios.study.calibration.estimate import Estimate
from tessbed.scenarios.study.calibration.fit.execution import fit_table
from tessbed.scenarios.study.calibration.validation import (
    Validation,
    validate_calibration,
    validation_document,
    validation_lines,
)
from tests.scenarios.study.calibration.conftest import Twin, held_out, local_runner
from tests.scenarios.study.calibration.twin import shared_port_ticks

MASTER = {"reads": 32, "size": 65_536, "pause": 3_000}


def validated(twin: Twin) -> Validation:
    """The validation of a twin's own calibration."""
    return validate_calibration(twin.calibration, twin.setup, twin.table, twin.experiments)


@pytest.fixture(scope="module")
def shared(twin: Twin) -> Twin:
    """The same device with a memory port that a second master uses in bursts, counted by the firmware."""
    random, rows = Random("shared"), []
    for name, experiment in twin.experiments.items():
        ticks = shared_port_ticks(experiment, twin.hidden, **MASTER)
        rows += [Observation(name, "device", n, ticks * exp(random.gauss(0, 0.02)), "ticks") for n in range(3)]
    board = attrs.evolve(twin, table=held_out(Table(tuple(rows)), twin.experiments))
    return attrs.evolve(board, calibration=fit_table(board.given, local_runner()))


def test_a_twin_passes(twin: Twin) -> None:
    """What the fit has not seen is predicted within the scatter, better than by guesses, with or without a factor."""
    found = validated(twin)
    own, guesses, scaled = found.scores
    assert found.passes, found.failures
    assert own.mape < min(guesses.mape, scaled.mape, 100 * 2 * found.scatter)
    assert own.tau > 0.9
    assert (found.wrong, found.repeated) == ((), True)
    assert [*validation_lines(found)][-1].startswith("ok: ")


def test_another_board_fails(shared: Twin) -> None:
    """A model error does not vanish into parameters: repetitions do not explain the misfit, as the verdict says."""
    found = validated(shared)
    assert shared.calibration.lack
    assert not found.passes
    assert "times the scatter" in "; ".join(found.failures)
    assert [*validation_lines(found)][-1].startswith("FAILED: ")


def test_the_pairs_that_another_board_inverts_are_named(shared: Twin) -> None:
    """Long reads wait for the other master, short ones do not: which of two is faster is not what the fit says."""
    found, measured = validated(shared), {}
    for row in shared.table.observations:
        measured.setdefault(f"{row.experiment} {row.observable}", []).append(row.value)
    mean = {name: sum(values) / len(values) for name, values in measured.items()}
    assert len(found.wrong) >= 3
    text = "\n".join(validation_lines(found))
    for pair in found.wrong:
        assert mean[pair.slower] > 1.03 * mean[pair.faster]
        assert pair.predicted <= 0
        assert f"{pair.slower} is {pair.measured:.1f} % slower than {pair.faster}" in text
    assert f"orders {len(found.wrong)} pairs wrongly" in found.failures[-1]


def test_a_fit_that_is_no_better_than_the_guesses_fails(twin: Twin) -> None:
    """With the values of the guesses it predicts what they predict, which is not better."""
    unfitted = attrs.evolve(twin.calibration, estimates=(), choices=())
    found = validate_calibration(unfitted, twin.setup, twin.table, twin.experiments)
    assert found.scores[0].mape == pytest.approx(found.scores[1].mape)
    assert any("guesses by" in failure for failure in found.failures)


def test_an_inverted_pair_fails_and_is_named(twin: Twin) -> None:
    """A device that orders two experiments otherwise than the board does beyond doubt is refused, with both names."""
    wrong = Estimate("dma.row_ticks", 1, 400, "determined", "calibrated", 390.0, 410.0)
    others = [one for one in twin.calibration.estimates if one.path != wrong.path]
    found = validate_calibration(
        attrs.evolve(twin.calibration, estimates=(*others, wrong)), twin.setup, twin.table, twin.experiments
    )
    assert found.wrong
    pair = found.wrong[0]
    assert pair.measured > 0 > pair.predicted
    text = "\n".join(validation_lines(found))
    assert f"{pair.slower} is {pair.measured:.1f} % slower than {pair.faster}" in text
    assert any("pairs wrongly" in failure for failure in found.failures)
    assert validation_document(found)["wrong"][0]["faster"] == pair.faster


def test_whole_shapes_are_held_out(twin: Twin) -> None:
    """A shape that is also fitted is no test, and nothing held out is none either: both are refused."""
    rows = twin.table.observations
    mixed = Table(tuple(attrs.evolve(row, split=FIT if row.experiment.endswith("w1") else VALIDATE) for row in rows))
    for table, wanted in ((mixed, "of the same shape is fitted"), (twin.table.part(FIT), "wanted whole shapes")):
        with pytest.raises(ScenarioError, match=wanted):
            validate_calibration(twin.calibration, twin.setup, table, twin.experiments)
