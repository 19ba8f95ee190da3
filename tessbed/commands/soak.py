"""`tessbed soak`: many random jobs on a runtime with faults, and the balance at the end."""

from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING

import click

from tessbed.commands.exits import FAILED, OK
from tessbed.commands.options import echo_verdict, json_option, new_command, quiet_option, say, scenario_arguments
from tessbed.commands.streams import echo_json
from tessbed.commands.types import Number, OneOf
from tessbed.scenarios.verification.soak.fault_profiles import PROFILES

if TYPE_CHECKING:
    from tessbed.scenarios.verification.soak.account import SoakReport

HELP = """Submit many jobs in random sizes of SCENARIO's EV74 jobs, from many clients, on two devices that fail.

Clients close buffers early, depend on each other, share buffers, cancel, request what must be refused, and end
abruptly. At the end every job must have exactly one final state, every buffer must be free, and every output that was
reported done must be correct. The same seed gives the same report.

Exit code: 0 all balanced, 1 something lost, leaked or wrong, 2 invalid input."""


@new_command("soak", HELP)
@scenario_arguments
@click.option("--jobs", type=Number(1), default=1000, show_default=True, metavar="N", help="Number of jobs.")
@click.option(
    "--faults", type=OneOf(list(PROFILES)), default="all", show_default=True, help="Which faults the devices have."
)
@json_option
@quiet_option
def command(
    file: str, settings: tuple[str, ...], seed: int | None, jobs: int, faults: str, as_json: bool, quiet: bool
) -> int:
    """The account on stdout; returns the exit code."""
    from tessbed.commands.progress import counted
    from tessbed.scenarios.library import load
    from tessbed.scenarios.verification.soak.cases import geometries
    from tessbed.scenarios.verification.soak.driver import run_soak

    scenario = load(file, settings, seed)
    if not geometries(scenario):
        raise click.UsageError(f"{file} has no job for EV74 that moves a byte: nothing to soak")
    began = perf_counter()
    with counted(jobs, "jobs", quiet=quiet or as_json) as advance:
        report = run_soak(scenario, jobs, faults, scenario.seed, progress=_increments(advance))
    if as_json:
        echo_json(report.document())
    else:
        echo_verdict(report.table(), report.ok)
    say(_costs(report, perf_counter() - began), quiet=quiet or as_json)
    return OK if report.ok else FAILED


def _increments(advance: Callable[[int], None]) -> Callable[[int], None]:
    """What hears how many jobs there are by now, and passes on how many are new."""
    reported = 0

    def progress(done: int) -> None:
        nonlocal reported
        advance(done - reported)
        reported = done

    return progress


def _costs(report: "SoakReport", seconds: float) -> str:
    """What it cost on this machine: not part of the account, since it never repeats."""
    jobs = sum(part.jobs for part in report.parts)
    memory = f", resident memory grew by {report.rss_growth_percent:.1f} %" if report.parts[0].rss_bytes[0] else ""
    return f"{seconds:.1f} s, {1000 * seconds / jobs:.2f} ms a job{memory}"
