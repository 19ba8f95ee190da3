"""`tessbed compare`: which terms make the difference between two runs."""

import click

from tessbed.verbs.options import command as verb
from tessbed.verbs.options import json_option, print_result, quiet_option, say, settings_option
from tessbed.verbs.study import engine_option, say_provenance
from tessbed.verbs.types import SCENARIO, Number

HELP = """Compare RUN1 with RUN2, each a run folder (`tessbed run -o`) or a scenario: which terms of the accounts of
the EV74 jobs make the difference. They sum to it. --set applies to both, --set2 to RUN2 alone."""


@verb("compare", HELP)
@click.argument("run1", type=SCENARIO)
@click.argument("run2", type=SCENARIO)
@settings_option("Override a key of both.")
@settings_option("Override a key of RUN2.", "--set2")
@click.option("--top", type=Number(1), default=12, show_default=True, help="Show so many terms of a job.")
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
    from tessbed.scenarios.study import compare

    before = compare.opened(run1, settings, engine)
    after = compare.opened(run2, (*settings, *set2), engine)
    told = compare.document((run1, run2), before, after)
    for side, measured, changed in (("before", before, settings), ("after", after, (*settings, *set2))):
        say_provenance(told[side], engine, quiet=quiet)
        text = None if changed else compare.stale(told[side]["run"], measured)
        if text:
            say(text, quiet=quiet)
    print_result(told, lambda: compare.lines(told, top), as_json=as_json)
