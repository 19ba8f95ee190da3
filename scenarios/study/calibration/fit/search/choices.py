"""Choices: discrete parameters and counts, each of their values fitted, and which of them the data do not exclude.

The guess is kept unless the data exclude it.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import attrs

from tessbed.scenarios.study.calibration.board_data import Setup
from tessbed.scenarios.study.calibration.estimate import Estimate, Value
from tessbed.scenarios.study.calibration.fit.assembly import COUNTS, Assembly
from tessbed.scenarios.study.calibration.fit.likelihood.uncertainty import Scatter
from tessbed.scenarios.study.calibration.fit.local_fit import LocalFit
from tessbed.scenarios.study.calibration.fit.problem import FitProblem
from tessbed.scenarios.study.calibration.fit.search.starts import SLIGHT
from tessbed.scenarios.study.calibration.fit.task_runner import TaskRunner
from tessbed.scenarios.study.calibration.fit.tasks import RefitTask, SolveTask, solution_of
from tessbed.scenarios.study.calibration.parameter_space import parameter_value
from tessbed.sim.spec.device_spec import DeviceSpec


@attrs.define(eq=False)
class Choices:
    """Discrete choices and counts, and which of their values the data do not exclude."""

    setup: Setup
    assembly: Assembly
    runner: TaskRunner
    kept: dict[str, tuple[Value, ...]] = attrs.field(factory=dict)
    counted: list[Estimate] = attrs.field(factory=list)

    def best(self, found: LocalFit) -> LocalFit:
        """The fit with the best choices and counts."""
        return self._counts(self._choices(found) if self.setup.choices else found)

    def _choices(self, found: LocalFit) -> LocalFit:
        """The best combination of discrete choices, tried together."""
        paths = list(self.setup.choices)
        combined = [dict(zip(paths, values, strict=True)) for values in product(*self.setup.choices.values())]
        fits = {_label(one): attrs.evolve(found.problem, choices=one) for one in combined}
        found, admitted = self._tried(found, fits, _label(_guessed(found.problem.device, paths)))
        chosen = dict(found.problem.choices)
        for path in paths:
            values = dict.fromkeys(fits[label].choices[path] for label in admitted)
            self.kept[path] = (chosen[path], *(value for value in values if value != chosen[path]))
        return found

    def _counts(self, found: LocalFit) -> LocalFit:
        """The best value of each count, tried one by one."""
        for parameter in self.assembly.counts:
            path = parameter.path
            guess = round(found.problem.base[path])
            numbers = sorted({guess, *(n for n in COUNTS if parameter.low <= n <= parameter.high)})
            bases = {f"{path}={n}": {**found.problem.base, path: float(n)} for n in numbers}
            fits = {label: attrs.evolve(found.problem, base=base) for label, base in bases.items()}
            found, admitted = self._tried(found, fits, f"{path}={guess}")
            self.counted.append(_count(path, guess, round(found.problem.base[path]), numbers, admitted))
        return found

    def _tried(self, found: LocalFit, fits: Mapping[str, FitProblem], guess: str) -> tuple[LocalFit, list[str]]:
        """The best of some problems, and which of them are admitted; the guess where it is among those."""
        slight = SLIGHT * found.scatter.variance
        own = found.best, found.nearby.derivatives, slight
        tasks = [RefitTask(f"choice {name}", one, *own) for name, one in fits.items()]
        solutions = dict(zip(fits, map(solution_of, self.runner.run(tasks).values()), strict=True))
        least = min(solution.squares for solution in solutions.values())
        limit = least + Scatter.of(found.problem, least, found.nearby.rank).threshold()
        admitted = [name for name, solution in solutions.items() if solution.squares <= limit]
        chosen = guess if guess in admitted else min(admitted, key=lambda name: solutions[name].squares)
        if chosen == guess:
            return found, admitted
        task = SolveTask(f"chosen {chosen}", fits[chosen], solutions[chosen].point)
        return LocalFit.of(fits[chosen], solution_of(self.runner.run([task])[task.name])), admitted


def _guessed(device: DeviceSpec, paths: Sequence[str]) -> dict[str, Any]:
    return {path: parameter_value(device, path) for path in paths}


def _label(choices: Mapping[str, Any]) -> str:
    return ", ".join(f"{path}={value}" for path, value in choices.items())


def _count(path: str, guess: int, value: int, numbers: Sequence[int], admitted: Sequence[str]) -> Estimate:
    """The estimate of a count, from which of the numbers that were tried the data do not exclude."""
    inside = [n for n in numbers if f"{path}={n}" in admitted]
    below, above = [n for n in numbers if n < inside[0]], [n for n in numbers if n > inside[-1]]
    low, high = (below[-1] + 1.0 if below else None), (above[0] - 1.0 if above else None)
    word = {(0, 0): "untouched", (1, 0): "at_least", (0, 1): "at_most"}.get((bool(below), bool(above)), "determined")
    sure = {"untouched": "guess", "determined": "calibrated"}.get(word, "guess" if value == guess else "bound")
    return Estimate(path, guess, value, word, sure, low, high, fitted=float(value))
