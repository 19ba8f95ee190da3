"""`tessbed bench`: the A65 rows beside plain copies and plain numpy, measured in one run."""

from importlib.util import find_spec
from pathlib import Path

import click

from tessbed.commands.options import json_option, new_command, quiet_option, say
from tessbed.commands.streams import echo_json, echo_text
from tessbed.commands.study import plot_option
from tessbed.commands.types import Number

HELP = """Measure the A65 executor on this machine: checked calls and preparation, small to large, dense and strided.

Each case is compared with `np.copyto` of the same physical bytes and with the strongest pipeline that a user would
write in plain numpy, in einops and in torch on one thread where they are installed: by transpositions, or by copies
between strided views. Rounds are interleaved and ratios are medians, so other load on the machine affects all of them
alike. TESSBED_ROWS=numpy or =native chooses the rows.

Measurements only: the host's processor is not an A65. Exit code: 0 measured, 2 invalid input."""


@new_command("bench", HELP)
@click.option("--match", default="", metavar="TEXT", help="Only cases whose name contains TEXT.")
@click.option("--rounds", type=Number(1), default=15, show_default=True, metavar="N", help="Rounds per case.")
@plot_option
@json_option
@quiet_option
def command(match: str, rounds: int, plot: Path | None, as_json: bool, quiet: bool) -> None:
    """The table, or the document, on stdout."""
    from tessbed.bench.cases import CASES
    from tessbed.bench.report import bench_document, format_bench, run_bench
    from tessbed.commands.progress import counted

    chosen = [case.name for case in CASES if match in case.name]
    if not chosen:
        text = f"got {match!r}, wanted part of a case's name such as {CASES[-1].name!r}"
        raise click.BadParameter(text, param_hint="--match")
    if plot and find_spec("matplotlib") is None:
        raise click.BadParameter("needs matplotlib: pip install 'tessbed[plot]'", param_hint="--plot")
    with counted(len(chosen), "cases", quiet=quiet) as advance:
        report = run_bench(match=match, rounds=rounds, progress=lambda name: advance(1))
    if as_json:
        echo_json(bench_document(report))
    else:
        echo_text(format_bench(report))
    if plot:
        from tessbed.bench.plot import write_plot

        write_plot(report, plot)
        say(f"drawn: {plot}", quiet=quiet)
