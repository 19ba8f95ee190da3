"""`tessbed explain`: where every tick of the makespan went."""

from pathlib import Path

import click

from tessbed.commands.options import json_option, new_command, print_result, quiet_option, scenario_arguments
from tessbed.commands.study import engine_option, measured, plot_option, print_provenance
from tessbed.commands.types import Number

HELP = """Report where every tick of each EV74 job of SCENARIO went: the resource, the reason, the class of tiles.

The ticks sum exactly to the makespan. This attributes the ticks of this run; it predicts no other."""


@new_command("explain", HELP)
@scenario_arguments
@click.option("--top", type=Number(1), default=12, show_default=True, help="Number of terms to show per job.")
@engine_option
@plot_option
@json_option
@quiet_option
def command(
    file: str,
    settings: tuple[str, ...],
    seed: int | None,
    top: int,
    engine: str,
    plot: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """The account on stdout."""
    from tessbed.scenarios.library import load
    from tessbed.scenarios.study import attribution_report
    from tessbed.scenarios.study.measurement import measure_scenario, studied

    scenario = studied(load(file, settings, seed))
    with measured(scenario, engine, quiet=quiet, trace=True) as meter:
        reported = attribution_report.document(measure_scenario(scenario, engine, meter=meter))
    print_provenance(reported, engine, quiet=quiet)
    if plot is not None:
        from tessbed.scenarios.study.plots.figure import DeviceCaption, save
        from tessbed.scenarios.study.plots.studies import plot_attribution

        save(plot_attribution(reported, DeviceCaption.of(scenario)), plot)
    print_result(reported, lambda: attribution_report.lines(reported, top), as_json=as_json)
