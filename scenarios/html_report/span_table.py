"""Span table: a timeline kept in memory, lane by lane, for who draws it."""

import attrs

from tessbed.scenarios.timeline.spans import OpenSpans, TimelineSpan


@attrs.frozen
class KeptSpan:
    """A span at its depth in its lane; ticks count from the start of the run."""

    name: str
    begin: int
    end: int
    depth: int
    arguments: dict[str, int | str]


@attrs.define(eq=False)
class LaneSpans:
    """A lane: where it is shown, and its spans in the order of their begins."""

    path: tuple[str, ...]
    about: str
    spans: list[KeptSpan] = attrs.field(factory=list, init=False)
    open: OpenSpans = attrs.field(factory=OpenSpans, init=False)

    @property
    def group(self) -> str:
        """The group that it is in."""
        return self.path[0]

    @property
    def name(self) -> str:
        """Its own name."""
        return self.path[-1]


@attrs.define(eq=False)
class SpanTable:
    """A sink that keeps everything. `levels` are the samples (tick, value) of each counter, by its name."""

    slices: int = attrs.field(default=0, init=False)
    lanes: list[LaneSpans] = attrs.field(factory=list, init=False)
    levels: dict[str, list[tuple[int, int]]] = attrs.field(factory=dict, init=False)
    _names: list[str] = attrs.field(factory=list, init=False)

    def lane(self, path: tuple[str, ...], about: str = "") -> int:
        """A lane of its own."""
        self.lanes.append(LaneSpans(path, about))
        return len(self.lanes) - 1

    def level(self, path: tuple[str, ...], unit: str) -> int:
        """A counter of its own."""
        self._names.append(path[-1])
        self.levels[path[-1]] = []
        return len(self._names) - 1

    def span(self, span: TimelineSpan) -> None:
        """Keep it, with its depth."""
        self.slices += 1
        lane = self.lanes[span.lane]
        lane.open.place(span)
        depth = len(lane.open.ends) - (span.begin < span.end)
        lane.spans.append(KeptSpan(span.name, span.begin, span.end, depth, span.arguments))

    def sample(self, level: int, tick: int, value: int) -> None:
        """Keep it."""
        self.levels[self._names[level]].append((tick, value))

    def close(self) -> None:
        """Everything is kept already."""

    def of_group(self, group: str) -> list[LaneSpans]:
        """The lanes of a group."""
        return [lane for lane in self.lanes if lane.group == group]
