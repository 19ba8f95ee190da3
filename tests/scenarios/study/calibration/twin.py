"""Twin: a hidden device that measures experiments, by the whole way from its parameters to its ticks, with noise.

It shares nothing with what predicts: each job is planned anew on the hidden device and timed with it.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import exp, log
from random import Random
from typing import Any

from tessbed.scenarios.exact_device import ExactDevice
from tessbed.scenarios.study.calibration.board_data import FIT, Observation, Table
from tessbed.scenarios.study.calibration.experiment import Experiment
from tessbed.scenarios.study.calibration.parameter_space import PARAMETERS, parameter_value
from tessbed.sim.spec.device_spec import DeviceSpec, override

PARTS = {  # by hand, from docs/simulation.md
    "device": ["device"],
    "record": ["dispatch", "decode", "device"],
    "job": ["dispatch", "decode", "device", "completion"],
    "first_job": ["dispatch", "decode", "load", "device", "completion"],
}
AS_GUESSED = ("memory.background_percent", "memory.page_walk_ticks", "dma.outstanding")


def nest(values: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted paths as nested tables."""
    tables: dict[str, Any] = {}
    for path, value in values.items():
        head, _, rest = path.partition(".")
        if rest:
            tables.setdefault(head, {})[rest] = value
        else:
            tables[head] = value
    return {name: nest(value) if isinstance(value, dict) else value for name, value in tables.items()}


def hidden_values(seed: int, factor: float = 2.0, alike: Iterable[str] = AS_GUESSED) -> dict[str, int]:
    """Whole values of all parameters, off their guesses by up to `factor`; those that are `alike` are the guesses."""
    random, values = Random(f"hidden {seed}"), {}
    for parameter in PARAMETERS:
        guess = parameter_value(DeviceSpec(), parameter.path)
        drawn = round(guess * exp(random.uniform(-log(factor), log(factor))))
        values[parameter.path] = guess if parameter.path in alike else min(max(1, drawn), parameter.high)
    return values


def measured_parts(experiment: Experiment, hidden: Mapping[str, Any]) -> dict[str, int]:
    """The ticks of a first job on the hidden device, part by part."""
    device = override(experiment.device, nest(hidden))
    return ExactDevice(device).run(experiment.job).parts


def measure(
    experiments: Sequence[Experiment],
    hidden: Mapping[str, Any],
    observables: Sequence[str] = ("device",),
    *,
    seed: int = 0,
    noise: float = 0.02,
    repeats: int = 1,
    unit: str = "ticks",
    clock_mhz: int = 1000,
) -> Table:
    """What the hidden device measures, each repetition off by a factor of its own."""
    random, rows = Random(f"noise {seed}"), []
    for experiment in experiments:
        parts = measured_parts(experiment, hidden)
        for observable in observables:
            ticks = sum(parts[part] for part in PARTS[observable])
            for repeat in range(repeats):
                value = ticks * exp(random.gauss(0, noise)) / (1 if unit == "ticks" else clock_mhz)
                rows.append(Observation(experiment.name, observable, repeat, value, unit, FIT))
    return Table(tuple(rows))
