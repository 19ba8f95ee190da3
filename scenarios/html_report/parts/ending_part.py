"""Ending part: how a job ended that gave no result: what was found, and what was under way when it was stopped."""

from tessbed.runtime.jobs.job import Job
from tessbed.scenarios.html_report.findings import Stopped, Window, finding_text, findings_of, stopped_spans
from tessbed.scenarios.html_report.markup import Markup, count, element, note, section, table
from tessbed.scenarios.html_report.span_table import KeptSpan, SpanTable
from tessbed.scenarios.outcome import Trouble

MEANINGS = {
    "fault": "The device ended the job with this status in its completion record. Its output is worth nothing; the "
    "device goes on with other jobs.",
    "lost": "No completion came within the timeout of the job. Nothing proves that the device is done with its "
    "buffers, so they stay held until a reset has been confirmed.",
    "hang": "Nothing was left that could happen, and the job was not done: to wait longer would not have helped. Only "
    "a reset of the device ends such a job.",
    "hazard": "Memory or scratch was used in a way that nothing orders: what the output holds depends on chance, even "
    "where it looks right.",
    "lifetime": "A buffer or a job was used at a time when it must not be.",
}
NAMES = {"worker": "worker", "seq": "transfer", "band": "band", "source": "line"}


def ending_part(job: Job, trouble: Trouble, spans: SpanTable, window: Window | None, anchor: str) -> Markup:
    """The end in words, the findings with their ticks, and what was under way.

    `window` is the launch, None where there was none; ticks are those of the run, and of the launch.
    """
    began, ended = job.history[0][0], job.history[-1][0]
    text = (
        f"{MEANINGS[trouble.kind]} The job was submitted at tick {began:,} of the run, and let go of its buffers at "
        f"tick {ended:,}. There is no account of its ticks: only a job with a result has one."
    )
    low = window[0] if window else None
    found = [
        (*_ticks(mark.begin, low), mark.name, finding_text(mark, job.name).partition("\n")[0])
        for mark in findings_of(spans, job)
    ]
    return section(
        "How it ended",
        element("p", element("b", trouble.status, class_="bad"), f": {trouble.text}", class_="lines"),
        note(text),
        table(("tick", "of the launch", "finding", "text"), found, numbers=(0, 1)) if found else "",
        _under_way(stopped_spans(spans, window), window[0]) if window else "",
        anchor=f"{anchor}-end",
        level=3,
    )


def _under_way(stopped: list[Stopped], low: int) -> Markup:
    """What the job was in the middle of."""
    if not stopped:
        return Markup("")
    rows = [
        (one.lane, one.span.name, *_ticks(one.span.begin, low), count(one.span.end - one.span.begin), _about(one.span))
        for one in stopped
    ]
    head = ("lane", "under way", "since tick", "of the launch", "ticks", "of")
    return Markup(note("Under way when the device was stopped:") + table(head, rows, numbers=(2, 3, 4)))


def _about(span: KeptSpan) -> str:
    """Whose a transfer is; what a wait is for."""
    known = span.arguments
    words = [f"{word} {known[name]}" for name, word in NAMES.items() if name in known]
    if span.name.startswith("wait "):
        first = f"for transfer {known['last']}"
        return ", ".join((first if known["transfers"] == 1 else f"{first} and others", *words))
    return ", ".join([*words, *([f"address {known['address']:#x}"] if "address" in known else [])])


def _ticks(tick: int, low: int | None) -> tuple[str, str]:
    return count(tick), "" if low is None or tick < low else count(tick - low)
