"""Assembly: the problem of a table: launches of its experiments, what is free, what a setup knows, all guesses."""

from collections.abc import Sequence

import attrs

from tessbed.scenarios.format.diagnostics import Location, Problem, ScenarioError
from tessbed.scenarios.study.calibration.board_data import Setup, Table
from tessbed.scenarios.study.calibration.experiment import Experiment
from tessbed.scenarios.study.calibration.fit.problem import FitProblem
from tessbed.scenarios.study.calibration.observables import TICKS
from tessbed.scenarios.study.calibration.parameter_space import CLOCK, FreeParameter, in_ranges, values_by_path
from tessbed.scenarios.study.calibration.prediction.launch_model import LaunchModel
from tessbed.scenarios.study.calibration.prediction.row_model import CLOCK_MHZ, row_model

COUNTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""The counts that are tried of a parameter that counts things."""


@attrs.frozen(eq=False)
class Assembly:
    """A problem and what is not free in it: `counts` to try, the paths of `known` values.

    It is `relative` where all is time and the clock only assumed.
    """

    problem: FitProblem
    counts: tuple[FreeParameter, ...]
    known: tuple[str, ...]
    relative: bool


def assemble(setup: Setup, table: Table, experiments: Sequence[Experiment]) -> Assembly:
    """The problem of these rows; `experiments` are those that the table names. Raises ScenarioError."""
    check_alike(experiments)
    device = experiments[0].device
    launches = LaunchModel.of(experiments)
    model = row_model(launches, [experiment.name for experiment in experiments], table, setup)
    ranged = in_ranges(setup.ranges)
    known = [parameter for parameter in ranged if parameter.low == parameter.high]
    base = values_by_path(device)
    base |= {parameter.path: float(parameter.low) for parameter in known} | {CLOCK_MHZ: float(setup.clock_mhz)}
    open_ = [parameter for parameter in ranged if parameter not in known]
    free = [parameter for parameter in open_ if parameter.scale != "count"]
    units = {row.unit == TICKS for row in table.observations}
    if setup.clock_source == "assumed" and units == {True, False}:
        free.append(CLOCK)  # ticks and times together tell it
    return Assembly(
        problem=FitProblem(model, tuple(free), base),
        counts=tuple(parameter for parameter in open_ if parameter.scale == "count"),
        known=tuple(parameter.path for parameter in known),
        relative=setup.clock_source == "assumed" and units == {False},
    )


def check_alike(experiments: Sequence[Experiment]) -> None:
    """Raise ScenarioError for experiments on different devices: only the grid may differ."""
    if not experiments:
        raise ScenarioError([Problem(Location("the table"), "got no rows to fit, wanted at least one", "usage")])
    first = experiments[0]
    for other in experiments[1:]:
        if attrs.evolve(other.device, workers=first.device.workers) != first.device:
            text = f"got another device than {first.name} has, wanted one that differs in device.workers at most"
            raise ScenarioError([Problem(Location(other.name), text)])
