"""Experiment: one job that a board is to run, with its grid; a scenario file of one job in the folder of a calibration.

The name of an experiment is the stem of its scenario file, and what the table's column `experiment` holds. Experiments
of one *shape* ask for the same bytes to be moved in the same way, on however many workers: whole shapes are held out
for validation, never single rows.
"""

import json
from functools import cached_property
from pathlib import Path

import attrs

from tessbed.scenarios.custom.preparation import prepared
from tessbed.scenarios.exact.exact_device import not_exact_because
from tessbed.scenarios.format.diagnostics import Location, Problem, ScenarioError
from tessbed.scenarios.library import load
from tessbed.scenarios.model import AnyJob, Scenario, to_values
from tessbed.scenarios.study.calibration.folder_files import experiment_path
from tessbed.sim.spec.device_spec import DeviceSpec

NOT_SHAPE = ("name", "backend", "input", "output_prefill", "workers", "expect", "kernel_sha256")
"""Keys of a job that change neither what is moved nor how, or that say on how many workers."""


@attrs.frozen(eq=False, slots=False)
class Experiment:
    """One experiment, admitted and planned: `scenario` has one job, on ev74, whose ticks the exact engine can tell."""

    name: str
    scenario: Scenario

    @property
    def job(self) -> AnyJob:
        """The one job."""
        return self.scenario.jobs[0]

    @property
    def device(self) -> DeviceSpec:
        """The device with every parameter as it was guessed; only the grid is the experiment's own."""
        return self.scenario.device

    @property
    def workers(self) -> int:
        """The grid: how many workers run the job."""
        return min(self.job.workers or self.device.workers, self.device.workers)

    @cached_property
    def shape(self) -> str:
        """What experiments of one shape have in common: equal texts are equal shapes."""
        values = to_values(attrs.evolve(self.scenario, load=None))["jobs"][0]
        return json.dumps({key: value for key, value in values.items() if key not in NOT_SHAPE}, sort_keys=True)


def read_experiment(folder: Path, name: str) -> Experiment:
    """The experiment of that name. Raises ScenarioError where its scenario is wrong, or no experiment."""
    path = experiment_path(folder, name)
    return experiment_of(name, load(str(path)), Location(str(path)))


def experiment_of(name: str, scenario: Scenario, place: Location) -> Experiment:
    """The experiment that a scenario is; loads its kernel. Raises ScenarioError, at `place`, for what is none."""
    jobs = scenario.jobs
    if len(jobs) != 1 or jobs[0].backends != ("ev74",) or jobs[0].empty:
        got = (
            f"got {len(jobs)} jobs" if len(jobs) != 1 else f"got job {jobs[0].name} on {' and '.join(jobs[0].backends)}"
        )
        text = f'{got}, wanted one job with backend = "ev74" that moves a byte: an experiment is measured by itself'
        raise ScenarioError([Problem(place, text)])
    if reason := not_exact_because(prepared(scenario)):
        raise ScenarioError([Problem(place, f"{reason}: nothing predicts its ticks")])
    return Experiment(name, prepared(scenario))
