"""Scenarios with a timeline: run, written, decoded."""

from pathlib import Path

import attrs

from tessbed.runtime.jobs.job import Job
from tessbed.scenarios.model import KernelJob, Scenario
from tessbed.scenarios.outcome import ScenarioRun
from tessbed.scenarios.runner import run_scenario
from tessbed.scenarios.timeline.recording import recording
from tessbed.scenarios.timeline.timeline import Timeline
from tessbed.sim.stats import JobStats
from tests.scenarios.timeline.decoded import Decoded, decode_trace


def on_ev74(scenario: Scenario) -> Scenario:
    """The scenario with its EV74 jobs alone."""
    jobs = tuple(
        job if isinstance(job, KernelJob) else attrs.evolve(job, backends=("ev74",))
        for job in scenario.jobs
        if "ev74" in job.backends
    )
    return attrs.evolve(scenario, jobs=jobs)


def record(scenario: Scenario, path: Path, form: str = "pftrace") -> ScenarioRun:
    """Run the scenario's EV74 jobs, with a timeline in `path`."""
    with recording(path, form) as sink:
        return run_scenario(on_ev74(scenario), timeline=Timeline.of(sink, scenario.device))


def stats_of(ran: ScenarioRun) -> list[JobStats]:
    """What the device counted of each job that it had."""
    results = [outcome.run.result for outcome in ran.outcomes if outcome.run]
    return [result.stats for result in results if result and result.stats]


def jobs_of(ran: ScenarioRun) -> list[Job]:
    """The runtime's job of each outcome."""
    return [outcome.run.job for outcome in ran.outcomes if outcome.run and outcome.run.job]


def traced(scenario: Scenario, path: Path) -> tuple[ScenarioRun, Decoded]:
    """The run, and what Perfetto shows of it."""
    ran = record(scenario, path)
    return ran, decode_trace(path)
