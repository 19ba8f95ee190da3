"""The recurrence: a launch's ticks over integer time, without events and without bytes, in Python alone.

The rules are those of dma.py and worker.py (docs/simulation.md, "Rules"). A grant at tick G depends on requests that
arrived by G and on channels, credits and the port. Its own effects come at G + 1 or later, since data takes at least
one tick. So the smallest tick at which any pool can grant is the next decision, and everything it needs is known.
Nothing depends on data; faults, stalls and cancellation do not exist here.

A group of reads arrives in one tick, so under `fifo` nothing comes between its members: it is one request of several
transfers, and a drain chain is a request of one. All ticks count from the launch.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush, heapreplace

import attrs

from tessbed.sim.line import NEVER, Due, Line, due_in_turn, due_oldest, leave, make_lines
from tessbed.sim.pool import KINDS
from tessbed.sim.spec import DeviceSpec
from tessbed.sim.stats import STALLS, WORD
from tessbed.sim.timing import Cost, Moment, Program, Run, Sums, Tally, TimedBand

UNKNOWN = -1
ISSUE, GATHER, SLOT, COMPUTE, ORDER, END = range(len(STALLS))


@attrs.define(eq=False)
class Walker:
    """A worker on its way through its program. Each slot's last C is UNKNOWN from a drain's request to its grant.

    `bands` is what is left of the block that it is in, whose first band is number `first`; `rounds` is how often it
    goes through that block, this time included, and `runs` are the runs after it.
    """

    worker: int
    pools: tuple[int, int]
    runs: deque[Run]
    drained: list[int]
    block: tuple[TimedBand, ...] = ()
    rounds: int = 0
    bands: Iterator[TimedBand] = attrs.Factory(lambda: iter(()))
    band: TimedBand | None = None
    start: int = 0
    finish: int = UNKNOWN
    made: int = 0
    first: int = 0
    group: int = 0
    seq: int = 0
    held: int = UNKNOWN
    since: int = 0
    unknown: int = 0
    last: int = 0
    stalls: list[int] = attrs.Factory(lambda: [0] * len(STALLS))
    sums: tuple[Sums, Sums] = attrs.Factory(lambda: (Sums(), Sums()))

    @property
    def tally(self) -> Tally:
        """What is told of it in the end."""
        reads, drains = (attrs.evolve(sums, weighted=sums.weighted & WORD) for sums in self.sums)
        return Tally(self.start, self.finish, tuple(self.stalls), (reads, drains))


@attrs.define(eq=False)
class Recurrence:
    """One launch."""

    spec: DeviceSpec
    program: Program
    tracing: bool = False
    walkers: list[Walker] = attrs.field(init=False)
    lines: list[Line] = attrs.field(init=False)
    due: list[Due] = attrs.field(init=False)
    port_free: list[int] = attrs.field(init=False)
    port_busy: list[int] = attrs.field(init=False)
    trace: list[Moment] = attrs.field(factory=list, init=False)
    now: int = attrs.field(default=-1, init=False)
    rolled: Walker | None = attrs.field(default=None, init=False)
    in_turn: bool = attrs.field(init=False)
    issue: int = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.lines = make_lines(self.spec)
        self.due = [NEVER] * len(self.lines)
        ports = len(KINDS) if self.spec.memory.split_port else 1
        self.port_free, self.port_busy = [0] * ports, [0] * ports
        self.walkers = [self._walker(worker, runs) for worker, runs in enumerate(self.program.workers)]
        self.in_turn = self.spec.dma.arbitration == "round_robin"
        self.issue = self.spec.dma.issue_ticks

    def _walker(self, worker: int, runs: Sequence[Run]) -> Walker:
        core = worker % self.spec.cores if self.spec.dma.channel_scope == "per_core" else 0
        pools = core * len(KINDS), core * len(KINDS) + 1
        return Walker(worker, pools, deque(runs), [0] * self.spec.slots)

    def run(self, watch: Callable[[Walker, int], None] | None = None) -> None:
        """The whole launch. `watch` is called with a worker that starts another round, and the tick of what is next."""
        for walker in self.walkers[: self.spec.cores]:
            self._begin(walker, walker.worker * self.spec.launch_stagger_ticks)
        due, lines = self.due, self.lines
        while (best := min(due)) is not NEVER:
            if self.rolled is None or watch is None:
                self._serve(lines[best[4]], best)
            else:
                watch(self.rolled, best[0])
                self.rolled = None

    def find_due(self) -> None:
        """Find again what each pool grants next."""
        find = due_in_turn if self.in_turn else due_oldest
        self.due[:] = [find(line, self.now) for line in self.lines]

    def _begin(self, walker: Walker, tick: int) -> None:
        walker.start = tick
        self._step(walker)
        self._advance(walker, tick)

    def _step(self, walker: Walker) -> None:
        """The walker's next band, where its block ends."""
        while walker.rounds > 1 or walker.runs:
            if walker.rounds > 1:
                walker.rounds -= 1
                self.rolled = walker
            else:
                bands, walker.rounds = walker.runs.popleft()
                walker.block = tuple([self.program.bands[index] for index in bands])
            walker.bands, walker.first = iter(walker.block), walker.made
            walker.band = next(walker.bands, None)
            if walker.band is not None:
                return
        walker.band, walker.rounds = None, 0

    def _advance(self, walker: Walker, tick: int) -> None:
        """Take the steps of a worker that is free at `tick`, up to one whose end is not known yet."""
        stalls = walker.stalls
        while (band := walker.band) is not None:
            groups = band[0]
            if walker.group < len(groups):
                costs = groups[walker.group]
                walker.group += 1
                spent = self.issue * len(costs)
                stalls[ISSUE] += spent
                self._request(walker, 0, tick + spent, costs)
                return
            drained = walker.drained
            slot = walker.made % len(drained)
            if walker.held != ORDER:
                free = drained[slot]
                if free == UNKNOWN:
                    walker.held, walker.since = SLOT, tick
                    return
                if free > tick:
                    stalls[SLOT] += free - tick
                    tick = free
                compute = band[1]
                stalls[COMPUTE] += compute
                tick += compute
            if band[2]:
                if walker.unknown:
                    walker.held, walker.since = ORDER, tick
                    return
                if walker.last > tick:
                    stalls[ORDER] += walker.last - tick
                    tick = walker.last
                walker.held = UNKNOWN
            spent = self.issue * band[4]
            stalls[ISSUE] += spent
            tick += spent
            drained[slot] = UNKNOWN
            walker.unknown += 1
            self._request(walker, 1, tick, band[3])
            walker.made += 1
            walker.group = 0
            walker.band = following = next(walker.bands, None)
            if following is None:
                self._step(walker)
        self._end(walker, tick)

    def _end(self, walker: Walker, tick: int) -> None:
        """The last wait; then the core's next worker."""
        if walker.unknown:
            walker.held, walker.since = END, tick
            return
        walker.finish = max(tick, walker.last)
        walker.stalls[END] += walker.finish - tick
        following = walker.worker + self.spec.cores
        if following < len(self.walkers):
            self._begin(self.walkers[following], walker.finish + self.spec.relaunch_ticks)

    def _request(self, walker: Walker, kind: int, arrival: int, costs: tuple[Cost, ...]) -> None:
        line = self.lines[walker.pools[kind]]
        request = [arrival, walker.worker, walker.seq, costs, 0, 0, walker]
        walker.seq += len(costs)
        if self.in_turn:
            line.queues.setdefault(walker.worker, deque()).append(request)
            self.due[line.number] = due_in_turn(line, self.now)
        else:
            requests = line.requests
            heappush(requests, request)
            if requests[0] is request:
                self.due[line.number] = due_oldest(line, self.now)

    def _serve(self, line: Line, best: Due) -> None:
        """Grant transfers of the request whose turn it is, one by one, while none of another request comes before."""
        now, _, worker, _, number = best
        request = line.queues[worker][0] if self.in_turn else line.requests[0]
        arrival, worker, seq, costs, index, latest, walker = request
        due = self.due
        due[number] = NEVER
        limit = due[1 - number] if len(due) == 2 else min(due)
        stop = index + 1 if self.in_turn else len(costs)
        idle_at, flying, allowed, latency = line.idle_at, line.flying, line.credits, line.latency
        port = self.port_free[line.port]
        trace = self.trace if self.tracing else None
        first, before, peak = index, seq - index, line.peak
        busy = grants = ends = fallen = 0
        while True:
            s, m, c = costs[index]
            start = now + s
            if start < port:
                start = port
            port = start + m
            busy += m
            end = start + c
            heapreplace(idle_at, end)
            if flying and flying[0] <= now:
                heapreplace(flying, end + latency)
                while flying[0] <= now:
                    heappop(flying)
            else:
                heappush(flying, end + latency)
            in_flight = len(flying)
            if in_flight > peak:
                peak = in_flight
            grants += now
            ends += end
            fallen += ends
            if end > latest:
                latest = end
            if trace is not None:
                trace.append(Moment(worker, before + index, arrival, number, now, start, end, end + latency))
            index += 1
            if index == stop:
                break
            tick = idle_at[0]
            if in_flight >= allowed and flying[0] > tick:
                tick = flying[0]
            if tick > now:
                if tick >= limit[0] and (tick, arrival, worker, before + index, number) > limit:
                    break
                now = tick
            elif now == limit[0] and (now, arrival, worker, before + index, number) > limit:
                break
        self.port_free[line.port] = port
        self.port_busy[line.port] += busy
        line.peak = peak
        sums = walker.sums[line.kind]
        sums.transfers += index - first
        sums.grants += grants
        sums.ends += ends
        sums.weighted += (sums.transfers + 1) * ends - fallen
        self.now = now
        request[2], request[4], request[5] = before + index, index, latest
        if self.in_turn:
            line.pointer = worker + 1
        if index == len(costs):
            leave(line, worker)
            self._granted(line, walker, arrival, latest + latency)
        if self.in_turn:
            due[number] = due_in_turn(line, now)
        else:
            due[number] = due_oldest(line, now)

    def _granted(self, line: Line, walker: Walker, arrival: int, done: int) -> None:
        """A whole request is granted, so its end is known: its worker may go on from there."""
        if line.kind == 0:
            walker.stalls[GATHER] += done - arrival
            self._advance(walker, done)
            return
        drained = walker.drained
        drained[(walker.made - walker.unknown) % len(drained)] = done
        walker.unknown -= 1
        if done > walker.last:
            walker.last = done
        held = walker.held
        if held == UNKNOWN or (held != SLOT and walker.unknown):
            return
        if held == SLOT:
            if drained[walker.made % len(drained)] == UNKNOWN:
                return
            walker.held = UNKNOWN
        self._advance(walker, walker.since)
