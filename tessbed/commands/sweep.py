"""`tessbed sweep`: thousands of configurations of a scenario, in parallel, kept and resumed."""

from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from tessbed.commands.exits import FAILED, OK, failed_ourselves
from tessbed.commands.options import json_option, new_command, print_result, quiet_option, say, settings_option
from tessbed.commands.study import (
    announce,
    check_outputs,
    db_option,
    engine_option,
    opened_output,
    out_option,
    plot_option,
    print_provenance,
    processes_option,
    varied_caption,
)
from tessbed.commands.types import SCENARIO, VARIED, Number

if TYPE_CHECKING:
    from tessbed.scenarios.study.plots.figure import DeviceCaption
    from tessbed.scenarios.study.sweep import space

HELP = """Time the EV74 jobs of SCENARIO for every combination of the varied keys, or run its load with --load.

VALUES are a range such as 1..16 (1..16..5 with a step), a list such as 8,16,32, or both. Results are kept in a database
by a hash of the resolved configuration; the same command resumes where an interrupted one stopped.

Exit code: 0 ok, 1 no point has a result, 2 invalid input."""


@new_command("sweep", HELP)
@click.argument("file", metavar="SCENARIO", type=SCENARIO)
@click.option(
    "--vary", "varied", type=VARIED, multiple=True, required=True, metavar="KEY=VALUES", help="A key and its values."
)
@settings_option("Override a key at every point.")
@click.option("--random", "count", type=Number(1), metavar="N", help="Draw N points instead of all.")
@click.option("--seed", type=Number(0), default=0, show_default=True, help="Seed of the random draw.")
@db_option
@out_option
@processes_option("one for each CPU")
@click.option("--executor", "where", default="processes", show_default=True, help="here, processes, dask://HOST:PORT.")
@engine_option
@click.option("--load", "of_load", is_flag=True, help="Run the load at every point: latencies, drops and misses.")
@plot_option
@json_option
@quiet_option
def command(
    file: str,
    varied: tuple[str, ...],
    settings: tuple[str, ...],
    count: int | None,
    seed: int,
    db: str | None,
    outputs: tuple[str, ...],
    processes: int | None,
    where: str,
    engine: str,
    of_load: bool,
    plot: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """The table on stdout; returns the exit code."""
    from tessbed.commands.progress import counted
    from tessbed.scenarios.forecast import forecasts
    from tessbed.scenarios.library import stem_of
    from tessbed.scenarios.provenance.basis_words import KEY
    from tessbed.scenarios.study.measurement import studied
    from tessbed.scenarios.study.sweep import space, table
    from tessbed.scenarios.study.sweep.batches import BatchRunner
    from tessbed.scenarios.study.sweep.execution import interrupted, plan_sweep, run_sweep
    from tessbed.scenarios.study.sweep.executors import parse_executor
    from tessbed.scenarios.study.sweep.load_sweep import LOAD, load_sweep_lines
    from tessbed.scenarios.study.sweep.point import bugs

    spanned, name, began = space.parse_space(varied), stem_of(file), perf_counter()
    engine = LOAD if of_load else engine
    path = db or f"{name}.sweep.sqlite"
    check_outputs(path, outputs, plot)
    with closing(parse_executor(where, processes)) as chosen:
        planned = plan_sweep(file, settings, spanned, count, seed, engine)
        say(chosen.note, quiet=quiet or not chosen.note)
        for point in list(planned.resolved.values())[: 0 if of_load else 1]:
            announce(forecasts(studied(point.base)), engine, quiet=quiet)
        with opened_output(path, quiet=quiet) as store:
            try:
                with counted(len(planned.points), "points", quiet=quiet, resumes=True) as progress:
                    found = run_sweep(
                        planned, store, BatchRunner(chosen.make_executor, chosen.width, chosen.deaths), progress
                    )
            except KeyboardInterrupt:
                keys = list(planned.resolved)
                say(interrupted(path, store.count(keys), f"of {len(keys):,} points"), quiet=quiet)
                raise
    rows = table.flat(planned.points, found, planned.extrapolated())
    by = table.table_provenance(found, planned.bases())
    say(
        f"{len(rows):,} point{'s' * (len(rows) != 1)} in {perf_counter() - began:.1f} s; results in {path}", quiet=quiet
    )
    print_provenance(by, engine, quiet=quiet)
    table.write_table(outputs, rows)
    if plot is not None:
        from tessbed.scenarios.study.plots.figure import save
        from tessbed.scenarios.study.sweep.resolver import Resolver

        shown = _shown_column(rows) if of_load else "device_ticks"
        save(_picture(name, spanned, rows, shown, varied_caption(Resolver(file, settings, engine), spanned)), plot)
    document = {"schema_version": 1, "name": name, **by, "rows": rows}
    lines = load_sweep_lines(spanned, rows, by[KEY]) if of_load else table.table_lines(name, spanned, rows, by[KEY])
    print_result(document, lambda: lines, as_json=as_json)
    if failures := bugs(found):
        return failed_ourselves(f"{failures:,} of {len(rows):,} points")
    return FAILED if all(row["error"] for row in rows) else OK


def _shown_column(rows: list[dict[str, Any]]) -> str:
    """The worst p99 of the streams; their worst mean where a point has too few frames for it."""
    return "mean_ticks" if any(row["p99_ticks"] is None for row in rows if not row["error"]) else "p99_ticks"


def _picture(
    name: str, spanned: "space.Space", rows: list[dict[str, Any]], column: str, device: "DeviceCaption"
) -> Any:
    """The least ticks of a column over the first parameter, a line for each value of the second."""
    from tessbed.scenarios.study.plots.spaces import plot_sweep
    from tessbed.scenarios.study.sweep.space import plain

    first, *others = (axis.key for axis in spanned.axes)
    best: dict[str, dict[Any, int]] = {}
    for row in rows:
        if not row["error"] and row[column] is not None:
            line = best.setdefault(str(row[others[0]]) if others else name, {})
            line[row[first]] = min(row[column], line.get(row[first], row[column]))
    measure = "device ticks" if column == "device_ticks" else f"{column.removesuffix('_ticks')} latency, ticks"
    title = f"{name}, the best over {', '.join(others[1:])}" if others[1:] else name
    legend, values = others[0] if others else "", [plain(value) for value in spanned.axes[0].values]
    return plot_sweep(title, first, values, legend, best, device, measure)
