"""A fit as a whole, on a twin: what it says is true of the hidden device, and it is the same fit however it went."""

from pathlib import Path

import attrs
import pytest

from tessbed.scenarios.study.calibration.estimate import Estimate, of_document, to_document
from tessbed.scenarios.study.calibration.fit.execution import fit_table
from tessbed.scenarios.study.calibration.fit.fit_report import fit_lines
from tessbed.scenarios.study.calibration.fit.fit_state import FitState
from tessbed.scenarios.study.calibration.parameter_space import PARAMETERS
from tests.scenarios.study.calibration.conftest import SMALL, Twin, local_runner

DETERMINED = {
    "completion_ticks", "dma.bytes_per_tick", "dma.issue_ticks", "dma.setup_ticks", "dma.row_ticks",
    "memory.read_latency_ticks", "memory.write_latency_ticks", "launch_stagger_ticks",
}  # fmt: skip


def estimate(twin: Twin, path: str) -> Estimate:
    """What the fit of the twin says of a parameter."""
    found = twin.calibration.estimate(path)
    assert found is not None
    return found


def test_what_probes_touch_is_determined(twin: Twin) -> None:
    """The parameters of transfers and of the way back have finite intervals."""
    found = {one.path for one in twin.calibration.estimates if one.verdict == "determined"}
    assert found >= DETERMINED


def test_no_determined_parameter_is_far_from_the_truth(twin: Twin) -> None:
    """The hidden value is inside twice the interval, and nearly always inside the interval itself."""
    inside = []
    for one in twin.calibration.estimates:
        if one.verdict == "determined":
            assert one.low is not None
            assert one.high is not None
            hidden, width = twin.hidden[one.path], one.high - one.low
            assert one.low - width / 2 <= hidden <= one.high + width / 2, one
            inside.append(one.low <= hidden <= one.high)
    assert sum(inside) >= 0.7 * len(inside)


def test_the_scatter_is_that_of_the_measurements(twin: Twin) -> None:
    """Repetitions scatter by the 2 % that were put in, and the model explains all the rest."""
    assert twin.calibration.noise == pytest.approx(0.02, rel=0.25)
    assert not twin.calibration.lack


def test_a_planted_sum_is_only_a_sum(twin: Twin) -> None:
    """Dispatch and decoding are never seen apart: neither is determined, their sum is, and the guess of one stays."""
    text = "dispatch_ticks + decode_ticks"
    parts = [estimate(twin, path) for path in ("dispatch_ticks", "decode_ticks")]
    assert [(one.verdict, one.combination, one.low, one.high) for one in parts] == [
        ("combination", text, None, None)
    ] * 2
    assert (parts[1].value, parts[1].provenance) == (parts[1].guess, "guess")
    [combination] = [one for one in twin.calibration.combinations if one.text == text]
    hidden = twin.hidden["dispatch_ticks"] + twin.hidden["decode_ticks"]
    assert combination.kind == "sum"
    assert combination.value == pytest.approx(hidden, rel=0.01)
    assert parts[0].value + parts[1].value == pytest.approx(combination.value, rel=0.001)


def test_a_planted_product_is_only_a_product(twin: Twin) -> None:
    """Nobody tells a slow memory from one that others use: the bytes a tick that are left are determined."""
    rate, share = estimate(twin, "memory.bytes_per_tick"), estimate(twin, "memory.background_percent")
    text = "memory.bytes_per_tick * (1 - memory.background_percent / 100)"
    assert (rate.verdict, share.verdict, rate.combination) == ("combination", "combination", text)
    assert (share.value, share.provenance, rate.provenance) == (0, "guess", "combination")
    [combination] = [one for one in twin.calibration.combinations if one.text == text]
    assert combination.value == pytest.approx(twin.hidden["memory.bytes_per_tick"], rel=0.05)


def test_what_is_known_or_untouched_stays(twin: Twin) -> None:
    """What the setup gives is its, and what no row moves with keeps its guess, and is said to."""
    assert {estimate(twin, path).verdict for path in SMALL} == {"known"}
    assert {estimate(twin, path).provenance for path in SMALL} == {"setup"}


class Interrupted(Exception):
    """Stands for Ctrl-C, which would end the tests, too."""


def test_an_interrupted_fit_resumes_to_the_same(twin: Twin, tmp_path: Path) -> None:
    """After an interrupt the same fit goes on from its state, does nothing twice, and ends alike."""
    path, done = tmp_path / "state.json", []

    def hear(name: str, result: object, rate: float) -> None:
        done.append(name)
        if len(done) == 9:
            raise Interrupted

    key = twin.given.key
    with pytest.raises(Interrupted):
        fit_table(twin.given, local_runner(FitState.open(path, key), hear))
    found = fit_table(twin.given, local_runner(FitState.open(path, key), hear))
    assert found == twin.calibration
    assert len(done) == len(set(done)) > 9
    assert of_document(to_document(found)) == found


def test_the_state_of_another_fit_is_not_believed(twin: Twin, tmp_path: Path) -> None:
    """A state belongs to one table, setup, seed and version; whatever else is in the file is no state."""
    path = tmp_path / "state.json"
    FitState.open(path, "one").add("start 1", {"squares": 0.0})
    assert FitState.open(path, "one").results == {"start 1": {"squares": 0.0}}
    assert FitState.open(path, "another").results == {}
    for text in ("", "[]", '{"key": "one"}', '{"key": "one", "results": {"start 1": 3}}', "\x00"):
        path.write_text(text)
        assert FitState.open(path, "one").results == {}


def test_the_report_says_every_verdict(twin: Twin) -> None:
    """A line for each parameter, what is determined together, and how far the fit is off."""
    text = "\n".join(fit_lines(twin.calibration))
    assert all(one.path in text for one in twin.calibration.estimates)
    assert "determined together:" in text
    assert f"the fit is off by {100 * twin.calibration.misfit:.2f} %" in text
    assert "does not explain" not in text


def test_a_fit_with_nothing_to_determine_ends(twin: Twin) -> None:
    """Where the setup knows everything, all is known, and the result says so."""
    ranges = {one.path: (one.low, one.low) for one in PARAMETERS}
    known = attrs.evolve(twin.given, setup=attrs.evolve(twin.setup, ranges=ranges))
    assert {one.verdict for one in fit_table(known, local_runner()).estimates} == {"known"}
