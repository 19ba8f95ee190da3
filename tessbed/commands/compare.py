"""`tessbed compare`: which terms make the difference between two runs."""

import click

from tessbed.commands.options import json_option, new_command, print_result, quiet_option, say, settings_option
from tessbed.commands.study import engine_option, measured, print_provenance
from tessbed.commands.types import SCENARIO, Number

HELP = """Compare RUN1 with RUN2, each a run folder (`tessbed run -o`) or a scenario: which terms of the accounts of
the EV74 jobs make the difference. They sum to it. --set applies to both, --set2 to RUN2 alone."""


@new_command("compare", HELP)
@click.argument("run1", type=SCENARIO)
@click.argument("run2", type=SCENARIO)
@settings_option("Override a key of both.")
@settings_option("Override a key of RUN2.", "--set2")
@click.option("--top", type=Number(1), default=12, show_default=True, help="Number of terms to show per job.")
@engine_option
@json_option
@quiet_option
def command(
    run1: str,
    run2: str,
    settings: tuple[str, ...],
    set2: tuple[str, ...],
    top: int,
    engine: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """The comparison on stdout."""
    from tessbed.scenarios.study import comparison
    from tessbed.scenarios.study.measurement import measure_scenario, whole

    runs = []
    for scenario in (comparison.opened(run1, settings), comparison.opened(run2, (*settings, *set2))):
        with measured(scenario, engine, quiet=quiet, trace=True) as meter:
            runs.append(whole(measure_scenario(scenario, engine, meter=meter)))
    before, after = runs
    reported = comparison.document((run1, run2), before, after)
    for side, found, changed in (("before", before, settings), ("after", after, (*settings, *set2))):
        print_provenance(reported[side], engine, quiet=quiet)
        text = None if changed else comparison.stale(reported[side]["run"], found)
        if text:
            say(text, quiet=quiet)
    print_result(reported, lambda: comparison.lines(reported, top), as_json=as_json)
