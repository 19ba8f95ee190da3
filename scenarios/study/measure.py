"""Measure: the EV74 jobs of a scenario and what an engine counted of each; what every study starts from."""

from typing import Any

import attrs

from tessbed.firmware_models.geometry import Geometry
from tessbed.kernels.ev74.packet import decode
from tessbed.scenarios.model import Job, Scenario
from tessbed.scenarios.problems import Place, Problem, ScenarioError
from tessbed.scenarios.run import run
from tessbed.sim.spec import DeviceSpec, override
from tessbed.sim.stats import JobStats


@attrs.frozen
class Measured:
    """One job as a device saw it: the geometry in its packet, the grid, and the statistics with every transfer."""

    job: Job
    spec: DeviceSpec
    geometry: Geometry
    workers: int
    stats: JobStats


@attrs.frozen
class Measurement:
    """All jobs of a scenario. `engine` is what ran, `instead` why it is not the one that was asked for."""

    scenario: Scenario
    jobs: tuple[Measured, ...]
    engine: str
    instead: str | None

    @property
    def device_ticks(self) -> int:
        """The makespans of all jobs; jobs of one device run one after the other."""
        return sum(measured.stats.device_ticks for measured in self.jobs)


def on_device(scenario: Scenario, **changes: Any) -> Scenario:
    """The scenario on a device with nested `changes`. Raises SpecError for what can not be."""
    return attrs.evolve(scenario, device=override(scenario.device, changes))


def studied(scenario: Scenario) -> Scenario:
    """The scenario with its EV74 jobs alone. Raises ScenarioError where there is none that moves a byte."""
    jobs = tuple(
        attrs.evolve(job, backends=("ev74",)) for job in scenario.jobs if "ev74" in job.backends and not job.plan.empty
    )
    if not jobs:
        text = "no job runs on ev74 and moves a byte: there is nothing to study"
        raise ScenarioError([Problem(Place(scenario.name), text)])
    return attrs.evolve(scenario, jobs=jobs)


def measure(scenario: Scenario, engine: str = "exact", *, trace: bool = True) -> Measurement:
    """Run the EV74 jobs; `trace` keeps every transfer. A job that failed is left out."""
    done = run(studied(scenario), engine=engine, trace=trace)
    jobs = []
    for entry in done.jobs:
        ran = entry.outcomes[0].run
        if ran is not None and ran.result is not None and ran.result.stats is not None:
            geometry = Geometry.of(decode(ran.result.packet))
            stats = ran.result.stats
            jobs.append(Measured(entry.job, scenario.device, geometry, stats.workers_launched, stats))
    return Measurement(scenario, tuple(jobs), done.engine, done.instead)
