"""Problem: the sum of squares that a fit makes small, as a function of the free parameters on their scales.

Theory. Row i has n_i repetitions with mean log m_i; the model predicts the log p_i(x). With scatter that is the same
relative to every value, the likelihood falls with

    S(x) = sum over i of w_i (m_i - p_i(x))^2,      w_i = n_i / (1 + r_i^2 / (12 s0^2)),

where r_i is the timer's step relative to the value, and s0 the scatter at which it begins to matter. A pull of PULL
towards the guesses is added. It is thousands of times weaker than a single row that says anything about a parameter,
and decides only where no row does: there the fit stays at the guess instead of anywhere.

A derivative is a central difference: of ticks over STEP of the scale, or a quarter of a tick where that is more; of
rates and shares over RATE_STEP, or a whole unit; of a count over its half and its double. Prices have kinks at whole
rates, and the order of transfers changes with them, so that a tiny step would see noise.
"""

from collections.abc import Mapping, Sequence
from math import log
from typing import Any

import attrs
import numpy as np

from tessbed.scenarios.study.calibration.parameter_space import FreeParameter, nested
from tessbed.scenarios.study.calibration.prediction.launch_model import Floats, Timings
from tessbed.scenarios.study.calibration.prediction.row_model import RowModel
from tessbed.sim.spec.device_spec import DeviceSpec, override

PULL = 1e-4
STEP, RATE_STEP = 0.02, 0.05
QUARTER = 0.25
LEAST_SCATTER = 0.005


@attrs.frozen(eq=False)
class FitProblem:
    """A model of rows, the free parameters, and all other values; points are arrays on the parameters' scales."""

    model: RowModel
    parameters: tuple[FreeParameter, ...]
    base: Mapping[str, float]
    choices: Mapping[str, Any] = attrs.field(factory=dict)
    weights: Floats = attrs.field(init=False, repr=False)
    device: DeviceSpec = attrs.field(init=False, repr=False)
    lowest: Floats = attrs.field(init=False, repr=False)
    """The lower end of each parameter's range, on its scale."""
    highest: Floats = attrs.field(init=False, repr=False)
    """The upper end of each."""
    guess: Floats = attrs.field(init=False, repr=False)
    """The point of the guesses, inside the ranges."""

    def __attrs_post_init__(self) -> None:
        rows = self.model.rows
        spare = max(1.0, rows.observations - len(rows.logs))
        scatter = max(LEAST_SCATTER, float(np.sqrt(rows.scatter.sum() / spare)))
        weights = np.sqrt(rows.repeats / (1 + rows.resolution**2 / (12 * scatter**2)))
        ends = np.array([(p.coordinate(p.low), p.coordinate(p.high)) for p in self.parameters]).reshape(-1, 2)
        lowest, highest = ends.min(axis=1), ends.max(axis=1)
        made = {
            "weights": weights,
            "device": override(self.model.launches.device, nested(self.choices)),
            "lowest": lowest,
            "highest": highest,
            "guess": np.clip([p.coordinate(self.base[p.path]) for p in self.parameters], lowest, highest),
        }
        for name, value in made.items():
            object.__setattr__(self, name, value)

    def values(self, point: Floats) -> dict[str, float]:
        """All values at a point."""
        own = {p.path: p.value(float(at)) for p, at in zip(self.parameters, point, strict=True)}
        return {**self.base, **own}

    def point(self, values: Mapping[str, float]) -> Floats:
        """The point of some values."""
        return np.array([p.coordinate(values[p.path]) for p in self.parameters])

    def whole(self, number: int, at: float) -> float:
        """The place of the nearest whole value of a parameter, on its scale."""
        parameter = self.parameters[number]
        return parameter.coordinate(round(parameter.value(at)))

    def timings(self, values: Mapping[str, float], like: Timings | None = None) -> Timings:
        """The device ticks at some values."""
        return self.model.timings(values, self.device, like)

    def residuals(self, values: Mapping[str, float], timings: Timings) -> Floats:
        """What each row is off, times the root of its weight."""
        return self.weights * (self.model.logs(values, timings) - self.model.rows.logs)

    def squares(self, values: Mapping[str, float]) -> float:
        """S at some values, without the pull."""
        residuals = self.residuals(values, self.timings(values))
        return float(residuals @ residuals)

    def jacobian(self, point: Floats, timings: Timings, columns: Sequence[int]) -> "tuple[Floats, int]":
        """The derivatives of the residuals after these coordinates at a point, and the launches timed for them."""
        made, timed = [], 0
        for number in columns:
            low, high = self._around(number, point)
            sides = []
            for at in (low, high):
                values = self.values(np.concatenate((point[:number], [at], point[number + 1 :])))
                there = self.timings(values, timings)
                timed += there.timed
                sides.append(self.residuals(values, there))
            made.append((sides[1] - sides[0]) / (high - low))
        return np.stack(made, axis=1) if made else np.zeros((len(self.weights), 0)), timed

    def _around(self, number: int, point: Floats) -> tuple[float, float]:
        """Two places of a coordinate, a step below and above, both inside its range."""
        at = float(point[number])
        step = self._step(self.parameters[number], at)
        low, high = float(self.lowest[number]), float(self.highest[number])
        return max(low, at - step), min(high, at + step)

    @staticmethod
    def _step(parameter: FreeParameter, at: float) -> float:
        value = parameter.value(at)
        if parameter.scale == "count":
            return log(2)
        if parameter.scale == "ticks":
            return max(STEP, parameter.coordinate(value + QUARTER) - at)
        unit = 1.0 if parameter.scale == "rate" else -1.0
        return max(RATE_STEP, parameter.coordinate(value + unit) - at)
