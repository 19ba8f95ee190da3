"""Twin: a hidden device that measures experiments, by the whole way from its parameters to its ticks, with noise.

It shares nothing with what predicts: each job is planned anew on the hidden device and timed with it.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import exp, log
from random import Random
from typing import Any

from tessbed.firmware_models.planning.launch_program import exact_program
from tessbed.scenarios.exact.exact_device import ExactDevice
from tessbed.scenarios.study.calibration.board_data import FIT, Observation, Table
from tessbed.scenarios.study.calibration.experiment import Experiment
from tessbed.scenarios.study.calibration.parameter_space import PARAMETERS, parameter_value
from tessbed.sim.exact.engine import simulate
from tessbed.sim.exact.program import BandRun, Cost, LaunchProgram, TimedBand
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


def second_master(reads: int, port_bytes: int, pause: int, spec: DeviceSpec) -> TimedBand:
    """What another master does again and again: it reads, so many bytes at once, and pauses."""
    port = -(-port_bytes // spec.memory.bytes_per_tick)
    cost = Cost(0, port, port)
    return TimedBand((tuple([cost] * reads),), pause, False, (Cost(0, 1, 1),), 1)


def shared_port_ticks(experiment: Experiment, hidden: Mapping[str, Any], reads: int, size: int, pause: int) -> int:
    """The device ticks of an experiment whose memory port a second master uses, on a core and a channel of its own.

    The workers keep their cores; the master is on one more, and never ends before they do.
    """
    device = override(experiment.device, nest(hidden))
    launch = ExactDevice(device).launch(experiment.job)
    own = exact_program(launch.outline, device)
    cores, bands = device.cores, (*own.bands, second_master(reads, size, pause, device))
    places = {worker: worker // cores * (cores + 1) + worker % cores for worker in range(len(own.workers))}
    alone = simulate(device, own).device_ticks
    runs: list[tuple[BandRun, ...]] = [()] * max(cores + 1, 1 + max(places.values()))
    for worker, place in places.items():
        runs[place] = own.workers[worker]
    runs[cores] = (BandRun((len(bands) - 1,), 8 * alone // (pause + size // 64) + 8),)
    dma = {"read_channels": device.dma.read_channels + 1, "write_channels": device.dma.write_channels + 1}
    board = override(device, {"cores": cores + 1, "workers": 64, "dma": dma})
    timed = simulate(board, LaunchProgram(bands, tuple(runs)))
    return max(timed.workers[place].finish_ticks for place in places.values())
