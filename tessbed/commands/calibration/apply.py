"""`tessbed calibrate apply`: the preset that a fit determined, as a file that any command takes."""

import datetime
from pathlib import Path

import click

from tessbed.commands.exits import OK
from tessbed.commands.options import json_option, new_command, print_result, quiet_option, say
from tessbed.commands.types import FILE

HELP = """Write the preset that FIT determined, the document of `tessbed calibrate fit`.

Fields that the data determine have their interval and "calibrated"; bounds and shares of combinations say what they
are; all others keep their guesses. Reports on the preset name the board; studies beyond what was measured say
"extrapolated".

Exit code: 0 written, 2 a file that is no fit."""

FOLDERLESS = click.Path(path_type=Path, dir_okay=False)


def _date(context: click.Context, parameter: click.Parameter, text: str | None) -> str:
    """A day as 2026-12-01; today where none is given."""
    if text is None:
        return datetime.datetime.now(datetime.UTC).date().isoformat()
    try:
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError:
        raise click.BadParameter(f'got "{text}", wanted a date such as 2026-12-01', context, parameter) from None


@new_command("apply", HELP)
@click.argument("fit", metavar="FIT", type=FILE)
@click.option("-o", "--output", "target", metavar="FILE", type=FOLDERLESS, required=True, help="The preset to write.")
@click.option("--date", metavar="DAY", callback=_date, help="The day of the measurements.  [default: today]")
@json_option
@quiet_option
def command(fit: str, target: Path, date: str, as_json: bool, quiet: bool) -> int:
    """Writes the file, and what became of each parameter on stdout; returns the exit code."""
    from tessbed.scenarios.output.files import replacing
    from tessbed.scenarios.study.calibration.calibrated_preset import (
        base_preset,
        calibrated_preset,
        document,
        lines,
        read_fit,
    )

    found = read_fit(Path(fit))
    name, base = base_preset(found, Path(fit).resolve().parent, target)
    made = calibrated_preset(found, base, date)
    with replacing(target) as part:
        part.write_text(made.text(name), encoding="utf-8")
    reported = document(made)
    print_result(reported, lambda: lines(reported), as_json=as_json)
    say(f"wrote {target}; use it: tessbed run SCENARIO --set device.preset={target}", quiet=quiet)
    return OK
