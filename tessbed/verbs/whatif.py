"""`tessbed whatif`: what each parameter of the device is worth."""

import sys
from contextlib import nullcontext
from typing import Any

import click

from tessbed.verbs.options import command as verb
from tessbed.verbs.options import json_option, print_result, quiet_option, scenario_arguments
from tessbed.verbs.study import engine_option, say_provenance

HELP = """Re-run the EV74 jobs of SCENARIO with each parameter of the device one step down and up, halved, doubled and
infinitely good (unlimited, or free). Ranked by what a better value saves; anomalies are flagged."""


@verb("whatif", HELP)
@scenario_arguments
@engine_option
@json_option
@quiet_option
def command(file: str, settings: tuple[str, ...], seed: int | None, engine: str, as_json: bool, quiet: bool) -> None:
    """The ranked table on stdout."""
    from tessbed.scenarios.library import load
    from tessbed.scenarios.study import whatif
    from tessbed.scenarios.study.knobs import knobs
    from tessbed.scenarios.study.measure import studied

    scenario = studied(load(file, settings, seed))
    shown = not quiet and sys.stderr.isatty()
    total = sum(1 for _ in knobs(scenario.device))
    bar: Any = click.progressbar(length=total, file=sys.stderr) if shown else None
    with bar or nullcontext():
        base, rows = whatif.whatif(scenario, engine, lambda path: bar.update(1, path) if bar else None)
    told = whatif.document(base, rows)
    say_provenance(told, engine, quiet=quiet)
    print_result(told, lambda: whatif.lines(told), as_json=as_json)
