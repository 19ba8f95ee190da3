"""`tessbed whatif`: what each parameter of the device is worth."""

from pathlib import Path

import click

from tessbed.commands.options import json_option, new_command, print_result, quiet_option, scenario_arguments
from tessbed.commands.study import engine_option, parallel_runs, plot_option, print_provenance, processes_option
from tessbed.commands.types import Number

HELP = """Re-run the EV74 jobs of SCENARIO with each parameter of the device one step down and up, halved, doubled and
infinitely good (unlimited, or free). Ranked by what a better value saves; anomalies are flagged."""


@new_command("whatif", HELP)
@scenario_arguments
@click.option("--top", type=Number(1), help="Number of parameters to show; all without it.")
@processes_option()
@engine_option
@plot_option
@json_option
@quiet_option
def command(
    file: str,
    settings: tuple[str, ...],
    seed: int | None,
    top: int | None,
    processes: int | None,
    engine: str,
    plot: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """The ranked table on stdout."""
    from tessbed.scenarios.library import load
    from tessbed.scenarios.study import sensitivity
    from tessbed.scenarios.study.measurement import studied

    scenario = studied(load(file, settings, seed))
    with parallel_runs(scenario, engine, sensitivity.run_count(scenario), processes, quiet=quiet) as runs:
        base, rows = sensitivity.sensitivities(scenario, engine, runs)
    reported = sensitivity.document(base, rows)
    print_provenance(reported, engine, quiet=quiet)
    if plot is not None:
        from tessbed.scenarios.study.plots.figure import DeviceCaption, save
        from tessbed.scenarios.study.plots.studies import plot_sensitivity

        save(plot_sensitivity(reported, DeviceCaption.of(scenario)), plot)
    print_result(reported, lambda: sensitivity.lines(reported, top), as_json=as_json)
