"""`tessbed bound`: how fast a job could possibly be, and what limits it."""

from pathlib import Path

from tessbed.commands.options import json_option, new_command, print_result, quiet_option, scenario_arguments
from tessbed.commands.study import engine_option, measured, plot_option, print_provenance

HELP = """Print lower bounds of the device ticks of each EV74 job of SCENARIO, the binding one, and the gap to it.

Each bound is certified: it holds for the bands that the firmware plans, whatever the order of transfers."""


@new_command("bound", HELP)
@scenario_arguments
@engine_option
@plot_option
@json_option
@quiet_option
def command(
    file: str,
    settings: tuple[str, ...],
    seed: int | None,
    engine: str,
    plot: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """The bounds on stdout."""
    from tessbed.scenarios.library import load
    from tessbed.scenarios.study import lower_bounds
    from tessbed.scenarios.study.measurement import measure_scenario, studied

    scenario = studied(load(file, settings, seed))
    with measured(scenario, engine, quiet=quiet) as meter:
        reported = lower_bounds.document(measure_scenario(scenario, engine, trace=False, meter=meter))
    print_provenance(reported, engine, quiet=quiet)
    if plot is not None:
        from tessbed.scenarios.study.plots.figure import DeviceCaption, save
        from tessbed.scenarios.study.plots.studies import plot_bounds

        save(plot_bounds(reported, DeviceCaption.of(scenario)), plot)
    print_result(reported, lambda: lower_bounds.lines(reported), as_json=as_json)
