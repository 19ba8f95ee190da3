"""The writers by themselves: padded integers, order in the file, nesting, counters, files that are all or nothing."""

import json
import random
import subprocess
import sys
from io import BytesIO, StringIO
from pathlib import Path

import numpy as np
import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

from tessbed.scenarios.timeline.counter_track import CounterTrack
from tessbed.scenarios.timeline.family import Family
from tessbed.scenarios.timeline.formats.jsonl import JsonLines
from tessbed.scenarios.timeline.formats.perfetto import PACKETS, PerfettoTrace
from tessbed.scenarios.timeline.formats.protobuf import Column, filled, message, varint
from tessbed.scenarios.timeline.recording import recording
from tessbed.scenarios.timeline.spans import NestingError, TimelineSpan, argument_fields

EDGES = [0, 1, 127, 128, 16383, 16384, 2**31, 2**32 - 1, 2**35, 2**62, 2**63 - 1, 2**64 - 1]


@pytest.mark.parametrize("value", EDGES)
def test_padded_integers_are_read_as_they_were_written(value) -> None:
    """Google's decoder reads each value, padded to the width of the widest beside it, fixed or not."""
    rows = np.array([[value, 7], [2**64 - 1, 7], [0, 2**64 - 1]], np.uint64)
    packets = filled([(1, [(8, Column(0)), (11, [(11, Column(1)), (47, Column(0, True))])])], rows)
    trace = Trace()
    trace.ParseFromString(packets.tobytes())
    assert [packet.timestamp for packet in trace.packet] == [value, 2**64 - 1, 0]
    assert [packet.track_event.track_uuid for packet in trace.packet] == [7, 7, 2**64 - 1]
    assert [list(packet.track_event.flow_ids) for packet in trace.packet] == [[value], [2**64 - 1], [0]]


def test_a_message_without_columns_is_plain() -> None:
    """Integers, bytes and nested messages, byte for byte."""
    assert varint(300) == bytes.fromhex("ac02")
    assert message([(1, 5), (2, b"ab"), (3, [(1, 300)])])[0] == bytes.fromhex("0805 12026162 1a03 08ac02")


def test_packets_are_in_the_order_in_which_they_came() -> None:
    """Across forms and across flushes: begins and ends follow each other in the file as in the lane."""
    file, shape = BytesIO(), argument_fields("n", "text:text", "at:address")
    trace = PerfettoTrace(file)
    lane, rng = trace.lane(("lane",)), random.Random(3)
    wanted = []
    for number in range(PACKETS):
        arguments = [(), (shape, (number, f"text {number % 5}", 2**40 + number))][rng.random() < 0.5]
        trace.span(TimelineSpan(lane, f"name {number % 7}", 2 * number, 2 * number + rng.choice((0, 1, 2)), *arguments))
        wanted.append(f"name {number % 7}")
    trace.close()
    decoded, names, ticks = Trace(), {}, []
    decoded.ParseFromString(file.getvalue())
    told = []
    for packet in decoded.packet:
        names |= {entry.iid: entry.name for entry in packet.interned_data.event_names}
        if packet.HasField("track_event"):
            ticks.append(packet.timestamp)
            if packet.track_event.type != TrackEvent.TYPE_SLICE_END:
                told.append(names[packet.track_event.name_iid])
    assert told == wanted
    assert ticks == sorted(ticks)


def test_spans_that_do_not_nest_are_refused() -> None:
    """One that reaches beyond the span around it, and one that begins before where its lane is."""
    lines = JsonLines(StringIO())
    lane = lines.lane(("lane",))
    lines.span(TimelineSpan(lane, "outer", 10, 20))
    with pytest.raises(NestingError, match="ends after the span around it"):
        lines.span(TimelineSpan(lane, "inner", 12, 21))
    lines.span(TimelineSpan(lane, "inner", 12, 20))
    lines.span(TimelineSpan(lane, "next", 20, 30))
    with pytest.raises(NestingError, match="which its lane has reached"):
        lines.span(TimelineSpan(lane, "late", 19, 20))


@pytest.mark.parametrize("seed", range(20))
def test_a_counter_is_the_sum_of_its_steps(seed) -> None:
    """Steps in any order, written in parts: at every tick the value is what plain adding gives; equal ones are one."""
    rng, out = random.Random(seed), StringIO()
    lines = JsonLines(out)
    counter = CounterTrack(lines, lines.level(("counter",), "things"))
    steps = [(rng.randrange(200), rng.choice((-1, 1, 2))) for _ in range(300)]
    left = list(steps)
    for until in (*sorted(rng.sample(range(200), 4)), None):
        given = [step for step in left if until is None or step[0] < until or rng.random() < 0.3]
        for step in rng.sample(given, len(given)):
            counter.step(*step)
            left.remove(step)
        counter.write(until)
    lines_written = [json.loads(line) for line in out.getvalue().splitlines()]
    told = [(line["tick"], line["value"]) for line in lines_written if line["type"] == "sample"]
    sums = [sum(by for tick, by in steps if tick <= now) for now in range(200)]
    assert told == [(now, sums[now]) for now in range(200) if sums[now] != (sums[now - 1] if now else 0)]


def test_a_family_uses_a_lane_again_when_it_is_free() -> None:
    """As many lanes as there are spans at a time."""
    lines = JsonLines(StringIO())
    family = Family(lines, ("group", "queue"))
    lanes = [family.take(begin, end) for begin, end in ((0, 10), (5, 8), (6, 7), (8, 12), (10, 11), (12, 13))]
    assert lanes == [0, 1, 2, 1, 0, 0]


@pytest.mark.parametrize("form", ["pftrace", "vcd", "jsonl"])
def test_a_timeline_that_fails_leaves_what_was_there(form, tmp_path) -> None:
    """An exception on the way changes no file and leaves none behind."""
    path = tmp_path / f"run.{form}"
    path.write_text("before")

    def fail() -> None:
        with recording(path, form) as sink:
            sink.span(TimelineSpan(sink.lane(("lane",)), "name", 0, 5))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert [(found.name, found.read_text()) for found in tmp_path.iterdir()] == [(path.name, "before")]


# A process that is forked from a large one begins with its parent's ru_maxrss; VmHWM is of this program alone.
MEASURED = """
import sys
from pathlib import Path
from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.toml_source import parse_toml
from tessbed.scenarios.runner import run_scenario
from tessbed.scenarios.timeline.recording import recording
from tessbed.scenarios.timeline.timeline import Timeline
page = Path("docs/timelines.md").read_text()
text = page.split("# file: million.toml\\n")[1].split("```")[0]
scenario = compose(parse_toml(text, "million.toml"), Path())
if sys.argv[1:]:
    with recording(Path(sys.argv[1]), "pftrace") as sink:
        assert run_scenario(scenario, timeline=Timeline.of(sink, scenario.device)).ok
    spans = sink.slices
else:
    assert run_scenario(scenario).ok
    spans = 0
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(spans, int(status["VmHWM"].split()[0]) // 1024)
"""


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_a_million_spans_take_little_memory(tmp_path) -> None:
    """The scenario of the page has a million spans; tracing it takes 40 MB at most, and the process 300 MB at most."""
    root = Path(__file__).parents[3]

    def measured(*arguments: str) -> tuple[int, int]:
        command = [sys.executable, "-c", MEASURED, *arguments]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
        spans, megabytes = map(int, done.stdout.split())
        return spans, megabytes

    (_, alone), (spans, traced) = measured(), measured(str(tmp_path / "run.pftrace"))
    assert spans > 1_000_000
    assert traced < alone + 40
    assert traced < 300
