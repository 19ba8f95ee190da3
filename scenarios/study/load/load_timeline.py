"""Load timeline: a lane for each server with its jobs, lanes for the frames of each stream, a counter for each queue.

Frames that are there at the same time have lanes of their own, the lowest that is free. A frame that is dropped or has
failed says so, and a device is shown while it is reset. It shows the first frames, by a second run of the recurrence,
in Python.
"""

from collections.abc import Iterator
from heapq import heappop, heappush

from tessbed.scenarios.load.program import LoadProgram
from tessbed.scenarios.load.recurrence import FrameTimes, JobTimes, LoadTimes, times_of_load
from tessbed.scenarios.study.load.verification import first_frames
from tessbed.scenarios.timeline.lanes import TEXT
from tessbed.scenarios.timeline.spans import Sink, TimelineSpan

TRACED_FRAMES = 200
"""So many frames of each stream are shown."""


def show_load(program: LoadProgram, sink: Sink) -> None:
    """Write the timeline of the first frames."""
    short = first_frames(program, TRACED_FRAMES)
    times = times_of_load(short)
    spans = [*_servers(short, times, sink), *_frames(short, times.frames, sink)]
    for span in sorted(spans, key=lambda span: (span.begin, -span.end, span.lane)):
        sink.span(span)
    _queues(short, times.jobs, sink)


def _servers(program: LoadProgram, times: LoadTimes, sink: Sink) -> Iterator[TimelineSpan]:
    lanes = {
        (number, server, place): sink.lane(
            (f"server {station.name}", f"{station.name} {server}{f', place {place}' if station.depth > 1 else ''}"),
            "the jobs that it ran",
        )
        for number, station in enumerate(program.stations)
        for server in range(station.servers)
        for place in range(station.depth)
    }
    free = dict.fromkeys(lanes, 0)
    faults = {(each.stream, each.frame, each.job): f"struck by {each.kinds}" for each in program.struck}
    for stream, frame, job, ready, start, end, server in sorted(times.jobs, key=lambda each: each[4:6]):
        stage = program.streams[stream].stages[job]
        depth = program.stations[stage.station].depth
        at = next(key for place in range(depth) if free[key := (stage.station, server, place)] <= start)
        free[at] = end
        text = f"frame {frame} of {program.streams[stream].name}, waited {start - ready:,} ticks"
        text += f", {faults[stream, frame, job]}" if (stream, frame, job) in faults else ""
        yield TimelineSpan(lanes[at], stage.name, start, end, TEXT, (text,))
    for station, server, begin, end in times.resets:
        yield TimelineSpan(
            lanes[station, server, 0], "reset", begin, end, TEXT, ("until the device takes a job again",)
        )


def _frames(program: LoadProgram, frames: list[FrameTimes], sink: Sink) -> Iterator[TimelineSpan]:
    for number, stream in enumerate(program.streams):
        lanes: list[int] = []
        free: list[int] = []
        leaving: list[tuple[int, int]] = []
        for _, frame, came, left, outcome in sorted(
            (each for each in frames if each[0] == number), key=lambda each: each[2:4]
        ):
            while leaving and leaving[0][0] <= came:
                heappush(free, heappop(leaving)[1])
            if not free:
                lanes.append(sink.lane((f"stream {stream.name}", f"frame place {len(lanes)}"), "from arrival to end"))
                free.append(len(lanes) - 1)
            place = heappop(free)
            heappush(leaving, (left, place))
            text = f"{left - came:,} ticks" if outcome == "completed" else outcome
            yield TimelineSpan(lanes[place], f"frame {frame}", came, left, TEXT, (text,))


def _queues(program: LoadProgram, jobs: list[JobTimes], sink: Sink) -> None:
    """The jobs that wait for each station, wherever that changes; those of dropped frames are not among them."""
    for number, station in enumerate(program.stations):
        level = sink.level((f"server {station.name}", "waiting"), "jobs")
        changes: dict[int, int] = {}
        for stream, _, job, ready, start, _, _ in jobs:
            if program.streams[stream].stages[job].station == number and start > ready:
                changes[ready] = changes.get(ready, 0) + 1
                changes[start] = changes.get(start, 0) - 1
        waiting = 0
        for tick in sorted(changes):
            waiting += changes[tick]
            sink.sample(level, tick, waiting)
