"""A run of a scenario as commands do it: with what is to be said before it, and a progress bar while it lasts."""

import sys
from typing import TYPE_CHECKING

from tessbed.commands.options import say

if TYPE_CHECKING:
    from tessbed.scenarios.model import Scenario, ScenarioJob
    from tessbed.scenarios.outcome import ScenarioRun
    from tessbed.scenarios.timeline.timeline import Timeline


def foretell(scenario: "Scenario", *, trace: bool, quiet: bool) -> None:
    """Say what may be a slip, and what will take long. Raises MemoryError for a trace that does not fit into memory."""
    from tessbed.scenarios.forecast import check_trace, forecasts
    from tessbed.scenarios.format.notices import notices

    for text in notices(scenario):
        say(f"note: {text}", quiet=quiet)
    found = forecasts(scenario)
    if trace:
        check_trace(found)
    for one in found:
        say(str(one), quiet=quiet or not one.long)


def watched_run(
    scenario: "Scenario", engine: str, *, quiet: bool, trace: bool = False, timeline: "Timeline | None" = None
) -> "ScenarioRun":
    """Run with a progress bar, where a terminal watches and there is something to wait for."""
    from tessbed.scenarios.forecast import forecasts
    from tessbed.scenarios.runner import run_scenario

    found = forecasts(scenario)
    bands = sum(one.bands for one in found) * (2 if engine == "verify" else 1)
    if quiet or not any(one.long for one in found) or not sys.stderr.isatty():
        return run_scenario(scenario, engine=engine, trace=trace, timeline=timeline)
    from tessbed.commands.job_progress import job_progress

    with job_progress(bands) as begin:

        def progress(job: "ScenarioJob", backend: str) -> None:
            begin(f"{job.name} on {backend}")

        return run_scenario(scenario, engine=engine, trace=trace, progress=progress, timeline=timeline)
