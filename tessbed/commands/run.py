"""`tessbed run`: runs a scenario on its backends and checks every byte."""

import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import click

from tessbed.commands.options import echo_verdict, json_option, new_command, quiet_option, say, scenario_arguments
from tessbed.commands.streams import echo_json
from tessbed.commands.types import Folder, OneOf
from tessbed.scenarios.format.option_values import ENGINES

if TYPE_CHECKING:
    from tessbed.scenarios.model import Scenario, ScenarioJob
    from tessbed.scenarios.outcome import ScenarioRun

HELP = """Run SCENARIO (a file, or a name that `tessbed list` shows) and check every byte with an independent oracle.

Exit code: 0 ok, 1 a check failed, 2 invalid input, 3 a device fault or hang, 4 a hazard or lifetime violation."""


@new_command("run", HELP)
@scenario_arguments
@click.option("-o", "--output", metavar="DIR", type=Folder(), help="Write the run folder.")
@click.option(
    "--engine",
    type=OneOf(ENGINES),
    default="simpy",
    show_default=True,
    help="How the EV74 is timed: events that move every byte, an exact recurrence that moves none, or both, compared.",
)
@json_option
@quiet_option
def command(
    file: str,
    settings: tuple[str, ...],
    seed: int | None,
    output: Path | None,
    engine: str,
    as_json: bool,
    quiet: bool,
) -> int:
    """The run's document or table on stdout; returns the exit code."""
    from tessbed.scenarios.library import load
    from tessbed.scenarios.report import document, exit_code, report_table

    scenario = load(file, settings, seed)
    _foretell(scenario, trace=output is not None, quiet=quiet)
    if output is None:
        done = _watched(scenario, engine, trace=False, quiet=quiet or as_json)
    else:
        done = _written(output, scenario, engine, quiet=quiet or as_json)
    if done.instead:
        say(f"engine simpy, not {engine}: {done.instead}", quiet=quiet)
    if output is not None:
        say(f"wrote {output}", quiet=quiet)
    if as_json:
        echo_json(document(done))
    else:
        echo_verdict(report_table(done), done.ok)
    return exit_code(done)


def _foretell(scenario: "Scenario", *, trace: bool, quiet: bool) -> None:
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


def _written(output: Path, scenario: "Scenario", engine: str, *, quiet: bool) -> "ScenarioRun":
    """Run, and write the run folder; without an end to both nothing is left of it."""
    from tessbed.scenarios.run_folder import RunFolder

    with RunFolder.open(output) as folder:
        adopted, began = folder.adopt(scenario), perf_counter()
        done = _watched(adopted, engine, trace=True, quiet=quiet)
        folder.write(done, perf_counter() - began)
    return done


def _watched(scenario: "Scenario", engine: str, *, trace: bool, quiet: bool) -> "ScenarioRun":
    """Run with a progress bar, where a terminal watches and there is something to wait for."""
    from tessbed.scenarios.forecast import forecasts
    from tessbed.scenarios.runner import run_scenario

    found = forecasts(scenario)
    bands = sum(one.bands for one in found) * (2 if engine == "verify" else 1)
    if quiet or not any(one.long for one in found) or not sys.stderr.isatty():
        return run_scenario(scenario, engine=engine, trace=trace)
    from tessbed.commands.job_progress import job_progress

    with job_progress(bands) as begin:

        def progress(job: "ScenarioJob", backend: str) -> None:
            begin(f"{job.name} on {backend}")

        return run_scenario(scenario, engine=engine, trace=trace, progress=progress)
