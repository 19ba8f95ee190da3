"""The tally of a load: what one run of the recurrence counts, and the identities that its integers must satisfy.

The run starts and ends empty, so Little's law is no estimate: the integral of the number of frames over time is the sum
of the times that they stayed, tick for tick. The integrals are summed at each change of a number, the times at the end
of each stay; the two have nothing else in common.
"""

from array import array
from collections.abc import Iterator

import attrs


@attrs.define
class StageTally:
    """One job of a stream on the critical paths of its measured frames: how often, and the ticks waited and served."""

    frames: int = 0
    wait_ticks: int = 0
    load_ticks: int = 0
    served_ticks: int = 0


@attrs.define
class StreamTally:
    """One stream. `latencies` are those of the frames behind the warm-up, in the order of their ends.

    Frames that were dropped, or have `failed` by a fault, are not `completed`; `late` ones are, behind their deadline.
    `numbers` are those of the frames of `latencies`, of a load that is numbered.
    `outside_ticks` are those of measured frames from their arrival until their first jobs were ready. `area` is the
    integral of the frames that have come and not ended; `sojourn_ticks` the sum of what each stayed. `flight_ticks` is
    the same from entry on.
    """

    offered: int = 0
    dropped: int = 0
    failed: int = 0
    completed: int = 0
    late: int = 0
    measured: int = 0
    first_end: int = -1
    last_end: int = -1
    first_arrival: int = -1
    last_arrival: int = -1
    area: int = 0
    sojourn_ticks: int = 0
    outside_ticks: int = 0
    flight_ticks: int = 0
    entered: int = 0
    latencies: "array[int]" = attrs.field(factory=lambda: array("q"), repr=False)
    numbers: "array[int]" = attrs.field(factory=lambda: array("q"), repr=False)
    stages: list[StageTally] = attrs.field(factory=list)


@attrs.define
class StationTally:
    """One station: the jobs that it started, the integrals of busy servers and of its queue, and the sums of both."""

    started: int = 0
    busy_area: int = 0
    served_ticks: int = 0
    queue_area: int = 0
    waited_ticks: int = 0


@attrs.define
class LoadTally:
    """One run. `end` is the tick at which the last frame ended or went and all servers were free: the window is from 0
    to there. `struck` has 1 for each fault that met a job, 0 for the others.
    """

    streams: list[StreamTally]
    stations: list[StationTally]
    end: int = 0
    struck: list[int] = attrs.field(factory=list)


def broken_identities(tally: LoadTally) -> Iterator[str]:
    """The identities that do not hold, in words: there is none, or the recurrence is wrong."""
    for number, stream in enumerate(tally.streams):
        if stream.offered != stream.completed + stream.dropped + stream.failed:
            ends = f"{stream.completed} ended, {stream.dropped} went, {stream.failed} failed"
            yield f"stream {number}: {stream.offered} frames came, {ends}"
        if stream.area != stream.sojourn_ticks:
            yield f"stream {number}: {stream.area} frame ticks, {stream.sojourn_ticks} by the frames"
    for number, station in enumerate(tally.stations):
        if station.busy_area != station.served_ticks:
            yield f"server {number}: busy for {station.busy_area} ticks, {station.served_ticks} by its jobs"
        if station.queue_area != station.waited_ticks:
            yield f"server {number}: {station.queue_area} ticks in its queue, {station.waited_ticks} by its jobs"
