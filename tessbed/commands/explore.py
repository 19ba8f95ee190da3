"""`tessbed explore`: runs EV74 jobs in many legal orders, or in all of them, and shrinks a failure."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tessbed.commands.exits import FAILED, HAZARD, OK
from tessbed.commands.options import echo_verdict, json_option, new_command, optional_scenario_arguments, quiet_option
from tessbed.commands.streams import echo_json
from tessbed.commands.timeline_options import recorded_spans, timeline_option
from tessbed.commands.types import Number
from tessbed.scenarios.format.option_values import FEW_TRANSFERS

if TYPE_CHECKING:
    from tessbed.scenarios.model import AnyJob, Scenario
    from tessbed.scenarios.verification.explore.bench import ExplorationBench, OrderResult
    from tessbed.scenarios.verification.explore.exploration import OnOrder
    from tessbed.scenarios.verification.explore.report import ExplorationReport

HELP = f"""Run SCENARIO's EV74 jobs in many legal orders of arrival, completion and data movement.

Orders depend on dependences alone, not on ticks; the checker checks each job as well. Up to
{FEW_TRANSFERS} transfers are explored exhaustively: every distinguishable order. A failing job is
shrunk, and a token printed that replays the wrong order exactly. Inputs are the golden pattern.

Exit code: 0 right in every order, 1 wrong in every order, 2 invalid input, 4 a hazard, 70 no finding: the exploration
itself failed."""


@new_command("explore", HELP)
@optional_scenario_arguments
@click.option("--orders", type=Number(1), default=200, show_default=True, metavar="N", help="Orders per job.")
@click.option("--replay", "token_text", metavar="TOKEN", help="Run only the order of a token.")
@timeline_option
@json_option
@quiet_option
def command(
    file: str | None,
    settings: tuple[str, ...],
    seed: int | None,
    orders: int,
    token_text: str | None,
    timeline: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """The table or document on stdout; returns the exit code."""
    if token_text is not None:
        return _replay(token_text, as_json, timeline, quiet)
    if timeline is not None:
        raise click.UsageError("--trace: shows one order, wanted --replay TOKEN with it")
    if file is None:
        raise click.UsageError("missing SCENARIO: a path, or a name that `tessbed list` shows; or --replay TOKEN")
    from tessbed.commands.progress import counted
    from tessbed.scenarios.custom.preparation import prepared
    from tessbed.scenarios.library import load
    from tessbed.scenarios.verification.explore import report

    scenario = prepared(load(file, settings, seed))
    jobs = [job for job in scenario.jobs if "ev74" in job.backends and not job.empty]
    if not jobs:
        raise click.UsageError(f"{file} has no job for EV74 that moves a byte")
    with counted(orders * len(jobs), "orders", quiet=quiet or as_json) as advance:
        explored = [_explored(scenario, job, orders, lambda: advance(1)) for job in jobs]
    if as_json:
        echo_json(report.document(scenario.name, explored))
    else:
        echo_verdict(report.lines(scenario.name, explored), report.ok(explored))
    return OK if report.ok(explored) else HAZARD if report.unsafe(explored) else FAILED


def _explored(scenario: "Scenario", job: "AnyJob", orders: int, on_progress: "OnOrder") -> "ExplorationReport":
    from tessbed.scenarios.model import KernelJob
    from tessbed.scenarios.verification.explore.bench import ExplorationCase
    from tessbed.scenarios.verification.explore.exploration import explore
    from tessbed.scenarios.verification.explore.report import ExplorationReport
    from tessbed.scenarios.verification.explore.shrink import shrink
    from tessbed.scenarios.verification.kernel_check.exploration import explore_kernel

    if isinstance(job, KernelJob):
        found = explore_kernel(job, scenario.device, orders, scenario.seed, on_progress)
        return ExplorationReport(job.name, found)
    found = explore(ExplorationCase.of(job, scenario.device), orders, scenario.seed, on_progress)
    return ExplorationReport(job.name, found, None if found.ok else shrink(found, scenario.seed))


def _replay(text: str, as_json: bool, timeline: Path | None, quiet: bool) -> int:
    """Run the order of a token."""
    from tessbed.scenarios.verification.explore import report, schedules, token
    from tessbed.scenarios.verification.explore.bench import ExplorationBench
    from tessbed.scenarios.verification.explore.exploration import exploration_line
    from tessbed.sim.checkers.hazards import Checker

    case, order = token.decode_token(text)
    bench, checker, choose = ExplorationBench(case), Checker("report"), schedules.recorded_order(order)
    try:
        ran = bench.run(choose, checker, recording=timeline is not None)
        choose.check_end()
    except schedules.OrderDiverged as error:
        text = f"the firmware of this version does not take the token's order, wanted that of the token: {error}"
        raise click.BadParameter(text, param_hint="--replay") from error
    fine = not ran.findings and not ran.corrupted
    what = exploration_line(bench, ran)
    if timeline is not None:
        _show(timeline, bench, ran, what, quiet)
    fingerprint = schedules.fingerprint(order)
    if as_json:
        outcome = {"order": fingerprint, "what": what, "findings": list(ran.findings)}
        verdict = "ok" if fine else "failed"
        head = {"schema_version": report.SCHEMA_VERSION, "verdict": verdict, "job": report.case_words(case)}
        echo_json({**head, **outcome})
    else:
        lines = [report.case_words(case), *ran.findings, f"order {fingerprint}: {what}"]
        echo_verdict([*lines, "ok" if fine else "failed"], fine)
    return OK if fine else HAZARD


def _show(timeline: Path, bench: "ExplorationBench", ran: "OrderResult", what: str, quiet: bool) -> None:
    """Write the timeline of an order."""
    from tessbed.scenarios.timeline.untimed_order import show_order

    findings = [*ran.findings, *([ran.trouble] if ran.trouble else [])]
    wrong = None if ran.wrong is None else (bench.output_address + ran.wrong, what)
    with recorded_spans(timeline, quiet=quiet) as sink:
        show_order(sink, ran.stage.executed, findings, wrong)
