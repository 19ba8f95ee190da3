"""`tessbed calibrate bench`: what the public bench of Tess prints, as lines of a table and as experiments."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from tessbed.commands.exits import OK
from tessbed.commands.options import new_command, quiet_option, say
from tessbed.commands.streams import echo_text
from tessbed.commands.types import FILE, Folder, Number, OneOf

HELP = """Print the times in OUTPUT, which tess_a65_vs_ev74_bench of sima-neat/core printed, as a table.

Times of the A65 are left out: no parameter of the device is about them. Those of the EV74 hold code of the host, and
are of two Tess jobs in BF16: together they bound dispatch and completion, and determine little else.

Exit code: 0 ok, 2 no output of that bench, an incomplete one, or one whose bytes were wrong."""


@new_command("bench", HELP)
@click.argument("printed", metavar="OUTPUT", type=FILE)
@click.option("--timer", type=OneOf(["ev74_element", "ev74_wall"]), default="ev74_element", show_default=True,
              help="What the pipeline counts around the job, or what the caller waits.")  # fmt: skip
@click.option("--statistic", type=OneOf(["mean", "min", "max"]), default="mean", show_default=True,
              help="Which of the three numbers that the bench prints of a timer.")  # fmt: skip
@click.option("--runs", type=Number(1), default=200, show_default=True, metavar="N", help="Iterations of the bench.")
@click.option("--warmup", type=Number(0), default=25, show_default=True, metavar="N", help="Its warm-ups.")
@click.option("--preset", default="ev74-4core", show_default=True, metavar="PRESET", help="The device of the guesses.")
@click.option("-o", "--output", "folder", metavar="FOLDER", type=Folder(),
              help="Also write a scenario of each case to FOLDER/experiments, if there is none.")  # fmt: skip
@quiet_option
def command(
    printed: str, timer: str, statistic: str, runs: int, warmup: int, preset: str, folder: Path | None, quiet: bool
) -> int:
    """The table on stdout; returns the exit code."""
    from tessbed.scenarios.format.texts import read_text
    from tessbed.scenarios.study.calibration.board_data import Table
    from tessbed.scenarios.study.calibration.board_files.bench_output import bench_rows, bench_scenario, read_bench
    from tessbed.scenarios.study.calibration.board_files.table_file import table_text

    cases = read_bench(read_text(Path(printed), printed), printed)
    of = f"{runs} runs after {warmup} warm-ups"
    rows = [row for case in cases for row in bench_rows(case, timer, statistic, of)]
    if folder is not None:
        for path in _written(folder, {case.name: bench_scenario(case, preset) for case in cases}):
            say(f"wrote {path}", quiet=quiet)
    echo_text(table_text(Table(tuple(rows))))
    silent = [case.name for case in cases if case.name not in {row.experiment for row in rows}]
    say(f"{', '.join(silent)}: {timer} counted nothing; try --timer ev74_wall", quiet=quiet or not silent)
    say("left out: host_generic and host_neon, the times of the A65", quiet=quiet)
    return OK


def _written(folder: Path, scenarios: dict[str, Any]) -> Iterator[Path]:
    """Write the scenarios whose files are not there yet; gives what was written."""
    from tessbed.scenarios.format.toml_writer import toml_text
    from tessbed.scenarios.output.files import replacing
    from tessbed.scenarios.study.calibration.folder_files import experiment_path

    for name, values in scenarios.items():
        path = experiment_path(folder, name)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as part:
                part.write_text(toml_text(values), encoding="utf-8")
            yield path
