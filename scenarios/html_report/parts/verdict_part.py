"""Verdict part: every job on every backend: right or not, its ticks and rates; and what was found wrong, in words."""

from collections.abc import Iterator

from tessbed.kernels.a65.cost.parameters import SCHEDULE
from tessbed.scenarios.html_report.markup import Markup, concat, count, element, note, section, table
from tessbed.scenarios.html_report.units import microseconds, rate
from tessbed.scenarios.outcome import JobOutcome, Outcome, ScenarioRun
from tessbed.scenarios.provenance.basis_words import model_ticks, scenario_words
from tessbed.scenarios.report import ahead_lines, band_text, complaints, default_costs, report_table


def verdict_part(run: ScenarioRun, anchors: dict[int, str]) -> Markup:
    """The results. `anchors` are the sections of jobs, by the number of the job."""
    mhz = run.scenario.device.clock_mhz
    rows, wrong = [], []
    for entry in run.jobs:
        for outcome in entry.outcomes:
            if not outcome.ok:
                wrong.append(len(rows))
            rows.append(_row(entry, outcome, anchors.get(entry.job.index), mhz))
    head = (
        "job",
        "operation",
        "backend",
        "result",
        "output bytes",
        "ticks",
        "band",
        "time",
        "rate",
        "job ticks",
        "sha256",
    )
    found = list(_found(run))
    return section(
        "Verdict",
        _verdict_line(run),
        table(head, rows, numbers=(4, 5, 6, 7, 8, 9), marked=wrong),
        element("ul", concat(element("li", text) for text in found)) if found else "",
        note(_ticks_words(run)),
        *(note(f"{line[0].upper()}{line[1:]}.") for line in ahead_lines(run.jobs)),
        anchor="verdict",
    )


def _ticks_words(run: ScenarioRun) -> str:
    """What the numbers of the table are."""
    basis = model_ticks(run.scenario.device.clock_mhz, scenario_words(run.scenario))
    text = f"Ticks are the device's on ev74, modelled on a65; {basis}. The rate is output bytes by ticks."
    return f"{text} Ticks of a65: {SCHEDULE}." if any(o.backend == "a65" for o in run.outcomes) else text


def _verdict_line(run: ScenarioRun) -> Markup:
    """The last line of the run's table."""
    return element("p", report_table(run)[-1], class_=f"verdict {'fine' if run.ok else 'bad'}")


def _row(entry: JobOutcome, outcome: Outcome, anchor: str | None, mhz: int) -> tuple[str | Markup, ...]:
    done = None if outcome.trouble else outcome.run
    name = element("a", entry.job.name, href=f"#{anchor}") if anchor and outcome.backend == "ev74" else entry.job.name
    ticks = done.ticks if done else None
    return (
        name,
        entry.job.what,
        outcome.backend,
        element("b", _judged(outcome), class_="fine" if outcome.ok else "bad"),
        count(outcome.output_bytes),
        count(ticks),
        band_text(outcome),
        microseconds(ticks, mhz) if ticks else "",
        rate(outcome.output_bytes, ticks, mhz) if ticks else "",
        count(done.result.job_ticks) if done and done.result else "",
        (outcome.output_sha256 or "-")[:12],
    )


def _judged(outcome: Outcome) -> str:
    if outcome.trouble:
        return outcome.trouble.status + (", as expected" if outcome.as_expected else "")
    if outcome.unjudged:
        return "unjudged"
    if outcome.mismatch:
        return "WRONG"
    return "right" if outcome.ok else "unexpected"


def _found(run: ScenarioRun) -> Iterator[str]:
    for entry in run.jobs:
        for outcome in entry.outcomes:
            for text in (*complaints(outcome), *outcome.idle, *default_costs(outcome)):
                yield f"{entry.job.name} on {outcome.backend}: {text}"
