"""Exact: the ticks of a launch by recurrence over integer time, without events and without bytes.

The rules are those of dma.py and worker.py (docs/simulation.md, "Rules"). A grant at tick G depends on requests that
arrived by G and on channels, credits and the port. Its own effects come at G + 1 or later, since data takes at least
one tick. So the smallest tick at which any pool can grant is the next decision, and everything it needs is known.
Nothing depends on data; faults, stalls and cancellation do not exist here.

A group of reads arrives in one tick, so under `fifo` nothing comes between its members: it is one request of several
transfers, and a drain chain is a request of one. All ticks count from the launch.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappop, heappush, heapreplace
from itertools import chain, repeat
from typing import Any

import attrs

from tessbed.sim.pool import KINDS
from tessbed.sim.spec import DeviceSpec
from tessbed.sim.stats import STALLS, WORD, Digest, PoolStats, PortStats, WorkerStats
from tessbed.sim.timing import Cost, Moment, Run, TimedBand, Timing

FOREVER = 1 << 200
UNKNOWN = -1
ISSUE, GATHER, SLOT, COMPUTE, ORDER, END = range(len(STALLS))


@attrs.define(eq=False)
class Sums:
    """Of the transfers of one (worker, direction): number, sums of G and E, and sum of i * E."""

    transfers: int = 0
    grants: int = 0
    ends: int = 0
    weighted: int = 0


@attrs.define(eq=False)
class Walker:
    """A worker on its way through its program. Each slot's last C is UNKNOWN from a drain's request to its grant."""

    worker: int
    bands: Iterator[TimedBand]
    pools: tuple[int, int]
    drained: list[int]
    start: int = 0
    finish: int = UNKNOWN
    band: TimedBand | None = None
    made: int = 0
    group: int = 0
    seq: int = 0
    held: int = UNKNOWN
    since: int = 0
    unknown: int = 0
    last: int = 0
    stalls: list[int] = attrs.Factory(lambda: [0] * len(STALLS))
    sums: tuple[Sums, Sums] = attrs.Factory(lambda: (Sums(), Sums()))


Request = list[Any]  # arrival, worker, next sequence, costs, transfers granted, latest E
Due = tuple[int, int, int, int, int]  # tick of the next grant, then the key: arrival, worker, sequence, pool
NEVER: Due = (FOREVER, 0, 0, 0, 0)


@attrs.define(eq=False)
class Line:
    """A pool: requests, the ticks at which channels are idle and credits come back, both heaps."""

    number: int
    kind: int
    latency: int
    credits: int
    port: int
    idle_at: list[int]
    flying: list[int] = attrs.Factory(list)
    requests: list[Request] = attrs.Factory(list)
    queues: dict[int, deque[Request]] = attrs.Factory(dict)
    pointer: int = 0
    peak: int = 0

    def free_from(self, now: int) -> int:
        """The first tick from `now` on with an idle channel and a credit."""
        tick = max(now, self.idle_at[0])
        return max(tick, self.flying[0]) if len(self.flying) >= self.credits else tick


@attrs.define(eq=False)
class Engine:
    """One launch. `programs` are the workers' runs, worker i the i-th."""

    spec: DeviceSpec
    programs: Sequence[Iterable[Run]]
    tracing: bool = False
    walkers: list[Walker] = attrs.field(init=False)
    lines: list[Line] = attrs.field(init=False)
    due: list[Due] = attrs.field(init=False)
    port_free: list[int] = attrs.field(init=False)
    port_busy: list[int] = attrs.field(init=False)
    trace: list[Moment] = attrs.field(factory=list, init=False)
    now: int = attrs.field(default=-1, init=False)

    def __attrs_post_init__(self) -> None:
        self.lines = _lines(self.spec)
        self.due = [NEVER] * len(self.lines)
        ports = len(KINDS) if self.spec.memory.split_port else 1
        self.port_free, self.port_busy = [0] * ports, [0] * ports
        self.walkers = [self._walker(worker, runs) for worker, runs in enumerate(self.programs)]

    def _walker(self, worker: int, runs: Iterable[Run]) -> Walker:
        core = worker % self.spec.cores if self.spec.dma.channel_scope == "per_core" else 0
        pools = core * len(KINDS), core * len(KINDS) + 1
        return Walker(worker, _unrolled(runs), pools, [0] * self.spec.slots)

    def run(self) -> Timing:
        """The whole launch."""
        for walker in self.walkers[: self.spec.cores]:
            self._begin(walker, walker.worker * self.spec.launch_stagger_ticks)
        serve = SERVES[self.spec.dma.arbitration]
        while (best := min(self.due)) is not NEVER:
            serve(self, self.lines[best[4]], best)
        return self._timing()

    def _begin(self, walker: Walker, tick: int) -> None:
        walker.start = tick
        walker.band = next(walker.bands, None)
        self._advance(walker, tick)

    def _advance(self, walker: Walker, tick: int) -> None:
        """Take the steps of a worker that is free at `tick`, up to one whose end is not known yet."""
        issue, stalls = self.spec.dma.issue_ticks, walker.stalls
        while (band := walker.band) is not None:
            if walker.group < len(band.groups):
                costs = band.groups[walker.group]
                walker.group += 1
                spent = issue * len(costs)
                stalls[ISSUE] += spent
                self._request(walker, 0, tick + spent, costs)
                return
            slot = walker.made % len(walker.drained)
            if walker.held != ORDER:
                free = walker.drained[slot]
                if free == UNKNOWN:
                    walker.held, walker.since = SLOT, tick
                    return
                if free > tick:
                    stalls[SLOT] += free - tick
                    tick = free
                stalls[COMPUTE] += band.ticks
                tick += band.ticks
            if band.ordered:
                if walker.unknown:
                    walker.held, walker.since = ORDER, tick
                    return
                if walker.last > tick:
                    stalls[ORDER] += walker.last - tick
                    tick = walker.last
            walker.held = UNKNOWN
            spent = issue * band.descriptors
            stalls[ISSUE] += spent
            tick += spent
            walker.drained[slot] = UNKNOWN
            walker.unknown += 1
            self._request(walker, 1, tick, band.chain)
            walker.made += 1
            walker.group = 0
            walker.band = next(walker.bands, None)
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
        request = [arrival, walker.worker, walker.seq, costs, 0, 0]
        walker.seq += len(costs)
        if self.spec.dma.arbitration == "fifo":
            heappush(line.requests, request)
            self.due[line.number] = _oldest(line, self.now)
        else:
            line.queues.setdefault(walker.worker, deque()).append(request)
            self.due[line.number] = _in_turn(line, self.now)

    def _grant(self, line: Line, request: Request, now: int, limit: Due, most: int) -> int:
        """Grant up to `most` transfers of a request from tick `now` on, while none of another pool comes before.

        Returns the tick of the last grant.
        """
        arrival, worker, seq, costs, first, latest = request
        idle_at, flying, allowed, latency = line.idle_at, line.flying, line.credits, line.latency
        port, busy = self.port_free[line.port], 0
        trace = self.trace if self.tracing else None
        sums = self.walkers[worker].sums[line.kind]
        number = sums.transfers
        grants = ends = weighted = 0
        index, stop = first, min(len(costs), first + most)
        while True:
            s, m, c = costs[index]
            start = now + s
            if start < port:
                start = port
            port = start + m
            busy += m
            end = start + c
            heapreplace(idle_at, end)
            while flying and flying[0] <= now:
                heappop(flying)
            heappush(flying, end + latency)
            in_flight = len(flying)
            if in_flight > line.peak:
                line.peak = in_flight
            number += 1
            grants += now
            ends += end
            weighted += number * end
            if end > latest:
                latest = end
            if trace is not None:
                trace.append(Moment(worker, seq + index - first, arrival, line.number, now, start, end, end + latency))
            index += 1
            if index == stop:
                break
            tick = idle_at[0]
            if in_flight >= allowed and flying[0] > tick:
                tick = flying[0]
            if tick > now:
                if tick >= limit[0] and (tick, arrival, worker, seq + index - first, line.number) > limit:
                    break
                now = tick
            elif now == limit[0] and (now, arrival, worker, seq + index - first, line.number) > limit:
                break
        self.port_free[line.port] = port
        self.port_busy[line.port] += busy
        sums.transfers = number
        sums.grants += grants
        sums.ends += ends
        sums.weighted += weighted
        request[2], request[4], request[5] = seq + index - first, index, latest
        self.now = now
        return now

    def _serve_oldest(self, line: Line, best: Due) -> None:
        """`fifo`: the oldest request, as much of it as comes before everything else."""
        request = line.requests[0]
        self.due[line.number] = NEVER
        now = self._grant(line, request, best[0], min(self.due), len(request[3]))
        if request[4] == len(request[3]):
            heappop(line.requests)
            self._granted(line, request)
        self.due[line.number] = _oldest(line, now)

    def _serve_in_turn(self, line: Line, best: Due) -> None:
        """`round_robin`: one transfer, then it is another worker's turn."""
        worker = best[2]
        queue = line.queues[worker]
        request = queue[0]
        now = self._grant(line, request, best[0], NEVER, 1)
        line.pointer = worker + 1
        if request[4] == len(request[3]):
            queue.popleft()
            if not queue:
                del line.queues[worker]
            self._granted(line, request)
        self.due[line.number] = _in_turn(line, now)

    def _granted(self, line: Line, request: Request) -> None:
        """A whole request is granted, so its end is known: its worker may go on from there."""
        walker = self.walkers[request[1]]
        done = request[5] + line.latency
        if line.kind == 0:
            walker.stalls[GATHER] += done - request[0]
            self._advance(walker, done)
            return
        slot = (walker.made - walker.unknown) % len(walker.drained)
        walker.unknown -= 1
        walker.drained[slot] = done
        walker.last = max(walker.last, done)
        held = walker.held
        if held == UNKNOWN or (held != SLOT and walker.unknown):
            return
        if held == SLOT:
            if walker.drained[walker.made % len(walker.drained)] == UNKNOWN:
                return
            walker.held = UNKNOWN
        self._advance(walker, walker.since)

    def _timing(self) -> Timing:
        return Timing(
            device_ticks=max(walker.finish for walker in self.walkers),
            workers=tuple(map(_worker_stats, self.walkers)),
            pools=tuple(self._pool_stats(line) for line in self.lines),
            ports=tuple(map(PortStats, KINDS if len(self.port_busy) > 1 else ("memory",), self.port_busy)),
            digests=self._digests(),
            trace=tuple(self.trace),
        )

    def _pool_stats(self, line: Line) -> PoolStats:
        mine = [walker.sums[line.kind] for walker in self.walkers if walker.pools[line.kind] == line.number]
        core = line.number // len(KINDS) if self.spec.dma.channel_scope == "per_core" else -1
        busy = sum(sums.ends - sums.grants for sums in mine)
        grants = sum(sums.transfers for sums in mine)
        return PoolStats(KINDS[line.kind], core, len(line.idle_at), line.credits, grants, busy, line.peak)

    def _digests(self) -> dict[tuple[int, str], Digest]:
        keys = [(walker, kind) for walker in self.walkers for kind in range(len(KINDS))]
        return {
            (walker.worker, KINDS[kind]): _digest(walker.sums[kind], self.lines[kind].latency)
            for walker, kind in keys
            if walker.sums[kind].transfers
        }


SERVES: dict[str, Callable[[Engine, Line, Due], None]] = {
    "fifo": Engine._serve_oldest,
    "round_robin": Engine._serve_in_turn,
}


def simulate(spec: DeviceSpec, programs: Sequence[Iterable[Run]], *, trace: bool = False) -> Timing:
    """The timing of a launch of `programs`, one for each worker, on a device of that spec."""
    return Engine(spec, programs, trace).run()


def _unrolled(runs: Iterable[Run]) -> Iterator[TimedBand]:
    return chain.from_iterable(chain.from_iterable(repeat(run.bands, run.times)) for run in runs)


def _lines(spec: DeviceSpec) -> list[Line]:
    """The pools in the order of `make_pools`."""
    cores = range(spec.cores if spec.dma.channel_scope == "per_core" else 1)
    latency = spec.memory.read_latency_ticks, spec.memory.write_latency_ticks
    channels = spec.dma.read_channels, spec.dma.write_channels
    return [
        Line(
            number=core * len(KINDS) + kind,
            kind=kind,
            latency=latency[kind],
            credits=spec.dma.outstanding,
            port=kind if spec.memory.split_port else 0,
            idle_at=[0] * channels[kind],
        )
        for core in cores
        for kind in range(len(KINDS))
    ]


def _oldest(line: Line, now: int) -> Due:
    """When the oldest request's next transfer is granted, and its key."""
    if not line.requests:
        return NEVER
    arrival, worker, seq, *_ = line.requests[0]
    return line.free_from(max(now, arrival)), arrival, worker, seq, line.number


def _in_turn(line: Line, now: int) -> Due:
    """The same for the oldest request of the worker whose turn it then is."""
    heads = [queue[0] for queue in line.queues.values()]
    if not heads:
        return NEVER
    tick = line.free_from(max(now, min(head[0] for head in heads)))
    ready = [head for head in heads if head[0] <= tick]
    arrival, worker, seq, *_ = min(ready, key=lambda head: (head[1] < line.pointer, head[1]))
    return tick, arrival, worker, seq, line.number


def _worker_stats(walker: Walker) -> WorkerStats:
    return WorkerStats(walker.worker, walker.start, walker.finish, dict(zip(STALLS, walker.stalls, strict=True)))


def _digest(sums: Sums, latency: int) -> Digest:
    """C is E plus a constant, so its sums follow."""
    n = sums.transfers
    weighted = sums.weighted + latency * n * (n + 1) // 2
    return Digest(n, sums.grants, sums.ends, sums.ends + n * latency, weighted & WORD)
