"""`tessbed advise`: how many workers pay off."""

from pathlib import Path

import click

from tessbed.commands.options import json_option, new_command, print_result, quiet_option, scenario_arguments
from tessbed.commands.study import engine_option, parallel_runs, plot_option, print_provenance, processes_option
from tessbed.commands.types import Number

HELP = """Print the makespan of each EV74 job of SCENARIO for every worker count, the knee of the curve, the fewest
workers near the lower bound, and why each flat, falling or rising stretch is so."""


@new_command("advise", HELP)
@scenario_arguments
@click.option("--max-workers", type=Number(1, 64), default=16, show_default=True, help="The largest count.")
@click.option(
    "--within",
    "percent",
    type=Number(0, 100, float),
    default=5.0,
    show_default=True,
    metavar="PERCENT",
    help="What counts as near the bound, and as a gain.",
)
@processes_option()
@engine_option
@plot_option
@json_option
@quiet_option
def command(
    file: str,
    settings: tuple[str, ...],
    seed: int | None,
    max_workers: int,
    percent: float,
    processes: int | None,
    engine: str,
    plot: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """The advice on stdout."""
    from tessbed.scenarios.library import load
    from tessbed.scenarios.study import worker_scaling
    from tessbed.scenarios.study.measurement import studied

    scenario = studied(load(file, settings, seed))
    with parallel_runs(scenario, engine, max_workers, processes, quiet=quiet, by_job=True) as runs:
        reported = worker_scaling.document(scenario, max_workers, percent, engine, runs)
    print_provenance(reported, engine, quiet=quiet)
    if plot is not None:
        from tessbed.scenarios.study.plots.figure import DeviceCaption, save
        from tessbed.scenarios.study.plots.studies import plot_scaling

        save(plot_scaling(reported, DeviceCaption.of(scenario)), plot)
    print_result(reported, lambda: worker_scaling.lines(reported), as_json=as_json)
