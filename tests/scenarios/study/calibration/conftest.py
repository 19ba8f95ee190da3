"""What the tests of a calibration share: all candidates, and a twin that was fitted, each made once."""

from pathlib import Path

import attrs
import pytest

from tessbed.scenarios.study.calibration.board_data import VALIDATE, Setup, Table
from tessbed.scenarios.study.calibration.estimate import Calibration
from tessbed.scenarios.study.calibration.experiment import Experiment
from tessbed.scenarios.study.calibration.fit.execution import fit_table
from tessbed.scenarios.study.calibration.fit.fit_input import FitInput
from tessbed.scenarios.study.calibration.fit.fit_state import FitState
from tessbed.scenarios.study.calibration.fit.task_runner import TaskRunner, silent
from tessbed.scenarios.study.calibration.parameter_space import PARAMETERS, parameter_value
from tessbed.scenarios.study.calibration.plan.candidates import candidates
from tessbed.scenarios.study.sweep.executors import LocalExecutor
from tests.scenarios.study.calibration.twin import hidden_values, measure

COMPUTE = tuple(parameter.path for parameter in PARAMETERS if parameter.path.startswith("compute."))
SMALL = (*COMPUTE, "memory.page_walk_ticks", "kernel_load_ticks", "dma.outstanding")
"""Known in the small twin, which has DMA probes alone."""


@attrs.frozen(eq=False)
class Twin:
    """A hidden device: its values, its setup, what it measured, and the calibration that this gives."""

    hidden: dict[str, int]
    setup: Setup
    table: Table
    experiments: dict[str, Experiment]
    calibration: Calibration

    @property
    def given(self) -> FitInput:
        """What was fitted."""
        rows = self.table.part("fit")
        return FitInput(self.setup, rows, tuple(self.experiments[name] for name in rows.experiments), seed=1, starts=2)


def local_runner(state: FitState | None = None, hear=silent) -> TaskRunner:
    """Runs everything here, one after the other."""
    return TaskRunner(LocalExecutor(), 1, state or FitState(None, ""), hear)


def known_ranges(known: tuple[str, ...], experiment: Experiment) -> dict[str, tuple[int, int]]:
    """Ranges that make parameters known, at their guesses."""
    return {path: (guess, guess) for path in known for guess in [parameter_value(experiment.device, path)]}


def held_out(table: Table, experiments: dict[str, Experiment], every: int = 5) -> Table:
    """The table with the rows of one shape in so many held out."""
    shapes = list(dict.fromkeys(one.shape for one in experiments.values()))[::every]
    rows = [
        attrs.evolve(row, split=VALIDATE) if experiments[row.experiment].shape in shapes else row
        for row in table.observations
    ]
    return Table(tuple(rows))


@pytest.fixture(scope="session")
def experiments() -> list[Experiment]:
    """Every experiment that a plan can choose from."""
    return [candidate.experiment for candidate in candidates("ev74-4core", Path())]


@pytest.fixture(scope="session")
def probes(experiments: list[Experiment]) -> dict[str, Experiment]:
    """The DMA probes on one and on four workers, by their names."""
    return {one.name: one for one in experiments if one.name.startswith("dma.") and one.workers in (1, 4)}


@pytest.fixture(scope="session")
def twin(probes: dict[str, Experiment]) -> Twin:
    """A small twin: probes measured by counter and by host, in ticks, on a hidden device whose computation is known."""
    hidden = hidden_values(11, alike=(*SMALL, "memory.background_percent"))
    some = list(probes.values())
    table = held_out(measure(some, hidden, ("device", "record", "job"), seed=11, repeats=2), probes)
    setup = Setup("twin", 1000, "measured", ranges=known_ranges(SMALL, some[0]))
    made = Twin(hidden, setup, table, probes, None)  # pyright: ignore[reportArgumentType]
    return attrs.evolve(made, calibration=fit_table(made.given, local_runner()))
