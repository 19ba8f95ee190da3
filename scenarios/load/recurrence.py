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
from heapq import heapify, heappop, heappush

import attrs

from tessbed.runtime.scheduling.queues import PATIENCE
from tessbed.scenarios.load.device_ring import HeldJob, held_job
from tessbed.scenarios.load.draws import ARRIVAL, root, ticks_of
from tessbed.scenarios.load.load_state import (
    ENDED_TURN,
    FINAL_TURN,
    LOST_TURN,
    FrameState,
    InLine,
    JobKey,
    StationState,
    StreamState,
    station_state,
    stream_state,
)
from tessbed.scenarios.load.program import LoadProgram, StageProgram, StruckJob, deep_stations
from tessbed.scenarios.load.tally import LoadTally

END, COME, OVER, FREE, HELD, FINAL, CONFIRMED = range(7)
"""A job ends and frees its server; a frame comes; a job ends and its server is not free yet; a server is free; a job of
several that a device holds ends, if its end is still planned for this tick; a lost job lets its queue go on; a reset is
confirmed."""
JobTimes = tuple[int, int, int, int, int, int, int]
"""Stream, frame and job, by their numbers, the ticks at which it was ready, started and ended, and its server."""
FrameTimes = tuple[int, int, int, int, str]
"""Stream and frame, by their numbers, the ticks at which it came and left, and completed, dropped or failed."""
ServerReset = tuple[int, int, int, int]
"""Station and server, by their numbers, and the ticks from which and to which no job ran there, by a fault."""


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
    lines: list[deque[InLine]] = attrs.field(init=False)
    times: list[JobTimes] | None = None
    stays: list[FrameTimes] = attrs.field(factory=list)
    resets: list[ServerReset] = attrs.field(factory=list)

    def __attrs_post_init__(self) -> None:
        planned = self.program.struck
        rings = deep_stations(self.program)
        self.streams = [stream_state(stream) for stream in self.program.streams]
        self.stations = [
            station_state(station, rings=number in rings) for number, station in enumerate(self.program.stations)
        ]
        self.lines = [deque() for _ in range(self.program.lines)]
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
            elif kind == FREE:
                self._free(self.stations[stream], server)
            elif kind == CONFIRMED:
                self._confirm_reset(self.stations[stream], server)
            elif kind == FINAL:
                if (line := self._stage(stream, job).line) >= 0:
                    self._set_turn(line, frame, job, FINAL_TURN)
            elif kind == HELD:
                self._end_held((stream, frame, job), server)
            else:
                if kind == END:
                    self._free(self.stations[self._stage(stream, job).station], server)
                self._take_turn(self.frames[stream, frame], job, server, LOST_TURN if kind == OVER else ENDED_TURN)

    def _stage(self, stream: int, job: int) -> StageProgram:
        return self.streams[stream].program.stages[job]

    def _free(self, station: StationState, server: int) -> None:
        if station.resetting[server]:
            return
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
        frame.ready, frame.start, frame.begin, frame.loaded = ([0] * len(stages) for _ in range(4))
        frame.own_end, frame.end = ([0] * len(stages) for _ in range(2))
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
        if self.struck:
            self._strike(frame, job, loads=loads)
        station.pass_time(self.now)
        station.waiting -= 1
        station.busy += not station.held[server]
        station.held[server] += 1
        station.tally.started += 1
        station.tally.waited_ticks += self.now - frame.ready[job]
        frame.start[job] = frame.begin[job] = self.now
        if stage.line >= 0:
            self.lines[stage.line].append(InLine(frame, job, server))
        if station.rings and ticks:
            self._run_in_ring(station, server, frame, job, ticks, loads=loads)
        elif job in frame.effects:
            self._run_struck(station, server, frame, job)
        else:
            self._run(station, server, frame, job, ticks)

    def _strike(self, frame: FrameState, job: int, *, loads: bool) -> None:
        """Note what a fault makes of the job that starts, if there is one."""
        found = self.struck.get((frame.stream, frame.number, job))
        if found is not None:
            place, struck = found
            self.met[place] = 1
            frame.effects[job] = struck.unloaded if loads else struck.loaded

    def _run(self, station: StationState, server: int, frame: FrameState, job: int, ticks: int) -> None:
        """The job runs with nothing wrong, behind the others that its server holds."""
        if station.depth > 1 and ticks:
            frame.begin[job] = max(self.now, station.next_begin[server] or 0)
            ticks += frame.begin[job] - self.now
            station.next_begin[server] = self.now + ticks - self._stage(frame.stream, job).tail_ticks
        self._serve_until(station, server, self.now + ticks)
        heappush(self.heap, (self.now + ticks, END, frame.stream, frame.number, job, server))

    def _serve_until(self, station: StationState, server: int, end: int) -> None:
        """The server is busy until then, if it is not for longer by another job."""
        station.tally.served_ticks += max(0, end - max(self.now, station.last_end[server]))
        station.last_end[server] = max(end, station.last_end[server])

    def _run_struck(self, station: StationState, server: int, frame: FrameState, job: int) -> None:
        """The job runs as its faults say, alone on its server, which may be taken for longer."""
        effect, key = frame.effects[job], (frame.stream, frame.number, job, server)
        over, free = (self.now + ticks for ticks in (effect.over_ticks, effect.free_ticks))
        self._serve_until(station, server, max(over, free))
        if not effect.good:
            frame.bad.add(job)
        if free <= over:
            heappush(self.heap, (over, END, *key))
            return
        number = self._stage(frame.stream, job).station
        heappush(self.heap, (over, OVER, *key))
        heappush(self.heap, (free, FREE, number, 0, 0, server))
        heappush(self.heap, (self.now + effect.final_ticks, FINAL, *key))
        if self.times is not None:
            self.resets.append((number, server, over, free))

    # Devices that hold several jobs, some of them struck by faults

    def _run_in_ring(
        self, station: StationState, server: int, frame: FrameState, job: int, ticks: int, *, loads: bool
    ) -> None:
        """The device begins the job when it has run those before, if ever."""
        ready = station.next_begin[server]
        begin = None if ready is None else max(self.now, ready)
        stage = self._stage(frame.stream, job)
        held = held_job(stage, self.now, begin, ticks, frame.effects.get(job), loads=loads)
        frame.begin[job] = self.now if begin is None else begin
        station.next_begin[server] = held.run_end
        station.rings[server][frame.stream, frame.number, job] = held
        if held.end is not None:
            self._serve_until(station, server, held.end)
            self._expect_end(held, (frame.stream, frame.number, job), server)

    def _expect_end(self, held: HeldJob, key: JobKey, server: int) -> None:
        assert held.end is not None
        heappush(self.heap, (held.end, HELD, *key, server))

    def _end_held(self, key: JobKey, server: int) -> None:
        """A job that a device holds ends, unless a reset has changed when."""
        number = self._stage(key[0], key[2]).station
        station, ring = self.stations[number], self.stations[number].rings[server]
        held = ring.get(key)
        if held is None or held.end != self.now:
            return
        if held.lost and not station.resetting[server]:
            self._reset(number, server)
        del ring[key]
        if held.lost:
            heappush(self.heap, (held.final(station.next_begin[server] or 0), FINAL, *key, server))
        else:
            self._free(station, server)
        frame = self.frames[key[0], key[1]]
        if not held.good:
            frame.bad.add(key[2])
        self._take_turn(frame, key[2], server, FINAL_TURN if held.recovered else LOST_TURN if held.lost else ENDED_TURN)

    def _reset(self, number: int, server: int) -> None:
        """The device is reset: it takes no job until that is confirmed, and has none then."""
        station, confirmed = self.stations[number], self.now + self.program.stations[number].reset_ticks
        station.resetting[server] = True
        station.idle = [other for other in station.idle if other != server]
        heapify(station.idle)
        for key, held in station.rings[server].items():
            held.meet_reset(self.now, confirmed)
            self._expect_end(held, key, server)
            if held.loads and (held.entered is None or held.entered > confirmed):
                station.kernels.discard((server, self._stage(key[0], key[2]).kernel))
        station.next_begin[server] = confirmed
        station.tally.served_ticks += confirmed - station.last_end[server]
        station.last_end[server] = confirmed
        heappush(self.heap, (confirmed, CONFIRMED, number, 0, 0, server))
        if self.times is not None:
            self.resets.append((number, server, self.now, confirmed))

    def _confirm_reset(self, station: StationState, server: int) -> None:
        """The device takes jobs again."""
        station.pass_time(self.now)
        station.busy -= 1
        station.held[server] = 0
        station.resetting[server] = False
        for _ in range(station.depth):
            heappush(station.idle, server)

    # Queues of the runtime, in which jobs end in the order of their starts

    def _take_turn(self, frame: FrameState, job: int, server: int, turn: int) -> None:
        """The job has ended on its server; for its frame it has when those before it in its line are final.

        One that is lost has ended at once, and those behind it wait until it is final.
        """
        frame.own_end[job] = self.now
        line = self._stage(frame.stream, job).line
        if line < 0 or turn != ENDED_TURN:
            self._end(frame, job, server)
        if line >= 0:
            self._set_turn(line, frame.number, job, turn)

    def _set_turn(self, line: int, number: int, job: int, turn: int) -> None:
        """A job of a line has ended, is lost or is final: the first ones of the line go, as far as the order allows."""
        jobs = self.lines[line]
        next(one for one in jobs if (one.frame.number, one.job) == (number, job)).turn = turn
        while jobs and jobs[0].turn in (ENDED_TURN, FINAL_TURN):
            first = jobs.popleft()
            if first.turn == ENDED_TURN:
                self._end(first.frame, first.job, first.server)

    # Ends

    def _end(self, frame: FrameState, job: int, server: int) -> None:
        stage = self.streams[frame.stream].program.stages[job]
        frame.end[job] = self.now
        if self.times is not None:
            ticks = (frame.ready[job], frame.start[job], self.now)
            self.times.append((frame.stream, frame.number, job, *ticks, server))
        if job in frame.bad:
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
            tally.wait_ticks += frame.begin[job] - frame.ready[job] + frame.end[job] - frame.own_end[job]
            tally.load_ticks += frame.loaded[job]
            tally.served_ticks += frame.own_end[job] - frame.begin[job] - frame.loaded[job]
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
