"""Core part: what the ticks of each core, and of each line of a kernel, went to, summed from the spans of a timeline.

It needs no account: it holds for a job that failed, up to its end, and for a kernel whose bands only it knows.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from tessbed.scenarios.html_report.audit import STEPS
from tessbed.scenarios.html_report.drawing import strip
from tessbed.scenarios.html_report.markup import Markup, count, note, section, table
from tessbed.scenarios.html_report.parts.timeline_part import class_of
from tessbed.scenarios.html_report.span_table import KeptSpan, SpanTable

Window = tuple[int, int]
Steps = dict[str, Counter[str]]


def core_part(spans: SpanTable, window: Window, anchor: str) -> Markup:
    """The steps of each core in the window, and those of each source line where a kernel has lines."""
    low, high = window
    text = (
        f"Each core in the {high - low:,} ticks that the timeline shows, from its spans. Where its bar is empty, the "
        "core has not begun, or has ended."
    )
    lines = steps_by_line(spans, window)
    return section(
        "Ticks of each core",
        note(text),
        _steps_table("core", steps_by_core(spans, window), high - low),
        _steps_table("source line", lines, 0) if any(lines) else "",
        anchor=f"{anchor}-cores",
        level=3,
    )


def steps_by_core(spans: SpanTable, window: Window) -> Steps:
    """Ticks of each step of each core that ran a worker."""
    found: Steps = {}
    for core, _, step in _steps(spans, window):
        found.setdefault(core, Counter())[step.name] += min(step.end, window[1]) - step.begin
    return found


def steps_by_line(spans: SpanTable, window: Window) -> Steps:
    """Ticks of each step of each line of a kernel; one row without a name where no span has a line."""
    found: Steps = {}
    for _, line, step in _steps(spans, window):
        found.setdefault(line, Counter())[step.name] += min(step.end, window[1]) - step.begin
    return found


def _steps(spans: SpanTable, window: Window) -> Iterator[tuple[str, str, KeptSpan]]:
    low, high = window
    for lane in spans.lanes:
        if lane.name.endswith(" bands"):
            for span in lane.spans:
                if span.name in STEPS and low <= span.begin < high:
                    yield lane.group, str(span.arguments.get("source", "")), span


def _steps_table(title: str, found: Steps, ticks: int) -> Markup:
    """A row each; its bar is as long as `ticks`, or as the longest row."""
    shown = [step for step in STEPS if any(steps[step] for steps in found.values())]
    whole = ticks or max(steps.total() for steps in found.values())
    rows = [
        (name or "(none)", *(count(steps[step]) if steps[step] else "" for step in shown), count(steps.total()),
         _bar(name, steps, shown, whole))
        for name, steps in found.items()
    ]  # fmt: skip
    return table((title, *shown, "ticks", ""), rows, numbers=range(1, len(shown) + 2))


def _bar(name: str, steps: Counter[str], shown: Sequence[str], whole: int) -> Markup:
    parts = [(f"{step}: {steps[step]:,} ticks", steps[step], class_of(step)) for step in shown if steps[step]]
    return strip([*parts, ("nothing", max(0, whole - steps.total()), "free")], f"steps of {name}")
