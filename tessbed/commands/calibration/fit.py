"""`tessbed calibrate fit`: the parameters that explain a table, with a verdict and an interval for each."""

import hashlib
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from tessbed.commands.exits import OK
from tessbed.commands.options import MAX_SEED, json_option, new_command, print_result, quiet_option, say
from tessbed.commands.types import FILE, Number
from tessbed.scenarios.study.calibration.folder_files import FIT_FILE, STATE_FILE, TABLE_FILE

HELP = """Fit the parameters of the device to the rows of the table in FOLDER that are for fitting.

Each parameter gets a verdict: determined, with an interval by profile likelihood; bounded on one side; determined only
in combination with others, which is named; or not touched. What the data do not determine keeps its guess.

A table in which `tessbed calibrate check` finds errors is refused.

The result is FOLDER/fit.json, which validate and apply take. What is done is kept in FOLDER/fit.state.json until the
end: the same command resumes where an interrupted one stopped. Equal tables and seeds give equal fits.

Exit code: 0 fitted, 2 invalid input."""


@new_command("fit", HELP)
@click.argument("folder", metavar="FOLDER", type=FILE)
@click.option("--seed", type=Number(0, MAX_SEED), default=0, show_default=True, help="Seed of the drawn starts.")
@click.option("--starts", type=Number(1), default=4, show_default=True, metavar="N", help="Starts; one is the guesses.")
@click.option("-j", "--processes", type=Number(1), metavar="N", help="Processes.  [default: one for each CPU]")
@click.option("--executor", "where", default="processes", show_default=True, help="here, processes, dask://HOST:PORT.")
@click.option("-o", "--output", "target", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
              help="Where to write the result.  [default: FOLDER/fit.json]")  # fmt: skip
@click.option("--despite-errors", is_flag=True, help="Fit a table in which check finds errors.")
@json_option
@quiet_option
def command(
    folder: str,
    seed: int,
    starts: int,
    processes: int | None,
    where: str,
    target: Path | None,
    despite_errors: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """The verdicts on stdout; returns the exit code."""
    import json

    from tessbed.scenarios.output.files import check_file, replacing
    from tessbed.scenarios.study.calibration.board_files.table_check import usable_board
    from tessbed.scenarios.study.calibration.estimate import to_document
    from tessbed.scenarios.study.calibration.fit.execution import fit_table
    from tessbed.scenarios.study.calibration.fit.fit_input import FitInput
    from tessbed.scenarios.study.calibration.fit.fit_report import fit_lines
    from tessbed.scenarios.study.calibration.fit.fit_state import FitState
    from tessbed.scenarios.study.calibration.fit.task_runner import TaskRunner
    from tessbed.scenarios.study.sweep.executors import end_executor, parse_executor

    target = target or Path(folder) / FIT_FILE
    check_file(target)
    board = usable_board(Path(folder), despite_errors=despite_errors)
    rows = board.table.part("fit")
    given = FitInput(
        setup=board.setup,
        table=rows,
        experiments=tuple(board.experiments[name] for name in rows.experiments),
        table_sha256=hashlib.sha256((Path(folder) / TABLE_FILE).read_bytes()).hexdigest(),
        seed=seed,
        starts=starts,
    )
    state = FitState.open(Path(folder) / STATE_FILE, given.key)
    say(f"resumed: {len(state.results):,} parts of this fit are done", quiet=quiet or not state.results)
    with closing(parse_executor(where, processes)) as chosen, chosen.make_executor() as executor:
        say(chosen.note, quiet=quiet or not chosen.note)
        runner = TaskRunner(executor, chosen.width, state, _hear(quiet))
        try:
            found = fit_table(given, runner, lambda text: say(text, quiet=quiet))
        except KeyboardInterrupt:
            end_executor(executor, busy=True)
            kept = f"interrupted; {len(state.results):,} parts are in {state.path}, the same command resumes"
            say(kept, quiet=quiet)
            raise
    document = to_document(found)
    with replacing(target) as part:
        part.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    state.forget()
    print_result(document, lambda: fit_lines(found), as_json=as_json)
    say(f"wrote {target}; next: tessbed calibrate validate {folder}", quiet=quiet)
    return OK


def _hear(quiet: bool) -> Callable[[str, Mapping[str, Any], float], None]:
    """Says what each part of a fit came to, the best so far, and how fast launches are timed."""
    best = float("inf")

    def hear(name: str, result: Mapping[str, Any], rate: float) -> None:
        nonlocal best
        best = min(best, result.get("squares", best))
        least = f"sum of squares {result['squares']:.4g}, " if "squares" in result else ""
        say(f"{name}: {least}best {best:.4g}; {rate:,.0f} launches/s", quiet=quiet)

    return hear
