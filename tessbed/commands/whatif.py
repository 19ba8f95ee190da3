"""`tessbed whatif`: what each parameter of the device is worth."""

import sys
from contextlib import nullcontext
from typing import Any

import click

from tessbed.commands.options import json_option, new_command, print_result, quiet_option, scenario_arguments
from tessbed.commands.study import engine_option, print_provenance

HELP = """Re-run the EV74 jobs of SCENARIO with each parameter of the device one step down and up, halved, doubled and
infinitely good (unlimited, or free). Ranked by what a better value saves; anomalies are flagged."""


@new_command("whatif", HELP)
@scenario_arguments
@engine_option
@json_option
@quiet_option
def command(file: str, settings: tuple[str, ...], seed: int | None, engine: str, as_json: bool, quiet: bool) -> None:
    """The ranked table on stdout."""
    from tessbed.scenarios.library import load
    from tessbed.scenarios.study import sensitivity
    from tessbed.scenarios.study.measurement import studied
    from tessbed.scenarios.study.parameters import knobs

    scenario = studied(load(file, settings, seed))
    shown = not quiet and sys.stderr.isatty()
    total = sum(1 for _ in knobs(scenario.device))
    bar: Any = click.progressbar(length=total, file=sys.stderr) if shown else None
    with bar or nullcontext():
        base, rows = sensitivity.sensitivities(scenario, engine, lambda path: bar.update(1, path) if bar else None)
    reported = sensitivity.document(base, rows)
    print_provenance(reported, engine, quiet=quiet)
    print_result(reported, lambda: sensitivity.lines(reported), as_json=as_json)
