"""Profile: the spans of a timeline added up, for people without a viewer.

By core and step, by class of tiles, by line of a kernel of one's own, by what a wait was for; and the longest bands and
waits by themselves.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from heapq import heappush, heappushpop
from typing import Any

import attrs

from tessbed.scenarios.output.text_table import aligned
from tessbed.scenarios.provenance.basis_words import basis_lines
from tessbed.scenarios.timeline.spans import OpenSpans, TimelineSpan

SCHEMA_VERSION = 1
BANDS = " bands"
STEPS = ("issue", "compute", "wait gather", "wait slot", "wait order", "wait end")


@attrs.define(eq=False)
class Longest:
    """The spans that take longest, `most` of them; of equal ones those that came first."""

    most: int
    _heap: list[tuple[int, int, dict[str, Any]]] = attrs.field(factory=list, init=False)
    _seen: int = attrs.field(default=0, init=False)

    def offer(self, ticks: int, about: Mapping[str, Any]) -> None:
        """Keep it where it is among them."""
        self._seen += 1
        entry = (ticks, -self._seen, {**about, "ticks": ticks})
        if len(self._heap) < self.most:
            heappush(self._heap, entry)
        elif entry > self._heap[0]:
            heappushpop(self._heap, entry)

    def listed(self) -> list[dict[str, Any]]:
        """The longest first."""
        return [about for _, _, about in sorted(self._heap, reverse=True)]


@attrs.define(eq=False)
class CoreLane:
    """A core's lane of bands under way."""

    core: str
    spans: OpenSpans = attrs.Factory(OpenSpans)
    band: TimelineSpan | None = None
    step: str = ""


@attrs.define(eq=False)
class Profile:
    """A sink that adds up. Ticks are of all jobs together."""

    most: int = 10
    slices: int = attrs.field(default=0, init=False)
    steps: dict[str, Counter[str]] = attrs.field(factory=dict, init=False)
    tiles: dict[str, Counter[str]] = attrs.field(factory=dict, init=False)
    sources: dict[str, Counter[str]] = attrs.field(factory=dict, init=False)
    resources: Counter[tuple[str, str]] = attrs.field(factory=Counter, init=False)
    bands: Longest = attrs.field(init=False)
    waits: Longest = attrs.field(init=False)
    marks: list[dict[str, Any]] = attrs.field(factory=list, init=False)
    _lanes: list[CoreLane | str] = attrs.field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self.bands, self.waits = Longest(self.most), Longest(self.most)

    def lane(self, path: tuple[str, ...], about: str = "") -> int:
        """Only the bands of cores and the findings are added up."""
        core = path[-1].endswith(BANDS)
        self._lanes.append(CoreLane(path[-1].removesuffix(BANDS)) if core else path[0])
        return len(self._lanes) - 1

    def level(self, path: tuple[str, ...], unit: str) -> int:
        """Counters are not added up."""
        return self.lane(path)

    def sample(self, level: int, tick: int, value: int) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""

    def span(self, span: TimelineSpan) -> None:
        """Add it."""
        self.slices += 1
        lane = self._lanes[span.lane]
        if isinstance(lane, CoreLane):
            self._add(lane, span)
        elif lane == "findings":
            self.marks.append({"tick": span.begin, "what": span.name, **span.arguments})

    def _add(self, lane: CoreLane, span: TimelineSpan) -> None:
        lane.spans.place(span)
        ticks, depth = span.end - span.begin, len(lane.spans.ends) - 1
        if ticks == 0:
            return
        if span.name == "band":
            lane.band = span
            self.bands.offer(ticks, {"core": lane.core, "begin": span.begin, **span.arguments})
        elif span.name in STEPS:
            lane.band, lane.step = (lane.band if depth else None), span.name
            self._add_step(lane, span, ticks)
        else:
            self.resources[lane.step, span.name] += ticks

    def _add_step(self, lane: CoreLane, span: TimelineSpan, ticks: int) -> None:
        around = {**(lane.band.arguments if lane.band else {}), **span.arguments}
        self.steps.setdefault(lane.core, Counter())[span.name] += ticks
        self.tiles.setdefault(str(around.get("tiles", "")), Counter())[span.name] += ticks
        if self.sources or "source" in around:
            self.sources.setdefault(str(around.get("source", "")), Counter())[span.name] += ticks
        if span.name.startswith("wait "):
            names = ("worker", "band", "tiles", "mostly", "transfers", "last", "source")
            about = {name: around[name] for name in names if name in around}
            self.waits.offer(ticks, {"core": lane.core, "wait": span.name[5:], "begin": span.begin, **about})

    def document(self, name: str) -> dict[str, Any]:
        """Everything as one JSON document."""
        return {
            "schema_version": SCHEMA_VERSION,
            "name": name,
            "kind": "profile",
            "cores": {core: dict(steps) for core, steps in self.steps.items()},
            "tiles": {tiles: dict(steps) for tiles, steps in self.tiles.items()},
            "sources": {line: dict(steps) for line, steps in self.sources.items()},
            "waits": [
                {"wait": step[5:], "resource": resource, "ticks": ticks}
                for (step, resource), ticks in self.resources.most_common()
            ],
            "top_bands": self.bands.listed(),
            "longest_waits": self.waits.listed(),
            "findings": self.marks,
        }


def lines(document: dict[str, Any]) -> Iterator[str]:
    """A profile for a person."""
    total = sum(sum(steps.values()) for steps in document["cores"].values())
    yield f"{document['name']}: where the cores' ticks went, all jobs together; model ticks"
    yield from basis_lines(document)
    for title, key in (("core", "cores"), ("tiles", "tiles"), ("source", "sources")):
        if any(document[key]):
            yield ""
            yield from _by_step(title, document[key])
    yield ""
    rows = [
        (f"{wait['wait']} waits for", wait["resource"], f"{wait['ticks']:,}", _part(wait["ticks"], total))
        for wait in document["waits"]
    ]
    yield from aligned(("wait", "resource", "ticks", "of all"), rows, numbers=(2, 3))
    yield from _top_bands(document["top_bands"])
    yield from _longest_waits(document["longest_waits"])
    for mark in document["findings"]:
        yield ""
        yield f"tick {mark['tick']:,}: {mark['what']}:"
        yield from (f"  {line}" for line in mark["text"].splitlines())


def _top_bands(bands: list[dict[str, Any]]) -> Iterator[str]:
    yield ""
    yield "the longest bands"
    heads = ("core", "from tick", "ticks", "worker", "band", "tiles", "read", "drained")
    rows = [(*_place(band), *_band(band)) for band in bands]
    yield from aligned(heads, rows, numbers=(1, 2, 3, 4, 6, 7))


def _longest_waits(waits: list[dict[str, Any]]) -> Iterator[str]:
    yield ""
    yield "the longest waits"
    heads = ("core", "from tick", "ticks", "worker", "band", "wait", "mostly", "source")
    sources = any("source" in wait for wait in waits)
    rows = [(*_place(wait), wait["wait"], wait["mostly"], str(wait.get("source", ""))) for wait in waits]
    shown = len(heads) if sources else len(heads) - 1
    yield from aligned(heads[:shown], [row[:shown] for row in rows], numbers=(1, 2, 3, 4))


def _place(span: dict[str, Any]) -> tuple[str, ...]:
    """Where a band or a wait is: its core, its first tick, its length, its worker and band."""
    numbers = (f"{span['begin']:,}", f"{span['ticks']:,}", str(span.get("worker", "")), str(span.get("band", "")))
    return (span["core"], *numbers)


def _by_step(title: str, table: dict[str, dict[str, int]]) -> list[str]:
    steps = [step for step in STEPS if any(step in row for row in table.values())]
    rows = [
        (name or "(none)", *[_cell(row.get(step, 0), sum(row.values())) for step in steps], f"{sum(row.values()):,}")
        for name, row in table.items()
    ]
    return aligned((title, *steps, "ticks"), rows, numbers=range(1, len(steps) + 2))


def _cell(ticks: int, total: int) -> str:
    return f"{ticks:,} {_part(ticks, total):>7}" if ticks else ""


def _part(ticks: int, total: int) -> str:
    return f"{100 * ticks / max(1, total):.1f} %"


def _band(band: dict[str, Any]) -> tuple[str, str, str]:
    if "read_bytes" not in band:
        return band.get("unfinished", ""), "", ""
    return band.get("tiles", ""), f"{band['read_bytes']:,}", f"{band['drain_bytes']:,}"
