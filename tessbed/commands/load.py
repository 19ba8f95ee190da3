"""`tessbed load`: streams of frames through the jobs of a scenario: latencies, drops, and what the limit is."""

from pathlib import Path

import click

from tessbed.commands.exits import FAILED, OK
from tessbed.commands.options import json_option, new_command, print_result, quiet_option, scenario_arguments
from tessbed.commands.study import out_option, plot_option
from tessbed.commands.timeline_options import recorded_spans, timeline_option
from tessbed.commands.types import VARIED, OneOf
from tessbed.scenarios.format.option_values import LOAD_ENGINES, LOADGEN_SCENARIOS

HELP = """Run the streams of SCENARIO through its jobs and servers, and report latencies, drops, and who is busy.

The ticks of each job are the exact engine's; frames wait for devices, cores and the servers of external jobs.

With --engine verify the first frames also run on the event engine, with the runtime and real bytes; every tick of every
job must agree.

Exit code: 0 ok, 1 a --require does not hold, the engines disagree, a byte is wrong or a fault strikes nothing,
2 invalid input."""


@new_command("load", HELP)
@scenario_arguments
@click.option(
    "--engine",
    type=OneOf(LOAD_ENGINES),
    default="exact",
    show_default=True,
    help="The recurrence alone, or beside it the first frames by events with every byte.",
)
@click.option(
    "--find",
    "conditions",
    multiple=True,
    metavar="CONDITION",
    help='Find the highest rate at which this holds of every stream, such as "p99 <= 5 ms" or "missed <= 1%".'
    " Can be repeated.",
)
@click.option(
    "--require",
    "required",
    multiple=True,
    metavar="CONDITION",
    help="Fail unless this holds of every stream. Can be repeated.",
)
@click.option(
    "--loadgen",
    type=OneOf(LOADGEN_SCENARIOS),
    help="Send frames as a scenario of MLPerf's LoadGen does, instead of as the streams say.",
)
@click.option(
    "--vary",
    "varied",
    type=VARIED,
    multiple=True,
    metavar="KEY=VALUES",
    help="A row for each value of a key, as in a sweep: host.cores=1..8 or streams.0.queue=0,2,4. Can be repeated.",
)
@out_option
@timeline_option
@plot_option
@json_option
@quiet_option
def command(
    file: str,
    settings: tuple[str, ...],
    seed: int | None,
    engine: str,
    conditions: tuple[str, ...],
    required: tuple[str, ...],
    loadgen: str | None,
    varied: tuple[str, ...],
    outputs: tuple[str, ...],
    timeline: Path | None,
    plot: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """The report on stdout; returns the exit code."""
    if varied:
        given = [
            name for name, value in (("--find", conditions), ("--require", required), ("--loadgen", loadgen)) if value
        ]
        if plot is not None:
            raise click.UsageError("got --vary with --plot, wanted one of them: a plot shows one load")
        if given or engine != "exact":
            raise click.UsageError(f"got --vary with {(given or ['--engine verify'])[0]}, wanted one of them")
        return _sweep(file, settings, seed, varied, outputs, as_json=as_json)
    if outputs:
        raise click.UsageError("got --out without --vary, wanted both: the table has a row for each varied value")
    from tessbed.scenarios.library import load
    from tessbed.scenarios.study.load import report
    from tessbed.scenarios.study.load.conditions import breaches
    from tessbed.scenarios.study.load.load_study import load_program, study_load

    scenario = load(file, settings, seed)
    program = load_program(scenario, loadgen)
    reported = study_load(scenario, program, conditions, loadgen, required=required, verify=engine == "verify")
    if timeline is not None:
        from tessbed.scenarios.study.load.load_timeline import show_load

        with recorded_spans(timeline, quiet=quiet) as sink:
            show_load(program, sink)
    if plot is not None:
        from tessbed.scenarios.study.plots.figure import DeviceCaption, save
        from tessbed.scenarios.study.plots.loads import plot_load

        save(plot_load(reported, DeviceCaption.of(scenario)), plot)
    print_result(reported, lambda: report.lines(reported), as_json=as_json)
    idle = [fault for fault in reported.get("faults", {}).get("faults", ()) if not fault["struck"]]
    broken = breaches(reported.get("require", ()))
    return FAILED if idle or broken or reported.get("verification", {}).get("disagreement") else OK


def _sweep(
    file: str,
    settings: tuple[str, ...],
    seed: int | None,
    varied: tuple[str, ...],
    outputs: tuple[str, ...],
    *,
    as_json: bool,
) -> int:
    """A table of the load at each value; fails where no point has a result."""
    from tessbed.scenarios.library import stem_of
    from tessbed.scenarios.provenance.basis_words import KEY, basis_document
    from tessbed.scenarios.provenance.tick_basis import TickBasis
    from tessbed.scenarios.study.sweep.load_sweep import load_sweep_lines, sweep_load
    from tessbed.scenarios.study.sweep.space import parse_space
    from tessbed.scenarios.study.sweep.table import check_files, write_table

    spanned = parse_space(varied)
    check_files(outputs)
    bases: dict[TickBasis, None] = {}
    rows = list(sweep_load(file, settings, seed, spanned, bases))
    write_table(outputs, rows)
    basis = basis_document(bases)
    document = {"schema_version": 1, "name": stem_of(file), KEY: basis, "rows": rows}
    print_result(document, lambda: load_sweep_lines(spanned, rows, basis), as_json=as_json)
    return FAILED if all(row["error"] for row in rows) else OK
