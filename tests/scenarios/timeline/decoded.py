"""A Perfetto trace as its own viewer sees it: packets by time, the file's order among equal ticks, a stack per track.

The messages are decoded by Google's package; what is done with them follows the documentation of TrackEvent and shares
no code with the writer. Whatever a viewer would drop or repair fails here.
"""

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import attrs
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackDescriptor, TrackEvent

CLEARED, NEEDS = 1, 2


@attrs.define
class Slice:
    """A slice or an instant: its track's name, its depth there, and the flows that touch it."""

    track: str
    name: str
    begin: int
    end: int
    depth: int
    args: dict[str, Any]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    parent: "Slice | None"

    @property
    def ticks(self) -> int:
        """How long it takes."""
        return self.end - self.begin


@attrs.define
class Decoded:
    """What a trace shows."""

    slices: list[Slice]
    counters: dict[str, list[tuple[int, int]]]
    arrows: list[tuple[Slice, Slice]]
    groups: dict[str, tuple[str, ...]]

    def on(self, track: str) -> list[Slice]:
        """The slices of a track."""
        return [one for one in self.slices if one.track == track]

    def tracks(self, group: str) -> list[str]:
        """The tracks of a group, as they are shown."""
        return [name for name, groups in self.groups.items() if groups[:1] == (group,)]


def decode_trace(path: Path) -> Decoded:
    """Decode a file, and check all that a viewer takes for granted."""
    trace = Trace()
    trace.ParseFromString(path.read_bytes())
    first = trace.packet[0]
    assert first.sequence_flags & CLEARED
    assert first.first_packet_on_sequence
    assert not any(packet.sequence_flags & CLEARED for packet in trace.packet[1:])
    assert {packet.trusted_packet_sequence_id for packet in trace.packet} == {1}
    names, groups, counters = _tracks([p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")])
    events = _events(trace)
    assert {event.track_uuid for _, event in events} <= set(names)
    found = Decoded([], {names[uuid]: [] for uuid in counters}, [], groups)
    stacks: dict[int, list[Slice]] = defaultdict(list)
    active: dict[int, Slice] = {}
    for tick, event in sorted(events, key=lambda pair: pair[0]):
        track, stack = names[event.track_uuid], stacks[event.track_uuid]
        if event.type == TrackEvent.TYPE_COUNTER:
            found.counters[track].append((tick, event.counter_value))
        elif event.type == TrackEvent.TYPE_SLICE_END:
            done = stack.pop()
            done.end = tick
            assert done.end > done.begin, f"an empty slice: {done}"
        else:
            one = _slice(event, tick, track, stack)
            found.slices.append(one)
            if event.type == TrackEvent.TYPE_SLICE_BEGIN:
                stack.append(one)
            else:
                assert event.type == TrackEvent.TYPE_INSTANT
            _follow(one, active, found.arrows)
    assert not any(stacks.values()), "a slice has no end"
    return found


def _tracks(descriptors: list[TrackDescriptor]) -> tuple[dict[int, str], dict[str, tuple[str, ...]], set[int]]:
    by_uuid = {one.uuid: one for one in descriptors}
    assert len(by_uuid) == len(descriptors)
    below = Counter((one.parent_uuid, one.sibling_order_rank) for one in descriptors)
    assert max(below.values()) == 1, "two tracks have one place"
    assert all(one.child_ordering == TrackDescriptor.EXPLICIT for one in descriptors)
    groups: dict[str, tuple[str, ...]] = {}
    for one in descriptors:
        above: tuple[str, ...] = ()
        parent = one.parent_uuid
        while parent:
            above = (by_uuid[parent].name, *above)
            parent = by_uuid[parent].parent_uuid
        if one.description or one.HasField("counter"):
            assert one.name not in groups, f"two tracks are called {one.name}"
            groups[one.name] = above
    return {one.uuid: one.name for one in descriptors}, groups, {o.uuid for o in descriptors if o.HasField("counter")}


def _events(trace: Trace) -> list[tuple[int, Any]]:
    """The events with their texts in place of numbers; a number that is not known yet is an error."""
    known: dict[str, dict[int, str]] = {"name": {}, "argument": {}, "text": {}}
    events = []
    for packet in trace.packet:
        for entry in packet.interned_data.event_names:
            assert known["name"].setdefault(entry.iid, entry.name) == entry.name
        for entry in packet.interned_data.debug_annotation_names:
            assert known["argument"].setdefault(entry.iid, entry.name) == entry.name
        for entry in packet.interned_data.debug_annotation_string_values:
            assert known["text"].setdefault(entry.iid, entry.str.decode()) == entry.str.decode()
        if packet.HasField("track_event"):
            assert packet.sequence_flags == NEEDS
            event = packet.track_event
            if event.name_iid:
                event.name = known["name"][event.name_iid]
            for argument in event.debug_annotations:
                argument.name = known["argument"][argument.name_iid]
                if argument.HasField("string_value_iid"):
                    argument.string_value = known["text"][argument.string_value_iid]
            events.append((packet.timestamp, event))
    return events


def _slice(event: Any, tick: int, track: str, stack: list[Slice]) -> Slice:
    args = {argument.name: _value(argument) for argument in event.debug_annotations}
    assert len(args) == len(event.debug_annotations), f"two arguments of one name: {event}"
    flows = tuple(event.flow_ids), tuple(event.terminating_flow_ids)
    return Slice(track, event.name, tick, tick, len(stack), args, *flows, stack[-1] if stack else None)


def _value(argument: Any) -> Any:
    for field in ("string_value", "uint_value", "pointer_value"):
        if argument.HasField(field):
            return getattr(argument, field)
    raise AssertionError(f"no value: {argument}")


def _follow(one: Slice, active: dict[int, Slice], arrows: list[tuple[Slice, Slice]]) -> None:
    """An arrow leads from the slice that a flow touched before to this one; where it ends, it must have begun."""
    for flow in (*one.ends, *one.starts):
        before = active.get(flow)
        if before is not None:
            arrows.append((before, one))
        assert before is not None or flow in one.starts, f"a flow ends that has not begun: {one}"
    for flow in one.starts:
        active[flow] = one
    for flow in one.ends:
        del active[flow]
