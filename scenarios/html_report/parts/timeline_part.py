"""Timeline part: the launch of a job as lanes of SVG, and the same spans as data for the script that zooms.

What is drawn without a script has the resolution of a screen: spans that are shorter, or nearer to each other, than a
pixel are one. The data has every tick.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import count as numbers
from typing import Any

import attrs

from tessbed.scenarios.html_report.drawing import path
from tessbed.scenarios.html_report.markup import Markup, concat, count, element, note, section
from tessbed.scenarios.html_report.span_table import KeptSpan, LaneSpans, SpanTable
from tessbed.scenarios.html_report.units import microseconds

PIXELS = 900
MARKS = 5
MOST_WORDS = 12_000
"""With more spans than this in a report, the data has their names and ticks alone."""
CLASSES = {
    "band": "k-band", "compute": "k-compute", "issue": "k-issue", "read": "k-read", "drain": "k-drain",
    "wait gather": "k-wait-gather", "wait slot": "k-wait-slot", "wait order": "k-wait-order", "wait end": "k-wait-end",
    "fill": "k-fill",
}  # fmt: skip
FINDINGS = "findings"
ADDRESSES = ("address", "drain")
PARTS = {"queue": "k-queue", "set-up": "k-setup", "data": "k-data", "latency": "k-latency"}
LEGEND = {
    "k-compute": "compute", "k-issue": "issue", "k-wait-gather": "wait for gathers", "k-wait-slot": "wait for a slot",
    "k-wait-order": "wait for order", "k-wait-end": "wait for the end",
    "k-band": "band", "k-read": "read",
    "k-drain": "drain", "k-fill": "slot filled", "k-queue": "queue", "k-setup": "set-up", "k-data": "data",
    "k-latency": "latency", "k-other": "other", "k-found": "finding",
}  # fmt: skip


@attrs.frozen
class ShownLane:
    """A lane of a job: its spans by depth, with ticks from the launch."""

    name: str
    about: str
    levels: tuple[tuple[KeptSpan, ...], ...]


def launch_window(spans: SpanTable, cookie: int) -> tuple[int, int] | None:
    """The first tick of a job's launch, and the one behind its last; None where it launched nothing."""
    lane = next((lane for lane in spans.lanes if lane.path == ("device", "device job")), None)
    job = None
    for span in lane.spans if lane else ():
        if span.depth == 0:
            job = span.arguments.get("cookie")
        elif span.name == "launch" and job == cookie:
            return span.begin, span.end
    return None


def lanes_of(spans: SpanTable, window: tuple[int, int]) -> list[ShownLane]:
    """The lanes of cores, channels and ports with what is in the window."""
    low, high = window
    shown = []
    for lane in sorted(spans.lanes, key=_place):
        group = lane.group
        if group.startswith("core ") or group == "memory" or "channels" in group:
            inside = [span for span in lane.spans if low <= span.begin < high and span.begin < span.end]
            if inside and not (lane.name.endswith(" workers") and _workers(inside) < 2):
                shown.append(_shown(lane, inside, low, high))
    return shown


def findings_lane(marks: Sequence[tuple[KeptSpan, str]], window: tuple[int, int]) -> list[ShownLane]:
    """A lane of marks with their texts, one tick wide, those of one tick as one; no lane for no mark in the window."""
    low, high = window
    places: dict[int, list[tuple[str, str]]] = {}
    for mark, text in marks:
        if low <= mark.begin <= high:
            places.setdefault(min(mark.begin, high - 1) - low, []).append((mark.name, text))
    shown = tuple(
        KeptSpan(" and ".join(dict.fromkeys(name for name, _ in there)), tick, tick + 1, 0,
                 {"text": "; ".join(text for _, text in there)})
        for tick, there in sorted(places.items())
    )  # fmt: skip
    return [ShownLane(FINDINGS, "what was injected, and what was found", (shown,))] if shown else []


def _workers(spans: Sequence[KeptSpan]) -> int:
    """How many workers are in a lane of them, pauses left out."""
    return sum(span.name.startswith("worker") for span in spans)


def _place(lane: LaneSpans) -> tuple[int, int]:
    """Cores first, then channels, then ports."""
    group = lane.group
    return (0, int(group.split()[1])) if group.startswith("core ") else (1 + (group == "memory"), 0)


def _shown(lane: LaneSpans, inside: Sequence[KeptSpan], low: int, high: int) -> ShownLane:
    depth = max(span.depth for span in inside)
    levels: list[list[KeptSpan]] = [[] for _ in range(depth + 1)]
    for span in inside:
        levels[span.depth].append(attrs.evolve(span, begin=span.begin - low, end=min(span.end, high) - low))
    return ShownLane(lane.name, lane.about, tuple(map(tuple, levels)))


def timeline_part(
    lanes: Sequence[ShownLane],
    window: tuple[int, int],
    launch: tuple[int, int],
    clock_mhz: int,
    anchor: str,
    *,
    words: bool,
) -> Markup:
    """The timeline of a launch, of which only the window is shown; with `words` each span says what it is about."""
    ticks = window[1] - window[0]
    drawn = concat(concat((_label(lane), _lane(lane, ticks))) for lane in lanes)
    buttons = concat(
        element("button", text, type="button", data_act=act, aria_label=label, title=label)
        for text, act, label in (
            ("+", "in", "zoom in"), ("-", "out", "zoom out"), ("◀", "left", "earlier"), ("▶", "right", "later"),
            ("all", "all", "the whole launch"),
        )
    )  # fmt: skip
    axis = concat(element("span", f"{ticks * mark // (MARKS - 1):,}", class_="mark") for mark in range(MARKS))
    shown = element("output", f"ticks 0 to {ticks:,}, {microseconds(ticks, clock_mhz)}", class_="range")
    keys = (
        "Drag to move, Ctrl and wheel or + and - to zoom, arrow keys to move, 0 for all, Page Up and Down for the span."
    )
    data = json.dumps(_data(lanes, ticks, clock_mhz, words=words), separators=(",", ":"), ensure_ascii=False)
    return section(
        "Timeline",
        note(_extent_words(window, launch)),
        _legend(lanes),
        element("div", buttons, shown, class_="tools needs-script"),
        element(
            "div", element("div", "", class_="corner"), element("div", axis, class_="axis"), drawn, class_="timeline",
            tabindex=0, role="group", aria_label=f"timeline; {keys}",
        ),
        element("p", keys, class_="hint needs-script"),
        element("output", "", class_="span-words needs-script"),
        element("script", Markup(data.replace("<", "\\u003c")), type="application/json", class_="spans"),
        anchor=f"{anchor}-timeline",
        level=3,
    )  # fmt: skip


def _extent_words(window: tuple[int, int], launch: tuple[int, int]) -> str:
    """What of a launch is shown."""
    ticks, whole = window[1] - window[0], launch[1] - launch[0]
    lanes = "a lane for each core, slot, channel and port"
    if ticks == whole:
        return f"The launch, {ticks:,} ticks, from its first to its last; {lanes}."
    return (
        f"The first {ticks:,} ticks of the launch; {lanes}. Behind them nothing happened any more, until the device "
        f"was stopped at tick {whole:,} of the launch."
    )


def _label(lane: ShownLane) -> Markup:
    return element("div", lane.name, class_="label", title=lane.about)


def _lane(lane: ShownLane, ticks: int) -> Markup:
    drawn = concat(
        element("path", d=path(rectangles), class_=kind)
        for kind, rectangles in lane_paths(lane, ticks / PIXELS).items()
    )
    return element(
        "svg", drawn, viewbox=f"0 0 {ticks} {len(lane.levels)}", preserveaspectratio="none",
        class_=f"lane rows{min(3, len(lane.levels))}", role="img", aria_label=_said(lane),
    )  # fmt: skip


def _said(lane: ShownLane) -> str:
    """The lane in words, for who hears it."""
    outer = lane.levels[0]
    return f"{lane.name}: {count(len(outer))} spans, {sum(span.end - span.begin for span in outer):,} ticks"


def lane_paths(lane: ShownLane, pixel: float) -> dict[str, list[tuple[float, float, float]]]:
    """The rectangles of each class, where nothing is thinner than a pixel, or hangs over the end."""
    found: dict[str, list[tuple[float, float, float]]] = {}
    for depth, level in enumerate(lane.levels):
        kinds: dict[str, list[KeptSpan]] = {}
        for span in level:
            kinds.setdefault(_kind(lane, span), []).append(span)
        for kind, spans in kinds.items():
            drawn = merged_spans(spans, pixel)
            found.setdefault(kind, []).extend((min(low, PIXELS * pixel - wide), depth, wide) for low, wide in drawn)
    return found


def merged_spans(spans: Iterable[KeptSpan], pixel: float) -> Iterator[tuple[float, float]]:
    """First tick and width of spans, those nearer to each other than a pixel as one, none thinner than a pixel."""
    low = high = -1.0
    for span in spans:
        if low >= 0 and span.begin < max(high, low + pixel) and span.end - span.begin < pixel:
            high = max(high, span.end)
            continue
        if low >= 0:
            yield round(low, 1), round(max(high - low, pixel), 1)
        low, high = span.begin, span.end
    if low >= 0:
        yield round(low, 1), round(max(high - low, pixel), 1)


def class_of(name: str) -> str:
    """The colour of a span."""
    known = CLASSES.get(name)
    return known or next((kind for word, kind in PARTS.items() if word in name), "k-other")


def _kind(lane: ShownLane, span: KeptSpan) -> str:
    """The colour of a span in its lane."""
    return "k-found" if lane.name == FINDINGS else class_of(span.name)


def _legend(lanes: Sequence[ShownLane]) -> Markup:
    there = {_kind(lane, span) for lane in lanes for level in lane.levels for span in level}
    return element(
        "p",
        concat(
            element("span", element("span", "", class_=f"swatch {kind}"), f" {words} ", class_="entry")
            for kind, words in LEGEND.items()
            if kind in there
        ),
        class_="legend",
    )


def _data(lanes: Sequence[ShownLane], ticks: int, clock_mhz: int, *, words: bool) -> dict[str, Any]:
    """The spans of each lane, depth by depth: gap since the one before, ticks, name; then their words."""
    names: dict[tuple[str, str], int] = {}
    fresh = numbers()
    shown = []
    for lane in lanes:
        levels = []
        for level in lane.levels:
            flat, reached = [], 0
            for span in level:
                known = span.name, _kind(lane, span)
                if known not in names:
                    names[known] = next(fresh)
                flat += [span.begin - reached, span.end - span.begin, names[known]]
                reached = span.end
            levels.append(flat)
        about = [_words(span) for span in lane.levels[0]] if words or lane.name == FINDINGS else []
        shown.append({"name": lane.name, "levels": levels, "words": about})
    return {
        "ticks": ticks,
        "mhz": clock_mhz,
        "names": [name for name, _ in names],
        "classes": [kind for _, kind in names],
        "lanes": shown,
    }


def _words(span: KeptSpan) -> str:
    """The arguments of a span, as a person reads them."""
    shown = {name.replace("_", " "): value for name, value in span.arguments.items() if name != "job" and value != ""}
    return ", ".join(str(value) if name == "text" else f"{name} {_value(name, value)}" for name, value in shown.items())


def _value(name: str, value: int | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:#x}" if name in ADDRESSES else f"{value:,}"
