"""VCD: a timeline as signals, for GTKWave and Surfer; and the files with which either shows them at once.

A lane is a scope, with a text signal for each depth: `state` for the outermost spans, `step` for those in them, `part`
for those in these. The arguments of ARGUMENTS are integer signals, from the outermost spans. An instant sets `event`,
which keeps its text. A signal is empty where nothing goes on. One time unit is one tick.

A VCD has all its signals in the order of ticks, so the changes are kept as integers, 18 bytes each, until the end.
"""

import re
from array import array
from collections.abc import Iterator
from io import StringIO
from typing import Any, TextIO

import attrs
import numpy as np

from tessbed.scenarios.timeline.spans import OpenSpans, TimelineSpan

DEPTHS = ("state", "step", "part")
ARGUMENTS = ("worker", "band", "seq", "cookie")
TEXT = "text"
LONGEST = 400
TOP = "tessbed"
NUMBER_BITS = 64


@attrs.define(eq=False)
class Signal:
    """A signal: its scopes and its name; a text, or a number."""

    path: tuple[str, ...]
    number: int
    numeric: bool


@attrs.define(eq=False)
class LaneSignals:
    """The signals of a lane, made as they are needed, and its open spans."""

    path: tuple[str, ...]
    spans: OpenSpans = attrs.Factory(OpenSpans)
    signals: dict[str, Signal] = attrs.Factory(dict)
    shown: list[tuple[Signal, ...]] = attrs.Factory(list)


@attrs.define(eq=False)
class VcdTrace:
    """A sink that writes to `vcd` when all is there, and to `gtkw` and `sucl` what GTKWave and Surfer are to show."""

    vcd: TextIO
    gtkw: TextIO
    sucl: TextIO
    slices: int = attrs.field(default=0, init=False)
    _lanes: list[LaneSignals] = attrs.field(factory=list, init=False)
    _signals: list[Signal] = attrs.field(factory=list, init=False)
    _texts: dict[str, int] = attrs.field(factory=lambda: {"": 0}, init=False)
    _ticks: array = attrs.field(factory=lambda: array("q"), init=False)
    _which: array = attrs.field(factory=lambda: array("H"), init=False)
    _values: array = attrs.field(factory=lambda: array("q"), init=False)

    def lane(self, path: tuple[str, ...], about: str = "") -> int:
        """A scope."""
        self._lanes.append(LaneSignals(tuple(map(identifier, path))))
        return len(self._lanes) - 1

    def level(self, path: tuple[str, ...], unit: str) -> int:
        """A number."""
        lane = self.lane(path)
        self._signal(self._lanes[lane], "value", numeric=True)
        return lane

    def span(self, span: TimelineSpan) -> None:
        """Let the signals say so."""
        lane = self._lanes[span.lane]
        for end in lane.spans.place(span):
            self._end(lane, end)
        self.slices += 1
        if span.begin == span.end:
            self._change(
                span.begin, self._signal(lane, "event"), self._text(str(span.arguments.get(TEXT) or span.name))
            )
            return
        depth = len(lane.spans.ends) - 1
        shown = []
        if depth < len(DEPTHS):
            shown.append(self._signal(lane, DEPTHS[depth]))
            self._change(span.begin, shown[0], self._text(span.name))
        for name in ARGUMENTS if depth == 0 else ():
            if name in span.fields.names:
                signal = self._signal(lane, name, numeric=True)
                self._change(span.begin, signal, int(span.values[span.fields.names.index(name)]))
        lane.shown.append(tuple(shown))

    def sample(self, level: int, tick: int, value: int) -> None:
        """The number has another value."""
        self._change(tick, self._lanes[level].signals["value"], value)

    def close(self) -> None:
        """Write all three files."""
        for lane in self._lanes:
            for end in lane.spans.rest():
                self._end(lane, end)
        self._write_changes()
        self.gtkw.write("".join(self._gtkwave()))
        self.sucl.write("".join(f"{line}\n" for line in self._surfer()))

    def _end(self, lane: LaneSignals, tick: int) -> None:
        for signal in lane.shown.pop():
            self._change(tick, signal, 0)

    def _signal(self, lane: LaneSignals, name: str, numeric: bool = False) -> Signal:
        signal = lane.signals.get(name)
        if signal is None:
            signal = lane.signals[name] = Signal((TOP, *lane.path, name), len(self._signals), numeric)
            self._signals.append(signal)
        return signal

    def _text(self, text: str) -> int:
        return self._texts.setdefault(re.sub(r"\s+", "_", text[:LONGEST]), len(self._texts))

    def _change(self, tick: int, signal: Signal, value: int) -> None:
        self._ticks.append(tick)
        self._which.append(signal.number)
        self._values.append(value)

    def _write_changes(self) -> None:
        from vcd import VCDWriter

        texts = list(self._texts)
        with VCDWriter(self.vcd, timescale="1 ns", date="", comment="one time unit is one tick") as writer:
            known: list[Any] = [self._register(writer, signal) for signal in self._signals]
            for tick, number, value in self._in_order():
                shown = value if self._signals[number].numeric else texts[value]
                writer.change(known[number], tick, shown)

    def _register(self, writer: Any, signal: Signal) -> Any:
        *scopes, name = signal.path
        if signal.numeric:
            return writer.register_var(tuple(scopes), name, "integer", size=NUMBER_BITS, init=0)
        return writer.register_var(tuple(scopes), name, "string", init="")

    def _in_order(self) -> Iterator[tuple[int, int, int]]:
        """(tick, signal, value) by ticks, the last of several changes of a signal in one tick alone."""
        ticks, which, values = (np.array(column) for column in (self._ticks, self._which, self._values))
        order = np.lexsort((which, ticks))
        ticks, which, values = ticks[order], which[order], values[order]
        last = np.ones(ticks.size, bool)
        last[:-1] = (ticks[1:] != ticks[:-1]) | (which[1:] != which[:-1])
        return zip(ticks[last].tolist(), which[last].tolist(), values[last].tolist(), strict=True)

    def _gtkwave(self) -> Iterator[str]:
        from vcd.gtkw import GTKWSave

        text = StringIO()
        save = GTKWSave(text)
        save.treeopen(f"{TOP}.")
        groups = dict.fromkeys(lane.path[0] for lane in self._lanes if lane.signals)
        for group in groups:
            with save.group(group):
                for lane in self._lanes:
                    for signal in lane.signals.values() if lane.path[0] == group else ():
                        form = "dec" if signal.numeric else "ascii"
                        save.trace(".".join(signal.path), alias=alias(signal), datafmt=form)
        yield text.getvalue()

    def _surfer(self) -> Iterator[str]:
        group = ""
        for lane in self._lanes:
            if lane.signals and lane.path[0] != group:
                group = lane.path[0]
                yield f"divider_add {group}"
            for signal in lane.signals.values():
                yield f"variable_add {'.'.join(signal.path)}"
        yield "zoom_fit"


def alias(signal: Signal) -> str:
    """What a viewer calls a signal: the lane, and which of its signals where that is not plain."""
    *_, lane, name = signal.path
    return lane if name in ("state", "value", "event") else f"{lane}.{name}"


def identifier(name: str) -> str:
    """A name as a scope or a signal may have it."""
    return re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") or "_"
