"""`tessbed calibrate check`: is a table of measurements fit to be fitted?"""

import click

from tessbed.commands.exits import FAILED, OK
from tessbed.commands.options import echo_verdict, json_option, new_command
from tessbed.commands.streams import echo_json
from tessbed.commands.types import FILE

HELP = """Judge the table of a calibration in FOLDER before anything is fitted to it.

Reports what can not be (units, ticks for microseconds, an observable shorter than its part, experiments that nobody
planned, a shape that is fitted and held out), and what is doubtful (a timer too coarse, drift over repetitions,
outliers, missing experiments, single repetitions, an assumed clock), each with its line. No line is ever dropped.

Exit code: 0 no errors, 1 errors, 2 files that can not be read as what they are."""


@new_command("check", HELP)
@click.argument("folder", metavar="FOLDER", type=FILE)
@json_option
def command(folder: str, as_json: bool) -> int:
    """The findings on stdout; returns the exit code."""
    from pathlib import Path

    from tessbed.scenarios.study.calibration.board_files.table_check import (
        check_board,
        check_document,
        check_lines,
        read_board,
    )

    board = read_board(Path(folder))
    findings = check_board(board)
    document = check_document(board, findings)
    if as_json:
        echo_json(document)
    else:
        echo_verdict(list(check_lines(board, findings)), not document["errors"])
    return FAILED if document["errors"] else OK
