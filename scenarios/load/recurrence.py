"""The recurrence: frames through queues and servers, event by event, on a heap of integer ticks.

What happens, in this order, at each tick at which anything does:

1. Jobs that end free their servers; a job whose last predecessor has ended is ready, and joins the queue of its
   station. A frame whose last job has ended leaves. Where a fault struck a job, its server is free only after the
   ticks that the reset takes; if the job failed, those that wait for it never start, the others of its frame go on,
   and then the frame leaves, failed.
2. Frames come. With on_full = "block" they stand outside, else they are in at once.
3. One pass: of each stream, frames that stand outside come in while fewer than `queue` wait, then frames enter, the
   oldest first, while fewer than `in_flight` have; the first jobs of a frame that enters are ready. Then each station
   gives its idle servers, the lowest first, to the jobs of its queue.
4. Where the pass changed anything, again from 1: a job may take no tick at all. Else, of each stream that may drop, the
   frames beyond `queue` go, the newest or the oldest; if any did, again from 3.

Where the host keeps several jobs on a device, the lowest device that has room gets the next one, as the runtime gives
them. The device does them in order and begins the next as soon as the record of one is written, while the host still
has to learn of that (`tail_ticks`).

A frame *waits* until the first of its jobs starts. The order of a queue: the smallest of (starts of the station when
the job became ready, less PATIENCE for each step of priority; the tick at which it became ready; stream; frame; job),
as the runtime orders its queues. Nothing depends on the order in which events of one tick are taken from the heap.

Why it is exact: each device has a memory port of its own, so that the ticks of a job depend on nothing but the job, the
phase of its addresses and whether its kernel is loaded. Should devices ever share a port, this assumption falls, and
with it this module: then a job's ticks depend on its neighbours'.

The C form in _load.c does the same, step for step and with the same names; tests/scenarios/load holds the two against
each other, and both against a run on the event queue with the real runtime.
"""

from collections import deque
from heapq import heappop, heappush

import attrs

from tessbed.runtime.scheduling.queues import PATIENCE
from tessbed.scenarios.load.draws import ARRIVAL, root, ticks_of
from tessbed.scenarios.load.program import FaultEffect, LoadProgram, Station, StreamProgram, StruckJob
from tessbed.scenarios.load.tally import LoadTally, StageTally, StationTally, StreamTally

END, COME, OVER, FREE = range(4)
"""A job ends and frees its server; a frame comes; a job ends and its server is not free yet; a server is free."""
JobTimes = tuple[int, int, int, int, int, int, int]
"""Stream, frame and job, by their numbers, the ticks at which it was ready, started and ended, and its server."""
FrameTimes = tuple[int, int, int, int, str]
"""Stream and frame, by their numbers, the ticks at which it came and left, and completed, dropped or failed."""
ServerReset = tuple[int, int, int, int]
"""Station and server, by their numbers, and the ticks from which and to which no job ran there, by a fault."""
Order = tuple[int, int, int, int, int]


@attrs.define(eq=False)
class FrameState:
    """A frame under way. Lists are by job; `critical` is the predecessor that ended last."""

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
    end: list[int] = attrs.field(factory=list)
    critical: list[int] = attrs.field(factory=list)
    effects: dict[int, FaultEffect] = attrs.field(factory=dict)
    cancelled: list[bool] = attrs.field(factory=list)


@attrs.define(eq=False)
class StationState:
    """A station: servers with room, its queue, the kernels that each server has, and since when its numbers stand.

    By server: how many jobs it holds, when it can begin another, and when the last that it holds ends.
    """

    idle: list[int]
    depth: int
    tally: StationTally
    held: list[int]
    next_begin: list[int]
    last_end: list[int]
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
class LoadReplication:
    """One replication of a load."""

    program: LoadProgram
    replication: int
    now: int = 0
    heap: list[tuple[int, ...]] = attrs.field(factory=list)
    frames: dict[tuple[int, int], FrameState] = attrs.field(factory=dict)
    streams: list[StreamState] = attrs.field(init=False)
    stations: list[StationState] = attrs.field(init=False)
    roots: list[list[int]] = attrs.field(init=False)
    struck: dict[tuple[int, int, int], tuple[int, StruckJob]] = attrs.field(init=False)
    met: list[int] = attrs.field(init=False)
    times: list[JobTimes] | None = None
    stays: list[FrameTimes] = attrs.field(factory=list)
    resets: list[ServerReset] = attrs.field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.streams = [_stream(stream) for stream in self.program.streams]
        self.stations = [_station(station) for station in self.program.stations]
        planned = self.program.struck
        self.struck = {(each.stream, each.frame, each.job): (place, each) for place, each in enumerate(planned)}
        self.met = [0] * len(planned)
        seed = self.program.seed
        self.roots = [
            [root(seed, self.replication, number, purpose) for purpose in range(len(stream.stages) + 1)]
            for number, stream in enumerate(self.program.streams)
        ]

    def run(self) -> LoadTally:
        """All of it, until the last frame has ended."""
        for number in range(len(self.streams)):
            self._start_arrivals(number)
        while self.heap:
            self.now = self.heap[0][0]
            while True:
                self._happen()
                if not self._pass() and not self._drop():
                    break
        tallies = [stream.tally for stream in self.streams], [station.tally for station in self.stations]
        return LoadTally(*tallies, end=self.now, struck=self.met)

    def _happen(self) -> None:
        """All events of this tick that are known."""
        while self.heap and self.heap[0][0] == self.now:
            _, kind, stream, frame, job, server = heappop(self.heap)
            if kind == COME:
                self._come(stream)
                continue
            if kind in (END, FREE):
                self._free(self.stations[stream if kind == FREE else self._station_of(stream, job)], server)
            if kind in (END, OVER):
                self._end(self.frames[stream, frame], job, server)

    def _station_of(self, stream: int, job: int) -> int:
        return self.streams[stream].program.stages[job].station

    def _free(self, station: StationState, server: int) -> None:
        station.pass_time(self.now)
        station.held[server] -= 1
        station.busy -= not station.held[server]
        heappush(station.idle, server)

    # Arrivals

    def _start_arrivals(self, number: int) -> None:
        arrivals = self.streams[number].program.arrivals
        if arrivals.kind in ("closed", "at_once"):
            for _ in range(min(arrivals.count, self.streams[number].program.frames)):
                self._expect(number, arrivals.first)
        else:
            self._expect_next(number)

    def _expect(self, number: int, tick: int) -> None:
        """A frame comes at that tick, if there is one left and it is not behind the horizon."""
        state = self.streams[number]
        if state.made < state.program.frames and tick < self.program.horizon_ticks:
            heappush(self.heap, (tick, COME, number, state.made, 0, 0))
            state.made += 1

    def _expect_next(self, number: int) -> None:
        """The next frame of a stream that has a rate."""
        state, arrivals = self.streams[number], self.streams[number].program.arrivals
        if arrivals.kind == "trace":
            if state.made < len(arrivals.ticks):
                self._expect(number, arrivals.ticks[state.made])
            return
        assert arrivals.between is not None
        if arrivals.kind == "every":
            tick = arrivals.first if state.made == 0 else state.last + arrivals.between.ticks
        else:
            tick = state.last + ticks_of(arrivals.between, self.roots[number][ARRIVAL], state.made)
        state.last = tick
        self._expect(number, tick)

    def _come(self, number: int) -> None:
        state = self.streams[number]
        frame = FrameState(number, state.tally.offered, self.now)
        state.pass_time(self.now)
        state.present += 1
        state.tally.offered += 1
        state.tally.last_arrival = self.now
        if state.tally.first_arrival < 0:
            state.tally.first_arrival = self.now
        if state.program.on_full == "block":
            state.outside.append(frame)
        else:
            state.waiting.append(frame)
            state.held.append(frame)
        if state.program.arrivals.open:
            self._expect_next(number)

    # Passes

    def _pass(self) -> bool:
        """Frames come in and enter, servers are given; whether anything changed."""
        changed = False
        for state in self.streams:
            changed |= self._enter(state)
        for number in range(len(self.stations)):
            changed |= self._give(number)
        return changed

    def _enter(self, state: StreamState) -> bool:
        changed = False
        while state.outside and len(state.waiting) < state.program.queue:
            frame = state.outside.popleft()
            state.waiting.append(frame)
            state.held.append(frame)
            changed = True
        while state.held and state.flying < state.program.in_flight:
            self._begin(state, state.held.popleft())
            changed = True
        return changed

    def _begin(self, state: StreamState, frame: FrameState) -> None:
        """A frame enters: its first jobs are ready."""
        stages = state.program.stages
        state.flying += 1
        frame.entered, frame.left = self.now, len(stages)
        frame.missing = [len(stage.after) for stage in stages]
        frame.ready, frame.start, frame.begin, frame.loaded, frame.end = ([0] * len(stages) for _ in range(5))
        frame.critical, frame.cancelled = [-1] * len(stages), [False] * len(stages)
        self.frames[frame.stream, frame.number] = frame
        for job in state.roots:
            self._ready(frame, job)

    def _ready(self, frame: FrameState, job: int) -> None:
        stage = self.streams[frame.stream].program.stages[job]
        station = self.stations[stage.station]
        frame.ready[job] = self.now
        station.pass_time(self.now)
        station.waiting += 1
        mark = station.tally.started - stage.priority * PATIENCE
        heappush(station.queue, ((mark, self.now, frame.stream, frame.number, job), frame))

    def _give(self, number: int) -> bool:
        """Idle servers to waiting jobs; whether there was one of each."""
        station = self.stations[number]
        changed = False
        while station.idle and station.queue:
            order, frame = heappop(station.queue)
            if not frame.gone:
                self._start(station, heappop(station.idle), frame, order[-1])
                changed = True
        return changed

    def _start(self, station: StationState, server: int, frame: FrameState, job: int) -> None:
        state = self.streams[frame.stream]
        stage = state.program.stages[job]
        if not frame.begun:
            frame.begun = True
            state.waiting.popleft()
        loads = stage.kernel >= 0 and (server, stage.kernel) not in station.kernels
        if loads:
            station.kernels.add((server, stage.kernel))
        frame.loaded[job] = stage.load_ticks if loads else 0
        ticks = ticks_of(stage.ticks, self.roots[frame.stream][job + 1], frame.number) + frame.loaded[job]
        occupied = self._strike(station, server, frame, job, loads) if self.struck else 0
        station.pass_time(self.now)
        station.waiting -= 1
        station.busy += not station.held[server]
        station.held[server] += 1
        station.tally.started += 1
        station.tally.waited_ticks += self.now - frame.ready[job]
        frame.start[job] = frame.begin[job] = self.now
        if job in frame.effects:
            ticks = frame.effects[job].over_ticks
        if station.depth > 1 and ticks:
            frame.begin[job] = max(self.now, station.next_begin[server])
            ticks += frame.begin[job] - self.now
            station.next_begin[server] = self.now + ticks - stage.tail_ticks
        end = self.now + (occupied or ticks)
        station.tally.served_ticks += max(0, end - max(self.now, station.last_end[server]))
        station.last_end[server] = max(end, station.last_end[server])
        kind = OVER if occupied else END
        heappush(self.heap, (self.now + ticks, kind, frame.stream, frame.number, job, server))

    def _strike(self, station: StationState, server: int, frame: FrameState, job: int, loads: bool) -> int:
        """Note what a fault makes of the job that starts; the ticks for which its server is taken if that is longer."""
        if (frame.stream, frame.number, job) not in self.struck:
            return 0
        place, struck = self.struck[frame.stream, frame.number, job]
        self.met[place] = 1
        effect = frame.effects[job] = struck.unloaded if loads else struck.loaded
        if effect.free_ticks <= effect.over_ticks:
            return 0
        number = self._station_of(frame.stream, job)
        heappush(self.heap, (self.now + effect.free_ticks, FREE, number, 0, 0, server))
        if self.times is not None:
            self.resets.append((number, server, self.now + effect.over_ticks, self.now + effect.free_ticks))
        return effect.free_ticks

    # Ends

    def _end(self, frame: FrameState, job: int, server: int) -> None:
        stage = self.streams[frame.stream].program.stages[job]
        frame.end[job] = self.now
        if self.times is not None:
            ticks = (frame.ready[job], frame.start[job], self.now)
            self.times.append((frame.stream, frame.number, job, *ticks, server))
        if job in frame.effects and not frame.effects[job].good:
            self._cancel_behind(frame, job)
        else:
            self._hand_on(frame, job, stage.before)
        frame.left -= 1
        if not frame.left:
            if frame.failed:
                self._fail(frame)
            else:
                self._complete(frame)

    def _hand_on(self, frame: FrameState, job: int, before: tuple[int, ...]) -> None:
        """The jobs that waited for this one alone are ready."""
        for other in before:
            last = frame.critical[other]
            if last < 0 or (-self.now, job) < (-frame.end[last], last):
                frame.critical[other] = job
            frame.missing[other] -= 1
            if not frame.missing[other]:
                self._ready(frame, other)

    def _cancel_behind(self, frame: FrameState, job: int) -> None:
        """The job has failed: those that need it, directly or not, never start."""
        frame.failed = True
        stages = self.streams[frame.stream].program.stages
        for other in range(job + 1, len(stages)):  # each job is behind those that it needs
            needed = (one == job or frame.cancelled[one] for one in stages[other].after)
            if not frame.cancelled[other] and any(needed):
                frame.cancelled[other] = True
                frame.left -= 1

    def _fail(self, frame: FrameState) -> None:
        """The frame has no job left that can run, and not all have ended well."""
        state = self.streams[frame.stream]
        state.tally.failed += 1
        self._leave(state, frame)

    def _complete(self, frame: FrameState) -> None:
        state = self.streams[frame.stream]
        tally, latency = state.tally, self.now - frame.arrival
        tally.completed += 1
        deadline = state.program.deadline_ticks
        tally.late += deadline is not None and latency > deadline
        if frame.number >= self.program.warmup:
            if tally.first_end < 0:
                tally.first_end = self.now
            tally.measured += 1
            tally.latencies.append(latency)
            if self.program.numbered:
                tally.numbers.append(frame.number)
            self._walk_back(state, frame)
        tally.last_end = self.now
        self._leave(state, frame)

    def _leave(self, state: StreamState, frame: FrameState) -> None:
        """The frame is here no more, as it has ended or goes."""
        if self.times is not None:
            outcome = "dropped" if frame.gone else "failed" if frame.failed else "completed"
            self.stays.append((frame.stream, frame.number, frame.arrival, self.now, outcome))
        state.pass_time(self.now)
        state.present -= 1
        state.tally.sojourn_ticks += self.now - frame.arrival
        if frame.entered >= 0:
            state.flying -= 1
            state.tally.entered += 1
            state.tally.flight_ticks += self.now - frame.entered
            del self.frames[frame.stream, frame.number]
        if state.program.arrivals.kind == "closed":
            self._expect(frame.stream, self.now + state.program.arrivals.think)

    def _walk_back(self, state: StreamState, frame: FrameState) -> None:
        """Along the critical path, from the job that ended last to one that was ready at entry: where time went."""
        job = max(range(len(frame.end)), key=lambda one: (frame.end[one], -one))
        while job >= 0:
            tally = state.tally.stages[job]
            tally.frames += 1
            tally.wait_ticks += frame.begin[job] - frame.ready[job]
            tally.load_ticks += frame.loaded[job]
            tally.served_ticks += frame.end[job] - frame.begin[job] - frame.loaded[job]
            job = frame.critical[job]
        state.tally.outside_ticks += frame.entered - frame.arrival

    # Drops

    def _drop(self) -> bool:
        """The frames beyond each queue go; whether there was one."""
        changed = False
        for state in self.streams:
            while state.program.on_full != "block" and len(state.waiting) > state.program.queue:
                newest = state.program.on_full == "drop_new"
                self._go(state, state.waiting.pop() if newest else state.waiting.popleft(), newest)
                changed = True
        return changed

    def _go(self, state: StreamState, frame: FrameState, newest: bool) -> None:
        """A frame that waits goes; of its jobs none has started."""
        frame.gone = True
        state.tally.dropped += 1
        if frame.entered < 0:
            frame_of = state.held.pop if newest else state.held.popleft
            frame_of()
        else:
            for job in state.roots:
                station = self.stations[state.program.stages[job].station]
                station.pass_time(self.now)
                station.waiting -= 1
                station.tally.waited_ticks += self.now - frame.ready[job]
        self._leave(state, frame)


def _station(station: Station) -> StationState:
    idle = [server for server in range(station.servers) for _ in range(station.depth)]
    held, next_begin, last_end = ([0] * station.servers for _ in range(3))
    return StationState(idle, station.depth, StationTally(), held, next_begin, last_end)


def _stream(program: StreamProgram) -> StreamState:
    tally = StreamTally(stages=[StageTally() for _ in program.stages])
    return StreamState(program, tally, [job for job, stage in enumerate(program.stages) if not stage.after])


@attrs.frozen
class LoadTimes:
    """When all happened in the first replication, each list sorted."""

    jobs: list[JobTimes]
    frames: list[FrameTimes]
    resets: list[ServerReset]


def times_of_load(program: LoadProgram) -> LoadTimes:
    """When each job was ready, started and ended, and where; when each frame came and left; which resets there were."""
    recurrence = LoadReplication(program, 0, times=[])
    recurrence.run()
    return LoadTimes(sorted(recurrence.times or []), sorted(recurrence.stays), sorted(recurrence.resets))


def count_load_in_python(program: LoadProgram, replication: int) -> LoadTally:
    """All that is counted of one replication."""
    return LoadReplication(program, replication).run()
