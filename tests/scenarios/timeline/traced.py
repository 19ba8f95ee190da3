"""Scenarios with a timeline: run, written, decoded."""

from pathlib import Path

import attrs

from tessbed.scenarios.model import Scenario
from tessbed.scenarios.outcome import ScenarioRun
from tessbed.scenarios.runner import run_scenario
from tessbed.scenarios.timeline.recording import recording
from tessbed.scenarios.timeline.timeline import Timeline
from tests.scenarios.timeline.decoded import Decoded, decode_trace


def on_ev74(scenario: Scenario) -> Scenario:
    """The scenario with its EV74 jobs alone."""
    jobs = tuple(attrs.evolve(job, backends=("ev74",)) for job in scenario.jobs if "ev74" in job.backends)
    return attrs.evolve(scenario, jobs=jobs)


def record(scenario: Scenario, path: Path, form: str = "pftrace") -> ScenarioRun:
    """Run the scenario's EV74 jobs, with a timeline in `path`."""
    with recording(path, form) as sink:
        return run_scenario(on_ev74(scenario), timeline=Timeline.of(sink, scenario.device))


def traced(scenario: Scenario, path: Path) -> tuple[ScenarioRun, Decoded]:
    """The run, and what Perfetto shows of it."""
    ran = record(scenario, path)
    return ran, decode_trace(path)
