"""JSON lines: a timeline as one object a line, in words; the schema is in docs/timelines.md."""

import json
from typing import TextIO

import attrs

from tessbed.scenarios.timeline.spans import OpenSpans, TimelineSpan

SCHEMA_VERSION = 1


@attrs.define(eq=False)
class JsonLines:
    """A sink that writes to `file` as spans come."""

    file: TextIO
    slices: int = attrs.field(default=0, init=False)
    _paths: list[tuple[str, ...]] = attrs.field(factory=list, init=False)
    _open: list[OpenSpans] = attrs.field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self._line({"type": "timeline", "schema_version": SCHEMA_VERSION, "unit": "tick", "zero": "start of the run"})

    def lane(self, path: tuple[str, ...], about: str = "") -> int:
        """A line that describes it."""
        self._line({"type": "lane", "lane": path[-1], "groups": path[:-1], "about": about})
        return self._number(path)

    def level(self, path: tuple[str, ...], unit: str) -> int:
        """A line that describes it."""
        self._line({"type": "counter", "counter": path[-1], "groups": path[:-1], "unit": unit})
        return self._number(path)

    def _number(self, path: tuple[str, ...]) -> int:
        self._paths.append(path)
        self._open.append(OpenSpans())
        return len(self._paths) - 1

    def span(self, span: TimelineSpan) -> None:
        """A span with its depth in the lane, or an instant."""
        spans = self._open[span.lane]
        spans.place(span)
        self.slices += 1
        kind, ends = ("span", {"end": span.end}) if span.begin < span.end else ("instant", {})
        line = {"type": kind, "lane": self._paths[span.lane][-1], "name": span.name, "begin": span.begin, **ends}
        line["depth"] = len(spans.ends) - (kind == "span")
        for name, there in (("args", span.arguments), ("leads", span.starts), ("arrives", span.ends)):
            if there:
                line[name] = there
        self._line(line)

    def sample(self, level: int, tick: int, value: int) -> None:
        """A value of a counter."""
        self._line({"type": "sample", "counter": self._paths[level][-1], "tick": tick, "value": value})

    def close(self) -> None:
        """Every line is written already."""

    def _line(self, line: dict[str, object]) -> None:
        self.file.write(json.dumps(line, ensure_ascii=False) + "\n")
