"""Options that the studies share."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tessbed.commands.options import say
from tessbed.commands.types import FILE, Number, OneOf
from tessbed.scenarios.format.option_values import ENGINES

if TYPE_CHECKING:
    from tessbed.scenarios.forecast import Forecast, Meter
    from tessbed.scenarios.model import Scenario
    from tessbed.scenarios.study.parallel_runs import ParallelRuns
    from tessbed.scenarios.study.plots.figure import DeviceCaption
    from tessbed.scenarios.study.sweep.resolver import Resolver
    from tessbed.scenarios.study.sweep.space import Space
    from tessbed.scenarios.study.sweep.store import Store

engine_option = click.option(
    "--engine",
    type=OneOf(ENGINES),
    default="exact",
    show_default=True,
    help="How the EV74 is timed: an exact recurrence without bytes, events with every byte, or both, compared.",
)


def _drawable(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """The file to draw, which is refused before the work begins."""
    if path is not None:
        from tessbed.scenarios.study.plots.figure import check_plot_file

        check_plot_file(path)
    return path


plot_option = click.option(
    "--plot",
    metavar="FILE",
    type=click.Path(path_type=Path),
    callback=_drawable,
    help="Also draw a plot: .png, .svg or .pdf (needs matplotlib).",
)


def _named(context: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    """The database, which an empty name is not: SQLite would keep nothing, in silence."""
    if name == "":
        raise click.BadParameter('got "", wanted the name of a file', context, parameter)
    return name


db_option = click.option(
    "--db",
    metavar="FILE",
    type=FILE,
    callback=_named,
    help="The database of results.  [default: NAME.sweep.sqlite]",
)
out_option = click.option(
    "--out", "outputs", multiple=True, metavar="FILE", type=FILE, help="Write a table: .csv, .jsonl or .parquet."
)


def check_outputs(db: str, outputs: Sequence[str], plot: Path | None) -> None:
    """Raise ScenarioError for a table that can not be written, or that has the name of another output."""
    from tessbed.scenarios.study.sweep.table import check_files

    check_files(outputs, [("--db", Path(db)), *([("--plot", plot)] if plot else [])])


def varied_caption(resolver: "Resolver", spanned: "Space") -> "DeviceCaption":
    """What a plot says of the devices of a space; without a clock where the scenario alone can not be resolved."""
    from tessbed.scenarios.format.diagnostics import ScenarioError
    from tessbed.scenarios.study.plots.figure import DeviceCaption
    from tessbed.sim.errors import SpecError

    keys = [axis.key for axis in spanned.axes if axis.key.startswith("device.")]
    with suppress(SpecError, ScenarioError):
        return DeviceCaption.of(resolver.resolve(()).base).with_varied(keys)
    return DeviceCaption()


@contextmanager
def opened_output(path: str, *, quiet: bool) -> Iterator["Store"]:
    """The database of results. Says that it waits for another program, and how many rows were not believed."""
    from tessbed.scenarios.study.sweep.execution import damage, open_store

    with closing(open_store(path, lambda text: say(text, quiet=quiet))) as store:
        try:
            yield store
        finally:
            say(damage(store) or "", quiet=quiet or not store.damaged)


def print_provenance(reported: dict[str, Any], asked: str, *, quiet: bool) -> None:
    """Say on stderr why another engine ran than was asked for, and which jobs a study leaves out."""
    if reported["instead"]:
        alone = " alone" if " " in reported["engine"] else ""
        say(f"engine {reported['engine']}, not {asked}{alone}: {reported['instead']}", quiet=quiet)
    for job in reported.get("failed", ()):
        say(f"job {job['name']} is left out: it {job['text']}", quiet=quiet)


def processes_option(default: str = "one for each CPU where that is quicker") -> Callable[[Any], Any]:
    """How many processes the runs of a study are given to."""
    return click.option("-j", "--processes", type=Number(1), metavar="N", help=f"Processes.  [default: {default}]")


@contextmanager
def measured(scenario: "Scenario", engine: str, *, quiet: bool, trace: bool = False) -> "Iterator[Meter]":
    """Say what will take long, and show how far a run of the scenario is; gives the meter that it moves.

    With a `trace` it keeps its transfers to the end: MemoryError where they do not fit into memory.
    """
    from tessbed.commands.progress import run_progress
    from tessbed.scenarios.forecast import Meter, check_trace, forecasts

    found = forecasts(scenario)
    if trace:
        check_trace(found, remedy="study fewer tiles at once")
    announce(found, engine, quiet=quiet, trace=trace, explained=trace)
    meter = Meter.of(found, engine, trace=trace)
    with run_progress(meter, quiet=quiet):
        yield meter


@contextmanager
def parallel_runs(
    scenario: "Scenario", engine: str, runs: int, processes: int | None, *, quiet: bool, by_job: bool = False
) -> "Iterator[ParallelRuns]":
    """Say what will take long, and show how many of `runs` runs are done; gives what does them.

    `by_job`: so many of each job, with a trace, which each run keeps to its end: MemoryError where the traces of all
    processes do not fit into memory.
    """
    from tessbed.commands.progress import counted
    from tessbed.scenarios.forecast import check_trace, forecasts
    from tessbed.scenarios.study.parallel_runs import ParallelRuns

    found = forecasts(scenario)
    if by_job:
        check_trace(found, min(runs, processes or os.cpu_count() or 1), "study fewer tiles at once")
    announce(found, engine, quiet=quiet, runs=runs, trace=by_job, explained=by_job)
    with counted(runs * len(scenario.jobs) if by_job else runs, "runs", quiet=quiet) as progress:
        yield ParallelRuns(processes, progress)


def announce(
    found: "Sequence[Forecast]",
    engine: str,
    *,
    quiet: bool,
    runs: int = 1,
    trace: bool = False,
    explained: bool = False,
) -> None:
    """Say which jobs will take long, before they begin; `explained`: a study follows each transfer of their traces."""
    from tessbed.scenarios.forecast import LONG_SECONDS

    for one in found:
        if runs * one.seconds(engine, trace=trace, explained=explained) >= LONG_SECONDS:
            say(one.words(engine, runs, trace=trace), quiet=quiet)
