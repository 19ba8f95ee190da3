"""Findings: what a timeline says of a job that went wrong: its marks, what was under way at its end, and until when
anything happened."""

from collections.abc import Iterator

import attrs

from tessbed.runtime.jobs.job import Job
from tessbed.scenarios.html_report.span_table import KeptSpan, LaneSpans, SpanTable
from tessbed.scenarios.timeline.lanes import MARKS

Window = tuple[int, int]


@attrs.frozen
class Stopped:
    """A span that did not come to its end: it was cut off, or waits for something that never comes."""

    lane: str
    span: KeptSpan


def findings_of(spans: SpanTable, job: Job) -> Iterator[KeptSpan]:
    """Faults, hazards and races of a job, in the order of their ticks."""
    first, last = job.history[0][0], job.history[-1][0]
    for lane in spans.lanes:
        for mark in lane.spans if lane.path == MARKS else ():
            if first <= mark.begin <= last and _is_of(mark, job.name):
                yield mark


def _is_of(mark: KeptSpan, name: str) -> bool:
    """Whether a mark is about the job of that name, which is an argument of it, or what its text begins with."""
    known = mark.arguments.get("job")
    return known == name if known is not None else str(mark.arguments["text"]).startswith(f"{name}: ")


def finding_text(mark: KeptSpan, name: str) -> str:
    """The text of a mark without the name of its job."""
    return str(mark.arguments["text"]).removeprefix(f"{name}: ")


def stopped_spans(spans: SpanTable, window: Window) -> list[Stopped]:
    """Transfers, slots and waits under way when a launch was cut off; not the workers and bands around them."""
    low, high = window
    return [
        Stopped(lane.name, span)
        for lane in spans.lanes
        for span in lane.spans
        if low <= span.begin < high and _unfinished(lane, span)
    ]


def _unfinished(lane: LaneSpans, span: KeptSpan) -> bool:
    if lane.name.endswith((" workers", " bands")) or lane.group == "device":
        return span.arguments.get("mostly") == "never ends"
    return "unfinished" in span.arguments


def busy_window(spans: SpanTable, window: Window) -> Window:
    """The window up to a little behind the last tick at which anything began or ended, where all was still for longer.

    Only for a launch that was cut off: what ends with the window has not ended by itself.
    """
    low, high = window
    inside = (span for lane in spans.lanes for span in lane.spans if low <= span.begin < high)
    last = max((span.end if span.end < high else span.begin for span in inside), default=low)
    return (low, min(high, last + 1 + (last - low) // 8)) if high - last > last - low else window
