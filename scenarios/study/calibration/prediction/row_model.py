"""Row model: the different things that a table measures, each with the mean of its repetitions, and their predictions.

A row is one observable of one experiment. Repetitions are scattered by so many percent, so all is in logarithms: the
mean is a geometric one, and what is predicted is the logarithm of ticks, or of microseconds where time was measured.
"""

from collections.abc import Mapping, Sequence
from math import log

import attrs
import numpy as np
from numpy.typing import NDArray

from tessbed.scenarios.study.calibration.board_data import Setup, Table
from tessbed.scenarios.study.calibration.observables import OBSERVABLES, SECONDS, TICKS
from tessbed.scenarios.study.calibration.prediction.launch_model import Floats, LaunchModel, Timings, Values
from tessbed.sim.spec.device_spec import DeviceSpec

PART_TICKS = {
    "dispatch": "dispatch_ticks",
    "decode": "decode_ticks",
    "load": "kernel_load_ticks",
    "completion": "completion_ticks",
}
"""The parameter of each part of a job's ticks that is one."""
CLOCK_MHZ = "clock_mhz"


@attrs.frozen(eq=False)
class Rows:
    """The rows of a table, one for each (experiment, observable): columns of equal length.

    `logs` are the means of the logarithms of ticks or microseconds, `repeats` their number, `scatter` the sum of the
    squares around each mean, `resolution` the step of the timer relative to the value.
    """

    names: tuple[tuple[str, str], ...]
    experiment: NDArray[np.int64]
    parts: NDArray[np.float64]
    in_time: NDArray[np.bool_]
    logs: Floats
    repeats: Floats
    scatter: Floats
    resolution: Floats

    @classmethod
    def of(cls, table: Table, numbers: Mapping[str, int], setup: Setup) -> "Rows":
        """The rows; `numbers` are those of the experiments by their names."""
        groups = table.groups()
        values = [np.log([_measured(row.value, row.unit) for row in rows]) for rows in groups.values()]
        return cls(
            names=tuple(groups),
            experiment=np.array([numbers[experiment] for experiment, _ in groups], np.int64),
            parts=np.array([[part in OBSERVABLES[name] for part in PART_TICKS] for _, name in groups], float),
            in_time=np.array([rows[0].unit != TICKS for rows in groups.values()]),
            logs=np.array([logs.mean() for logs in values]),
            repeats=np.array([float(len(logs)) for logs in values]),
            scatter=np.array([((logs - logs.mean()) ** 2).sum() for logs in values]),
            resolution=np.array([_resolution(rows[0].value, rows[0].unit, setup) for rows in groups.values()]),
        )

    @property
    def observations(self) -> int:
        """The repetitions of all rows."""
        return int(self.repeats.sum())


@attrs.frozen(eq=False)
class RowModel:
    """Predicts rows: the launches of their experiments, and what is measured of each."""

    launches: LaunchModel
    rows: Rows

    def logs(self, values: Values, timings: Timings) -> Floats:
        """The predicted logarithm of each row."""
        fixed = self.rows.parts @ np.array([values[path] for path in PART_TICKS.values()])
        ticks = timings.ticks[self.rows.experiment] + fixed
        return np.asarray(np.log(ticks) - self.rows.in_time * log(values[CLOCK_MHZ]), np.float64)

    def timings(self, values: Values, device: DeviceSpec | None = None, like: Timings | None = None) -> Timings:
        """The device ticks of all experiments."""
        return self.launches.ticks(values, device, like)


def row_model(launches: LaunchModel, experiments: Sequence[str], table: Table, setup: Setup) -> RowModel:
    """The model of a table's rows; the launches are those of the named experiments, in order."""
    return RowModel(launches, Rows.of(table, {name: number for number, name in enumerate(experiments)}, setup))


def _measured(value: float, unit: str) -> float:
    """Ticks, or microseconds."""
    return value if unit == TICKS else value * SECONDS[unit] * 1e6


def _resolution(value: float, unit: str, setup: Setup) -> float:
    if unit == TICKS:
        return setup.timer_resolution_ns * setup.clock_mhz / 1e3 / value
    return setup.timer_resolution_ns / (value * SECONDS[unit] * 1e9)
