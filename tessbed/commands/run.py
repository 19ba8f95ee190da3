"""`tessbed run`: runs a scenario on its backends and checks every byte."""

from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import click

from tessbed.commands.options import echo_verdict, json_option, new_command, quiet_option, say, scenario_arguments
from tessbed.commands.streams import echo_json
from tessbed.commands.timeline_options import recorded, timeline_option
from tessbed.commands.types import Folder, OneOf
from tessbed.scenarios.format.option_values import ENGINES

if TYPE_CHECKING:
    from tessbed.scenarios.forecast import Meter
    from tessbed.scenarios.model import Scenario
    from tessbed.scenarios.outcome import ScenarioRun
    from tessbed.scenarios.timeline.timeline import Timeline

HELP = """Run SCENARIO (a file, a run folder, or a name that `tessbed list` shows) and check every byte with an oracle
that shares no code with what it checks.

Exit code: 0 ok, 1 a check failed, 2 invalid input, 3 a device fault or hang, 4 a hazard or lifetime violation."""


@new_command("run", HELP)
@scenario_arguments
@click.option("-o", "--output", metavar="DIR", type=Folder(), help="Write the run folder.")
@click.option("--no-outputs", is_flag=True, help="Leave the bytes of inputs and outputs out of the run folder.")
@click.option(
    "--engine",
    type=OneOf(ENGINES),
    default="simpy",
    show_default=True,
    help="How the EV74 is timed: events that move every byte, an exact recurrence that moves none, or both, compared.",
)
@timeline_option
@json_option
@quiet_option
def command(
    file: str,
    settings: tuple[str, ...],
    seed: int | None,
    output: Path | None,
    no_outputs: bool,
    engine: str,
    timeline: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """The run's document or table on stdout; returns the exit code."""
    from tessbed.commands.scenario_run import foretell, watched_run
    from tessbed.scenarios.library import load
    from tessbed.scenarios.report import document, exit_code, report_table

    if no_outputs and output is None:
        raise click.UsageError("--no-outputs: nothing is written without a run folder, wanted -o DIR with it")
    scenario = load(file, settings, seed)
    if timeline is not None:
        _check_traceable(scenario, engine)
    meter = foretell(scenario, engine, trace=output is not None, quiet=quiet)
    with recorded(timeline, scenario, quiet=quiet) as shown:
        if output is None:
            done = watched_run(scenario, engine, meter, quiet=quiet or as_json, timeline=shown)
        else:
            done = _written(output, scenario, engine, meter, shown, outputs=not no_outputs, quiet=quiet or as_json)
    if done.instead:
        say(f"engine simpy, not {engine}: {done.instead}", quiet=quiet)
    if output is not None:
        say(f"wrote {output}", quiet=quiet)
    if as_json:
        echo_json(document(done))
    else:
        echo_verdict(report_table(done), done.ok)
    return exit_code(done)


def _check_traceable(scenario: "Scenario", engine: str) -> None:
    """Refuse a timeline of what has none: it is made of the events of the device."""
    from tessbed.scenarios.exact.exact_device import not_exact_because
    from tessbed.scenarios.study.measurement import studied

    studied(scenario, "trace")
    if engine == "exact" and not not_exact_because(scenario):
        text = "the exact engine has no events to show, wanted --engine simpy or verify"
        raise click.BadParameter(text, param_hint="--trace")


def _written(
    output: Path,
    scenario: "Scenario",
    engine: str,
    meter: "Meter",
    timeline: "Timeline | None",
    *,
    outputs: bool,
    quiet: bool,
) -> "ScenarioRun":
    """Run, and write the run folder; without an end to both nothing is left of it."""
    from tessbed.commands.progress import run_progress
    from tessbed.scenarios.forecast import FOLDER
    from tessbed.scenarios.run_folder import RunFolder
    from tessbed.scenarios.runner import run_scenario

    with RunFolder.open(output) as folder, run_progress(meter, quiet=quiet):
        adopted, began = folder.adopt(scenario), perf_counter()
        keep = folder.keep if outputs else None
        done = run_scenario(adopted, engine=engine, trace=True, meter=meter, timeline=timeline, keep=keep)
        meter.begin(*FOLDER)
        folder.write(done, perf_counter() - began, partial(meter.advance, "transfers traced"))
    return done
