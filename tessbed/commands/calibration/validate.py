"""`tessbed calibrate validate`: does a fit predict what it has not seen, better than guesses do?"""

from pathlib import Path

import click

from tessbed.commands.exits import FAILED, OK
from tessbed.commands.options import echo_verdict, json_option, new_command
from tessbed.commands.streams import echo_json
from tessbed.commands.types import FILE
from tessbed.scenarios.study.calibration.folder_files import FIT_FILE

HELP = """Predict the rows of the table in FOLDER that are held out, with the result of `tessbed calibrate fit`.

Beside it stand the guesses, and the guesses times one factor. A fit fails that does not beat both, that is off by more
than twice the scatter of repetitions, or that orders two experiments otherwise than the board does beyond doubt.

Exit code: 0 it passes, 1 it fails, 2 invalid input."""


@new_command("validate", HELP)
@click.argument("folder", metavar="FOLDER", type=FILE)
@click.option("--fit", "fitted", metavar="FILE", type=FILE, help="The result of a fit.  [default: FOLDER/fit.json]")
@json_option
def command(folder: str, fitted: str | None, as_json: bool) -> int:
    """The scores on stdout; returns the exit code."""
    from tessbed.scenarios.study.calibration.board_files.table_check import usable_board
    from tessbed.scenarios.study.calibration.calibrated_preset import read_fit
    from tessbed.scenarios.study.calibration.validation import (
        validate_calibration,
        validation_document,
        validation_lines,
    )

    board = usable_board(Path(folder), despite_errors=True)
    calibration = read_fit(Path(fitted) if fitted else Path(folder) / FIT_FILE)
    found = validate_calibration(calibration, board.setup, board.table, board.experiments)
    if as_json:
        echo_json(validation_document(found))
    else:
        echo_verdict(list(validation_lines(found)), found.passes)
    return OK if found.passes else FAILED
