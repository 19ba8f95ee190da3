"""The state of a load under way: its frames, stations and streams, and the jobs that wait for their turn to end."""

from collections import deque

import attrs

from tessbed.scenarios.load.device_ring import HeldJob
from tessbed.scenarios.load.program import FaultEffect, Station, StreamProgram
from tessbed.scenarios.load.tally import StageTally, StationTally, StreamTally

Order = tuple[int, int, int, int, int]
JobKey = tuple[int, int, int]
"""Stream, frame and job, by their numbers."""
RUNNING_TURN, ENDED_TURN, LOST_TURN, FINAL_TURN = range(4)
"""What a job in line does: it runs; it has ended and waits for its turn; it is lost, and has ended for its frame while
those behind it wait; it is final, and no one waits for it."""


@attrs.define(eq=False)
class FrameState:
    """A frame under way. Lists are by job; `critical` is the predecessor that ended last.

    A job has ended on its server at `own_end`, and for its frame at `end`, when its turn in its queue has come.
    """

    stream: int
    number: int
    arrival: int
    entered: int = -1
    begun: bool = False
    gone: bool = False
    failed: bool = False
    left: int = 0
    missing: list[int] = attrs.field(factory=list)
    ready: list[int] = attrs.field(factory=list)
    start: list[int] = attrs.field(factory=list)
    begin: list[int] = attrs.field(factory=list)
    loaded: list[int] = attrs.field(factory=list)
    own_end: list[int] = attrs.field(factory=list)
    end: list[int] = attrs.field(factory=list)
    critical: list[int] = attrs.field(factory=list)
    effects: dict[int, FaultEffect] = attrs.field(factory=dict)
    bad: set[int] = attrs.field(factory=set)
    cancelled: list[bool] = attrs.field(factory=list)


@attrs.define(eq=False)
class StationState:
    """A station: servers with room, its queue, the kernels that each server has, and since when its numbers stand.

    By server: how many jobs it holds, when it can begin another (None: never, without a reset), when the last that it
    holds ends, and whether it is reset. `rings` has the jobs that each device holds, where faults strike such.
    """

    idle: list[int]
    depth: int
    tally: StationTally
    held: list[int]
    next_begin: list[int | None]
    last_end: list[int]
    resetting: list[bool]
    rings: list[dict[JobKey, HeldJob]] = attrs.field(factory=list)
    queue: list[tuple[Order, FrameState]] = attrs.field(factory=list)
    waiting: int = 0
    busy: int = 0
    since: int = 0
    kernels: set[tuple[int, int]] = attrs.field(factory=set)

    def pass_time(self, now: int) -> None:
        """Add what has been since the last change."""
        span = now - self.since
        self.tally.busy_area += self.busy * span
        self.tally.queue_area += self.waiting * span
        self.since = now


@attrs.define(eq=False)
class StreamState:
    """A stream: who stands outside, who waits inside (`held` of them have not entered), and what comes next."""

    program: StreamProgram
    tally: StreamTally
    roots: list[int]
    outside: deque[FrameState] = attrs.field(factory=deque)
    waiting: deque[FrameState] = attrs.field(factory=deque)
    held: deque[FrameState] = attrs.field(factory=deque)
    flying: int = 0
    present: int = 0
    since: int = 0
    made: int = 0
    last: int = 0

    def pass_time(self, now: int) -> None:
        """Add what has been since the last change."""
        self.tally.area += self.present * (now - self.since)
        self.since = now


@attrs.define(eq=False)
class InLine:
    """A job that has started in a queue of the runtime, and what is known of its end."""

    frame: FrameState
    job: int
    server: int
    turn: int = RUNNING_TURN


def station_state(station: Station, *, rings: bool) -> StationState:
    """An idle station; with `rings` the jobs that a device holds are looked at one by one."""
    idle = [server for server in range(station.servers) for _ in range(station.depth)]
    held, last_end = ([0] * station.servers for _ in range(2))
    next_begin: list[int | None] = [0] * station.servers
    resetting = [False] * station.servers
    found = StationState(idle, station.depth, StationTally(), held, next_begin, last_end, resetting)
    found.rings = [{} for _ in range(station.servers if rings else 0)]
    return found


def stream_state(program: StreamProgram) -> StreamState:
    """A stream of which no frame has come."""
    tally = StreamTally(stages=[StageTally() for _ in program.stages])
    return StreamState(program, tally, [job for job, stage in enumerate(program.stages) if not stage.after])
