"""A run of a scenario as commands do it: with what is to be said before it, and a progress bar while it lasts."""

from typing import TYPE_CHECKING

from tessbed.commands.options import say

if TYPE_CHECKING:
    from tessbed.scenarios.forecast import Meter
    from tessbed.scenarios.model import Scenario
    from tessbed.scenarios.outcome import ScenarioRun
    from tessbed.scenarios.timeline.timeline import Timeline


def foretell(scenario: "Scenario", engine: str, *, trace: bool, quiet: bool) -> "Meter":
    """Say what may be a slip, and what will take long; gives the meter of the run.

    `trace` says that a run folder is written. Raises MemoryError for a job, or a trace, that does not fit into memory.
    """
    from tessbed.commands.study import announce
    from tessbed.scenarios.backends import check_room
    from tessbed.scenarios.forecast import Meter, check_trace, forecasts
    from tessbed.scenarios.format.notices import notices

    for text in notices(scenario):
        say(f"note: {text}", quiet=quiet)
    for job in scenario.operations:
        if engine != "exact" or job.backends != ("ev74",):
            check_room(job.name, job.plan)
    found = forecasts(scenario)
    if trace:
        check_trace(found)
    announce(found, engine, quiet=quiet, trace=trace)
    return Meter.of(found, engine, trace=trace, folder=trace)


def watched_run(
    scenario: "Scenario", engine: str, meter: "Meter", *, quiet: bool, timeline: "Timeline | None" = None
) -> "ScenarioRun":
    """Run with a progress bar, where a terminal watches and there is something to wait for."""
    from tessbed.commands.progress import run_progress
    from tessbed.scenarios.runner import run_scenario

    with run_progress(meter, quiet=quiet):
        return run_scenario(scenario, engine=engine, meter=meter, timeline=timeline)
