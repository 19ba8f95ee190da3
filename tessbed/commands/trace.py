"""`tessbed trace`: the timeline of a run, for Perfetto, for a viewer of waves, or as JSON lines."""

from pathlib import Path

import click

from tessbed.commands.options import echo_verdict, json_option, new_command, quiet_option, scenario_arguments
from tessbed.commands.streams import echo_json
from tessbed.commands.timeline_options import check_timeline, recorded

HELP = """Run the EV74 jobs of SCENARIO and write what happens, tick by tick, as a timeline.

Cores with their bands and waits, slots, DMA channels, memory ports, queues, the host, and jobs through their states;
arrows from a gather to its band, its slot, its drain, the record and the retirement; counters; faults and findings.
One tick is shown as one nanosecond. Tracing changes no tick and no byte. See docs/timelines.md.

Exit code: as that of `run`. The timeline of a run that failed is written, too: up to where it ended."""


@new_command("trace", HELP)
@scenario_arguments
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file to write.  [default: NAME.pftrace, or the suffix of the format]",
)
@click.option("--vcd", "form", flag_value="vcd", help="Write waves for GTKWave and Surfer, with a save file for each.")
@click.option("--jsonl", "form", flag_value="jsonl", help="Write one JSON object a line.")
@json_option
@quiet_option
def command(
    file: str,
    settings: tuple[str, ...],
    seed: int | None,
    output: Path | None,
    form: str | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """The run's table on stdout, its timeline in a file; returns the exit code."""
    from tessbed.commands.scenario_run import foretell, watched_run
    from tessbed.scenarios.library import load, stem_of
    from tessbed.scenarios.report import document, exit_code, report_table
    from tessbed.scenarios.study.measurement import studied

    scenario = studied(load(file, settings, seed), "trace")
    path = output or Path(f"{stem_of(file)}.{form or 'pftrace'}")
    try:
        form = check_timeline(path, form or (None if output else "pftrace"))
    except click.BadParameter as error:
        raise click.BadParameter(error.message, param_hint="-o") from None
    meter = foretell(scenario, "simpy", trace=False, quiet=quiet)
    with recorded(path, scenario, form=form, quiet=quiet) as timeline:
        done = watched_run(scenario, "simpy", meter, quiet=quiet or as_json, timeline=timeline)
    if as_json:
        echo_json(document(done))
    else:
        echo_verdict(report_table(done), done.ok)
    return exit_code(done)
