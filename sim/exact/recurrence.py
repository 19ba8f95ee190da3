"""The recurrence: a launch's ticks over integer time, without events and without bytes, in Python alone.

## Why it is exact

The rules are those of the event engine (docs/simulation.md, "Rules"). A grant at tick G depends on the requests that
have arrived by G and on channels, credits and the port, never on data. What it causes comes at G + 1 or later, since
data takes one tick at least. So with all requests known that arrive up to then, the least tick at which any pool can
grant, ties broken by key, *is* the next grant; granting it makes new facts, each of them later. Faults, stalls and
cancellation do not exist here: a launch that has any is the event engine's.

Two things are known before the clock gets there, and make it a recurrence instead of a simulation:

- From a grant on, P, E and C of a transfer are known, and so is the end of a request when its last transfer is granted.
- A worker whose waits are known goes on at once, for any number of bands, up to a wait for something not yet granted.
  Its next request may arrive far in the future; it waits in its pool until its tick is the least.

## Invariants

1. `now` never falls: each decision's tick is at least that of the one before. A request arrives after the decision
   that made it possible, so it can not change what has been decided.
2. A worker is in one of four states, distinguished by `band`, `held` and `finish`:

   | state | `held` | goes on when |
   |---|---|---|
   | gathers: a request of reads is in its pool | UNKNOWN | the last read is granted: from its C |
   | held by its slot | SLOT | the drain that last used the slot is granted: from `since`, or its C |
   | held by order, or by the end | ORDER, END | no drain is without a grant (`unknown` is 0): from `since`, or `last` |
   | ended, or not begun | UNKNOWN | its core's worker before it ends |

3. `drained[slot]` is the C of the slot's last drain, UNKNOWN from its request to its grant. A pool grants the drains of
   one worker in their order, so the oldest of the `unknown` ones belongs to band `made - unknown`.
4. `last` is the largest C of all granted drains: with `unknown` 0 it is the end of the wait for all of them.

## Requests

A group of reads arrives in one tick, so under `fifo` nothing comes between its members: it is one request of several
transfers, granted one by one, and a drain chain is a request of one transfer. `_serve` grants from one request as long
as its next transfer comes before what any other pool has due (`limit`); under `round_robin` one at a time, since the
pointer moves. All ticks count from the launch.

`Sums.weighted` is the sum of i * E over a worker's transfers of one direction, i counted from 1. For n transfers in a
row, the last of which has the number N, it grows by (N + 1) * (sum of E) - (sum of the running sums of E).
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush, heapreplace

import attrs

from tessbed.sim.exact.pool_state import (
    NEVER,
    Due,
    PoolState,
    due_in_turn,
    due_oldest,
    leave,
    make_pool_states,
)
from tessbed.sim.exact.program import BandRun, Cost, LaunchProgram, Sums, Tally, TimedBand, TransferTimes
from tessbed.sim.spec.device_spec import DIRECTIONS, DeviceSpec
from tessbed.sim.stats import STALLS, WORD

UNKNOWN = -1
ISSUE, GATHER, SLOT, COMPUTE, ORDER, END = range(len(STALLS))


@attrs.define(eq=False)
class WorkerState:
    """A worker on its way through its program. Each slot's last C is UNKNOWN from a drain's request to its grant.

    `bands` is what is left of the block that it is in, whose first band is number `first`; `rounds` is how often it
    goes through that block, this time included, and `runs` are the runs after it.
    """

    worker: int
    pools: tuple[int, int]
    runs: deque[BandRun]
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
        """What is reported of it in the end."""
        reads, drains = (attrs.evolve(sums, weighted=sums.weighted & WORD) for sums in self.sums)
        return Tally(self.start, self.finish, tuple(self.stalls), (reads, drains))


@attrs.define(eq=False)
class Recurrence:
    """One launch."""

    spec: DeviceSpec
    program: LaunchProgram
    tracing: bool = False
    worker_states: list[WorkerState] = attrs.field(init=False)
    pools: list[PoolState] = attrs.field(init=False)
    due: list[Due] = attrs.field(init=False)
    port_free: list[int] = attrs.field(init=False)
    port_busy: list[int] = attrs.field(init=False)
    trace: list[TransferTimes] = attrs.field(factory=list, init=False)
    now: int = attrs.field(default=-1, init=False)
    rolled: WorkerState | None = attrs.field(default=None, init=False)
    in_turn: bool = attrs.field(init=False)
    issue: int = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.pools = make_pool_states(self.spec)
        self.due = [NEVER] * len(self.pools)
        ports = len(DIRECTIONS) if self.spec.memory.split_port else 1
        self.port_free, self.port_busy = [0] * ports, [0] * ports
        self.worker_states = [self._worker_state(worker, runs) for worker, runs in enumerate(self.program.workers)]
        self.in_turn = self.spec.dma.arbitration == "round_robin"
        self.issue = self.spec.dma.issue_ticks

    def _worker_state(self, worker: int, runs: Iterable[BandRun]) -> WorkerState:
        core = worker % self.spec.cores if self.spec.dma.channel_scope == "per_core" else 0
        pools = core * len(DIRECTIONS), core * len(DIRECTIONS) + 1
        return WorkerState(worker, pools, deque(runs), [0] * self.spec.slots)

    def run(self, watch: Callable[[WorkerState, int], None] | None = None) -> None:
        """The whole launch. `watch` is called with a worker that starts another round, and the tick of what is next."""
        for worker_state in self.worker_states[: self.spec.cores]:
            self._begin(worker_state, worker_state.worker * self.spec.launch_stagger_ticks)
        due, pools = self.due, self.pools
        while (best := min(due)) is not NEVER:
            if self.rolled is None or watch is None:
                self._serve(pools[best[4]], best)
            else:
                watch(self.rolled, best[0])
                self.rolled = None

    def find_due(self) -> None:
        """Find again what each pool grants next."""
        find = due_in_turn if self.in_turn else due_oldest
        self.due[:] = [find(pool, self.now) for pool in self.pools]

    def _begin(self, worker_state: WorkerState, tick: int) -> None:
        worker_state.start = tick
        self._step(worker_state)
        self._advance(worker_state, tick)

    def _step(self, worker_state: WorkerState) -> None:
        """The worker state's next band, where its block ends."""
        while worker_state.rounds > 1 or worker_state.runs:
            if worker_state.rounds > 1:
                worker_state.rounds -= 1
                self.rolled = worker_state
            else:
                bands, worker_state.rounds = worker_state.runs.popleft()
                worker_state.block = tuple([self.program.bands[index] for index in bands])
            worker_state.bands, worker_state.first = iter(worker_state.block), worker_state.made
            worker_state.band = next(worker_state.bands, None)
            if worker_state.band is not None:
                return
        worker_state.band, worker_state.rounds = None, 0

    def _advance(self, worker_state: WorkerState, tick: int) -> None:
        """Take the steps of a worker that is free at `tick`, up to one whose end is not known yet."""
        stalls = worker_state.stalls
        while (band := worker_state.band) is not None:
            groups = band[0]
            if worker_state.group < len(groups):
                costs = groups[worker_state.group]
                worker_state.group += 1
                spent = self.issue * len(costs)
                stalls[ISSUE] += spent
                self._request(worker_state, 0, tick + spent, costs)
                return
            drained = worker_state.drained
            slot = worker_state.made % len(drained)
            if worker_state.held != ORDER:
                free = drained[slot]
                if free == UNKNOWN:
                    worker_state.held, worker_state.since = SLOT, tick
                    return
                if free > tick:
                    stalls[SLOT] += free - tick
                    tick = free
                compute = band[1]
                stalls[COMPUTE] += compute
                tick += compute
            if band[2]:
                if worker_state.unknown:
                    worker_state.held, worker_state.since = ORDER, tick
                    return
                if worker_state.last > tick:
                    stalls[ORDER] += worker_state.last - tick
                    tick = worker_state.last
                worker_state.held = UNKNOWN
            spent = self.issue * band[4]
            stalls[ISSUE] += spent
            tick += spent
            drained[slot] = UNKNOWN
            worker_state.unknown += 1
            self._request(worker_state, 1, tick, band[3])
            worker_state.made += 1
            worker_state.group = 0
            worker_state.band = following = next(worker_state.bands, None)
            if following is None:
                self._step(worker_state)
        self._end(worker_state, tick)

    def _end(self, worker_state: WorkerState, tick: int) -> None:
        """The last wait; then the core's next worker."""
        if worker_state.unknown:
            worker_state.held, worker_state.since = END, tick
            return
        worker_state.finish = max(tick, worker_state.last)
        worker_state.stalls[END] += worker_state.finish - tick
        following = worker_state.worker + self.spec.cores
        if following < len(self.worker_states):
            self._begin(self.worker_states[following], worker_state.finish + self.spec.relaunch_ticks)

    def _request(self, worker_state: WorkerState, kind: int, arrival: int, costs: tuple[Cost, ...]) -> None:
        pool = self.pools[worker_state.pools[kind]]
        request = [arrival, worker_state.worker, worker_state.seq, costs, 0, 0, worker_state]
        worker_state.seq += len(costs)
        if self.in_turn:
            pool.queues.setdefault(worker_state.worker, deque()).append(request)
            self.due[pool.number] = due_in_turn(pool, self.now)
        else:
            requests = pool.requests
            heappush(requests, request)
            if requests[0] is request:
                self.due[pool.number] = due_oldest(pool, self.now)

    def _serve(self, pool: PoolState, best: Due) -> None:
        """Grant transfers of the request whose turn it is, one by one, while none of another request comes before."""
        now, _, worker, _, number = best
        request = pool.queues[worker][0] if self.in_turn else pool.requests[0]
        arrival, worker, seq, costs, index, latest, worker_state = request
        due = self.due
        due[number] = NEVER
        limit = due[1 - number] if len(due) == 2 else min(due)
        stop = index + 1 if self.in_turn else len(costs)
        idle_at, in_flight, allowed, latency = pool.idle_at, pool.in_flight, pool.credits, pool.latency
        port_free = self.port_free[pool.port]
        trace = self.trace if self.tracing else None
        first, first_seq, peak = index, seq - index, pool.peak
        port_ticks = sum_grants = sum_ends = sum_running_ends = 0
        while True:
            s, m, c = costs[index]
            start = now + s
            if start < port_free:
                start = port_free
            port_free = start + m
            port_ticks += m
            end = start + c
            heapreplace(idle_at, end)  # the channel that is idle for longest: which one it is, no tick depends on
            if in_flight and in_flight[0] <= now:
                heapreplace(in_flight, end + latency)
                while in_flight[0] <= now:
                    heappop(in_flight)
            else:
                heappush(in_flight, end + latency)
            outstanding = len(in_flight)
            if outstanding > peak:
                peak = outstanding
            sum_grants += now
            sum_ends += end
            sum_running_ends += sum_ends
            if end > latest:
                latest = end
            if trace is not None:
                trace.append(TransferTimes(worker, first_seq + index, arrival, number, now, start, end, end + latency))
            index += 1
            if index == stop:
                break
            tick = idle_at[0]
            if outstanding >= allowed and in_flight[0] > tick:
                tick = in_flight[0]
            if tick > now:
                if tick >= limit[0] and (tick, arrival, worker, first_seq + index, number) > limit:
                    break
                now = tick
            elif now == limit[0] and (now, arrival, worker, first_seq + index, number) > limit:
                break
        self.port_free[pool.port] = port_free
        self.port_busy[pool.port] += port_ticks
        pool.peak = peak
        sums = worker_state.sums[pool.kind]
        sums.transfers += index - first
        sums.grants += sum_grants
        sums.ends += sum_ends
        sums.weighted += (sums.transfers + 1) * sum_ends - sum_running_ends
        self.now = now
        request[2], request[4], request[5] = first_seq + index, index, latest
        if self.in_turn:
            pool.pointer = worker + 1
        if index == len(costs):
            leave(pool, worker)
            self._granted(pool, worker_state, arrival, latest + latency)
        if self.in_turn:
            due[number] = due_in_turn(pool, now)
        else:
            due[number] = due_oldest(pool, now)

    def _granted(self, pool: PoolState, worker_state: WorkerState, arrival: int, done: int) -> None:
        """A whole request is granted, so its end is known: its worker may go on from there."""
        if pool.kind == 0:
            worker_state.stalls[GATHER] += done - arrival
            self._advance(worker_state, done)
            return
        drained = worker_state.drained
        drained[(worker_state.made - worker_state.unknown) % len(drained)] = done
        worker_state.unknown -= 1
        if done > worker_state.last:
            worker_state.last = done
        held = worker_state.held
        if held == UNKNOWN or (held != SLOT and worker_state.unknown):
            return
        if held == SLOT:
            if drained[worker_state.made % len(drained)] == UNKNOWN:
                return
            worker_state.held = UNKNOWN
        self._advance(worker_state, worker_state.since)
