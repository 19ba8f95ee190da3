"""The launch model: the exact engine's ticks at whole values, straight between them, launch by launch the same."""

from random import Random

import numpy as np
import pytest

from tessbed.scenarios.exact.exact_device import ExactDevice
from tessbed.scenarios.study.calibration.experiment import Experiment
from tessbed.scenarios.study.calibration.parameter_space import PARAMETERS, parameter_value
from tessbed.scenarios.study.calibration.prediction.launch_model import LaunchModel, interpolated
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tests.scenarios.study.calibration.twin import measured_parts, nest

GUESSES = {parameter.path: parameter_value(DeviceSpec(), parameter.path) for parameter in PARAMETERS}
RATES = ("dma.bytes_per_tick", "dma.outstanding_bursts", "memory.bytes_per_tick", "memory.background_percent")


def drawn(seed: int) -> dict[str, int]:
    """Whole values anywhere in their ranges."""
    random = Random(seed)
    return {parameter.path: random.randint(parameter.low, parameter.high) for parameter in PARAMETERS}


@pytest.mark.parametrize("seed", range(3))
def test_whole_values_have_the_ticks_of_the_engine(seed: int, experiments: list[Experiment]) -> None:
    """Wherever all parameters are whole, each experiment takes what the exact device takes, to the tick."""
    some = Random(f"some {seed}").sample(experiments, 40)
    values = drawn(seed)
    predicted = LaunchModel.of(some).ticks(values).ticks
    assert predicted.tolist() == [measured_parts(experiment, values)["device"] for experiment in some]


CHOICES = {
    "a pool for each core": {"dma": {"channel_scope": "per_core"}},
    "in turn": {"dma": {"arbitration": "round_robin"}},
    "two ports": {"memory": {"split_port": True}},
    "fewer channels": {"dma": {"read_channels": 2, "write_channels": 1}},
}


@pytest.mark.parametrize("choice", CHOICES.values(), ids=CHOICES)
def test_choices_have_the_ticks_of_the_engine(choice: dict, experiments: list[Experiment]) -> None:
    """So it is on a device of other choices, whose launches are planned alike."""
    some = Random("choices").sample(experiments, 25)
    values = drawn(7)
    device = override(some[0].device, choice)
    predicted = LaunchModel.of(some).ticks(values, device).ticks
    exact = override(device, nest(values))
    assert predicted.tolist() == [ExactDevice(exact).run(one.job).stats.device_ticks for one in some]


def test_the_python_form_times_the_same(experiments: list[Experiment], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the C extension the same launches take the same ticks, also at values that are not whole."""
    some = Random("forms").sample(experiments, 8)
    values = {path: value * 1.1 + 0.25 for path, value in GUESSES.items()} | {"dma.outstanding": 9}
    model, ticks = LaunchModel.of(some), []
    for form in ("python", "native"):
        monkeypatch.setenv("TESSBED_EXACT", form)
        ticks.append(model.ticks(values).ticks.tolist())
    assert ticks[0] == ticks[1]


@pytest.mark.parametrize("path", [parameter.path for parameter in PARAMETERS if parameter.scale != "count"])
def test_only_launches_that_change_are_timed_again(path: str, experiments: list[Experiment]) -> None:
    """Beside a timing of other values, the ticks are those of a timing from nothing."""
    some = Random("like").sample(experiments, 40)
    model, other = LaunchModel.of(some), GUESSES | {path: GUESSES[path] + 3}
    again = model.ticks(other, like=model.ticks(GUESSES))
    assert again.ticks.tolist() == model.ticks(other).ticks.tolist()


def test_what_a_launch_does_not_use_is_not_timed_again(experiments: list[Experiment]) -> None:
    """A DMA probe computes nothing, so that no price of a computation changes it."""
    probes = [experiment for experiment in experiments if experiment.name.startswith("dma.")]
    model = LaunchModel.of(probes)
    again = model.ticks(GUESSES | {"compute.band_ticks": 999}, like=model.ticks(GUESSES))
    assert (again.timed, len(probes)) == (0, 88)


@pytest.mark.parametrize("path", RATES)
def test_a_rate_has_no_jumps(path: str, experiments: list[Experiment]) -> None:
    """Around a whole rate and between two, ticks change by no more than the rate does: nothing jumps."""
    probes = [
        experiment for experiment in experiments if experiment.name.startswith("dma.") and experiment.workers == 1
    ]
    model = LaunchModel.of(probes)
    for at in (GUESSES[path], GUESSES[path] + 0.5):
        near = [model.ticks(GUESSES | {path: max(0.0, at + step)}).ticks for step in (-1e-4, 1e-4)]
        assert np.abs(near[1] / near[0] - 1).max() < 1e-3


def test_between_two_whole_values_prices_are_straight() -> None:
    """A third of the way from one to the other, a third of the difference is added."""
    squares = interpolated(lambda whole: np.array([float(whole**2)]), 3 + 1 / 3)
    assert squares.tolist() == pytest.approx([9 + 7 / 3])
