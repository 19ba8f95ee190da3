"""Perfetto: a timeline as native TrackEvents, written by templates (see `protobuf`), for ui.perfetto.dev.

One packet sequence. Its first packet clears the incremental state; names of spans, arguments and texts are interned.
Perfetto sorts packets by time and keeps the order of the file among equal ticks, so what must be right is the order
inside a lane: what ends at a tick is written before what begins there. Timestamps are nanoseconds: one a tick.

Packets wait in columns of numbers until there are PACKETS of them; then they go to the file in the order in which they
came. So a trace of any length takes the same memory.
"""

from array import array
from collections.abc import Iterable, Sequence
from typing import BinaryIO

import attrs
import numpy as np

from tessbed.scenarios.timeline.formats import protobuf
from tessbed.scenarios.timeline.formats.protobuf import Column, Message
from tessbed.scenarios.timeline.spans import NOTHING, Fields, OpenSpans, TimelineSpan

PACKETS = 1 << 15
SEQUENCE = 1
CLEARED, NEEDS_STATE = 1, 2
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
EXPLICIT = 3

# Field numbers of perfetto/trace/*.proto
PACKET = 1
TIMESTAMP, TRACK_EVENT, SEQUENCE_ID, INTERNED, FLAGS, DESCRIPTOR, FIRST = 8, 11, 10, 12, 13, 60, 87
UUID, NAME, PARENT, COUNTER_TRACK, CHILD_ORDER, RANK, ABOUT = 1, 2, 5, 8, 11, 12, 14
UNIT_NAME = 6
EVENT_TYPE, EVENT_TRACK, EVENT_NAME, EVENT_VALUE, EVENT_ARGUMENT, EVENT_FLOW, EVENT_FLOW_END = 9, 11, 10, 30, 4, 47, 48
ARGUMENT_NAME = 1
ARGUMENT_VALUES = {"int": 3, "address": 7, "text": 17}
EVENT_NAMES, ARGUMENT_NAMES, TEXTS = 2, 3, 29


@attrs.define(eq=False)
class Form:
    """Packets of one form: the fields, and the numbers of those that are not written yet, row after row."""

    number: int
    fields: Message
    columns: int
    values: array = attrs.field(factory=lambda: array("Q"), init=False)

    def take(self) -> np.ndarray:
        """The packets as (n, length) bytes; none waits any more."""
        rows = np.frombuffer(self.values, np.uint64).reshape(-1, self.columns).copy()
        self.values = array("Q")
        return protobuf.filled([(PACKET, self.fields)], rows)


@attrs.define(eq=False)
class PerfettoTrace:
    """A sink that writes to `file` as spans come."""

    file: BinaryIO
    packets: int = attrs.field(default=0, init=False)
    slices: int = attrs.field(default=0, init=False)
    _groups: dict[tuple[str, ...], int] = attrs.field(factory=dict, init=False)
    _children: dict[int, int] = attrs.field(factory=dict, init=False)
    _tracks: int = attrs.field(default=0, init=False)
    _open: dict[int, OpenSpans] = attrs.field(factory=dict, init=False)
    _interned: dict[int, dict[str, int]] = attrs.field(init=False)
    _new: list[tuple[int, Message]] = attrs.field(factory=list, init=False)
    _forms: dict[tuple[int, Fields, int, int], Form] = attrs.field(factory=dict, init=False)
    _order: array = attrs.field(factory=lambda: array("H"), init=False)

    def __attrs_post_init__(self) -> None:
        self._interned = {kind: {} for kind in (EVENT_NAMES, ARGUMENT_NAMES, TEXTS)}
        self._write([(FLAGS, CLEARED), (FIRST, 1)])

    def lane(self, path: tuple[str, ...], about: str = "") -> int:
        """A track, in a track for each group that it is in."""
        track = self._track(path, [(ABOUT, about.encode("utf-8", "backslashreplace"))] if about else [])
        self._open[track] = OpenSpans()
        return track

    def level(self, path: tuple[str, ...], unit: str) -> int:
        """A counter track."""
        return self._track(path, [(COUNTER_TRACK, [(UNIT_NAME, unit.encode())])])

    def span(self, span: TimelineSpan) -> None:
        """A begin, and its end once something follows in the lane; or an instant."""
        for tick in self._open[span.lane].place(span):
            self._event(END, NOTHING, (), (tick, span.lane), (), ())
        self.slices += 1
        kind = BEGIN if span.begin < span.end else INSTANT
        head = span.begin, span.lane, self._iid(EVENT_NAMES, span.name)
        self._event(kind, span.fields, span.values, head, span.starts, span.ends)

    def sample(self, level: int, tick: int, value: int) -> None:
        """A value of a counter."""
        self._event(COUNTER, NOTHING, (), (tick, level, value), (), ())

    def close(self) -> None:
        """End what is open, and write everything."""
        for lane, spans in self._open.items():
            for tick in spans.rest():
                self._event(END, NOTHING, (), (tick, lane), (), ())
        self._flush()

    def _event(
        self,
        kind: int,
        fields: Fields,
        values: Sequence[int | str],
        head: tuple[int, ...],
        starts: Sequence[int],
        ends: Sequence[int],
    ) -> None:
        key = (kind, fields, len(starts), len(ends))
        form = self._forms.get(key)
        if form is None:
            form = self._forms[key] = self._form(key, len(head))
        form.values.extend(head)
        if "text" in fields.kinds:
            values = [self._iid(TEXTS, value) if isinstance(value, str) else value for value in values]
        form.values.extend(values)  # pyright: ignore[reportArgumentType]
        form.values.extend(starts)
        form.values.extend(ends)
        self._order.append(form.number)
        if len(self._order) >= PACKETS:
            self._flush()

    def _form(self, key: tuple[int, Fields, int, int], head: int) -> Form:
        """The fields of a packet: columns are tick, track, and name or value; then arguments and flows."""
        kind, arguments, starts, ends = key
        event: list[tuple[int, object]] = [(EVENT_TYPE, kind), (EVENT_TRACK, Column(1))]
        if kind != END:
            event.append((EVENT_VALUE if kind == COUNTER else EVENT_NAME, Column(2)))
        for number, (name, value) in enumerate(zip(arguments.names, arguments.kinds, strict=True), head):
            field = [(ARGUMENT_NAME, self._iid(ARGUMENT_NAMES, name)), (ARGUMENT_VALUES[value], Column(number))]
            event.append((EVENT_ARGUMENT, field))
        first = head + len(arguments.names)
        event += [(EVENT_FLOW, Column(first + number, True)) for number in range(starts)]
        event += [(EVENT_FLOW_END, Column(first + starts + number, True)) for number in range(ends)]
        fields = [(TIMESTAMP, Column(0)), (SEQUENCE_ID, SEQUENCE), (FLAGS, NEEDS_STATE), (TRACK_EVENT, event)]
        return Form(len(self._forms), fields, first + starts + ends)

    def _iid(self, kind: int, text: str) -> int:
        """The number of a text; one that is new goes to the file before the packets that use it."""
        known = self._interned[kind]
        number = known.get(text)
        if number is None:
            number = known[text] = len(known) + 1
            self._new.append((kind, [(1, number), (2, text.encode("utf-8", "backslashreplace"))]))
        return number

    def _flush(self) -> None:
        if self._new:
            self._write([(FLAGS, NEEDS_STATE), (INTERNED, self._new)])
            self._new = []
        self.packets += len(self._order)
        self.file.write(
            interleaved(self._order, {form.number: form.take() for form in self._forms.values() if form.values})
        )
        self._order = array("H")

    def _track(self, path: tuple[str, ...], more: Message) -> int:
        """A new track below those of its groups, shown in the order in which they were made."""
        parent = self._group(path[:-1])
        return self._describe(parent, path[-1], more)

    def _group(self, path: tuple[str, ...]) -> int:
        if not path:
            return 0
        if path not in self._groups:
            self._groups[path] = self._describe(self._group(path[:-1]), path[-1], [])
        return self._groups[path]

    def _describe(self, parent: int, name: str, more: Message) -> int:
        self._tracks += 1
        rank = self._children[parent] = self._children.get(parent, 0) + 1
        above = [(PARENT, parent)] if parent else []
        fields = [
            (UUID, self._tracks),
            (NAME, name.encode("utf-8", "backslashreplace")),
            *above,
            (CHILD_ORDER, EXPLICIT),
            (RANK, rank),
            *more,
        ]
        self._write([(DESCRIPTOR, fields)])
        return self._tracks

    def _write(self, fields: Iterable[tuple[int, object]]) -> None:
        """A packet by itself, now."""
        self.file.write(protobuf.message([(PACKET, [(SEQUENCE_ID, SEQUENCE), *fields])])[0])
        self.packets += 1


def interleaved(order: array, packets: dict[int, np.ndarray]) -> bytes:
    """Packets of several forms, each (n, length), as they follow each other in `order`, the numbers of their forms."""
    forms = np.frombuffer(order, np.uint16)
    lengths = np.zeros(max(packets, default=0) + 1, np.int64)
    for number, rows in packets.items():
        lengths[number] = rows.shape[1]
    ends = np.cumsum(lengths[forms])
    starts = ends - lengths[forms]
    out = np.empty(int(ends[-1]) if ends.size else 0, np.uint8)
    for number, rows in packets.items():
        out[starts[forms == number][:, None] + np.arange(rows.shape[1])] = rows
    return out.tobytes()
