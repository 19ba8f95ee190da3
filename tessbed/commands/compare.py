"""`tessbed compare`: which terms make the difference between two runs."""

from pathlib import Path

import click

from tessbed.commands.exits import FAILED, OK
from tessbed.commands.options import (
    echo_verdict,
    json_option,
    new_command,
    print_result,
    quiet_option,
    say,
    settings_option,
)
from tessbed.commands.streams import echo_json
from tessbed.commands.study import engine_option, measured, plot_option, print_provenance
from tessbed.commands.types import SCENARIO, Number

HELP = """Compare RUN1 with RUN2, each a run folder (`tessbed run -o`) or a scenario: which terms of the accounts of
the EV74 jobs make the difference. They sum to it. --set applies to both, --set2 to RUN2 alone.

--fail-if names a change of a job from RUN1 to RUN2 that fails: 'device_ticks > 2 %', 'job_ticks > 500'.

Exit code: 0 ok, 1 a job changed as --fail-if says, 2 invalid input."""


@new_command("compare", HELP)
@click.argument("run1", type=SCENARIO)
@click.argument("run2", type=SCENARIO)
@settings_option("Override a key of both.")
@settings_option("Override a key of RUN2.", "--set2")
@click.option(
    "--fail-if", "limits", multiple=True, metavar="CHANGE", help="Fail for such a change of a job. Can be repeated."
)
@click.option("--top", type=Number(1), default=12, show_default=True, help="Number of terms to show per job.")
@engine_option
@plot_option
@json_option
@quiet_option
def command(
    run1: str,
    run2: str,
    settings: tuple[str, ...],
    set2: tuple[str, ...],
    limits: tuple[str, ...],
    top: int,
    engine: str,
    plot: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """The comparison on stdout; returns the exit code."""
    from tessbed.scenarios.study import change_limit, comparison
    from tessbed.scenarios.study.measurement import measure_scenario, whole

    judged = change_limit.parse_limits(limits)
    runs = []
    for scenario in (comparison.opened(run1, settings), comparison.opened(run2, (*settings, *set2))):
        with measured(scenario, engine, quiet=quiet, trace=True) as meter:
            runs.append(whole(measure_scenario(scenario, engine, meter=meter)))
    before, after = runs
    reported = comparison.document((run1, run2), before, after)
    for side, found, changed in (("before", before, settings), ("after", after, (*settings, *set2))):
        print_provenance(reported[side], engine, quiet=quiet)
        text = None if changed else comparison.stale(reported[side]["run"], found)
        if text:
            say(text, quiet=quiet)
    if plot is not None:
        from tessbed.scenarios.study.plots.figure import DeviceCaption, save
        from tessbed.scenarios.study.plots.studies import plot_comparison

        save(plot_comparison(reported, DeviceCaption.of_both(before.scenario, after.scenario)), plot)
    if not judged:
        print_result(reported, lambda: comparison.lines(reported, top), as_json=as_json)
        return OK
    for name in change_limit.check_common(before, after):
        say(f"job {name} is in one of the runs alone, so no --fail-if judges it", quiet=quiet)
    breaches = [breach for limit in judged for breach in limit.breaches(before, after)]
    if as_json:
        verdict = {"verdict": "failed" if breaches else "ok", "breaches": [breach.document() for breach in breaches]}
        echo_json({**reported, **verdict})
    else:
        said = [*map(str, breaches), *([""] if breaches else [])]
        echo_verdict([*comparison.lines(reported, top), "", *said, _verdict(limits, len(breaches))], not breaches)
    return FAILED if breaches else OK


def _verdict(limits: tuple[str, ...], breaches: int) -> str:
    if not breaches:
        return f"ok: no job changed by {' or '.join(limits)}"
    return f"FAILED: {breaches:,} such change{'s' * (breaches != 1)}"
