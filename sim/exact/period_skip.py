"""Period skipping: count whole periods of a launch whose state repeats, without walking them, and exactly.

## Why it is exact

The recurrence is a function of its state, with all ticks taken relative to now: where each worker is in its block of
bands and what it waits for, the requests, when channels, credits and ports are free again, whose turn it is. Nothing
else decides anything: no data, no absolute tick, no sum. So if the state at tick t + period equals the state at t, all
decisions between come again, later by one period, as long as the program gives every worker the same bands again. A
worker is in a *run*, a block of bands that it goes through `rounds` more times; while every worker stays in the run it
was in, and none enters its last round, the bands are the same. The last round is walked, because what follows it is
another run, or the end.

What is counted needs no walking either. With k = 1 ... `times` for the periods that are skipped, the n transfers of a
period have in the k-th an index i larger by k n, and G and E larger by k period. Hence

    sum G    grows by  times * (what one period added)  +  n * period * (1 + ... + times)
    sum E    the same
    sum i*E  grows by  times * (what one period added)  +  (1 + ... + times) * (period * sum i  +  n * sum E)
                       +  (1 + 4 + 9 + ...) * n * n * period

Stalls, port ticks and numbers of transfers grow by what one period added, and a peak stays: all that was in flight
together in the skipped periods was so in the one that was seen.

## What belongs to the state

- Of a worker that has begun and not ended: the runs that are left, its band in the block, its group and slot, what it
  is held by and since when, `unknown`, `last`, and each slot's C.
- Of a pool: when channels are idle and credits back, the pointer, and of each request its arrival, what is granted of
  it with the latest E, its costs, and its sequence counted back from its worker's next one.
- Of a port: when it is free.

A tick that is past decides nothing more, whichever it was, wherever it is compared with max: hence the zeros. Workers
that wait for their core, or have ended, are in the state as such alone. Sums, absolute ticks and numbers of transfers
are not in it.

## When it looks

Each time the *leader*, one worker, starts another round: a period has a whole number of its rounds. States are compared
as Brent's cycle detection does: with one that is kept, replaced after 1, 2, 4, 8 ... looks. So any period is found
within a few times its length, whenever it sets in, and one state is stored. A leader that comes to its last round hands
over to the next that starts a round; one that was looked at MOST_LOOKS times without success is left alone.

After a jump the heaps are still heaps, since all of their entries moved by the same; what is due is found again.
"""

from typing import Any

import attrs

from tessbed.sim.exact.pool_state import PoolState
from tessbed.sim.exact.program import CountResult, LaunchProgram
from tessbed.sim.exact.recurrence import END, UNKNOWN, Recurrence, WorkerState
from tessbed.sim.spec.device_spec import DIRECTIONS, DeviceSpec

MOST_LOOKS = 2000
"""A leader that was looked at so often without success is left alone: its launch does not repeat soon."""


def count_in_python(
    spec: DeviceSpec, program: LaunchProgram, *, tracing: bool = False, skips: bool = True
) -> CountResult:
    """All that is counted of a launch; with `skips`, periods are jumped, unless a trace is asked for."""
    launch = Recurrence(spec, program, tracing)
    skipper = PeriodSkipper(launch)
    launch.run(skipper.watch if skips and not tracing else None)
    return CountResult(
        tallies=tuple(worker_state.tally for worker_state in launch.worker_states),
        peaks=tuple(pool.peak for pool in launch.pools),
        port_busy=tuple(launch.port_busy),
        times=tuple(launch.trace),
        jumped=skipper.jumped,
    )


@attrs.define(eq=False)
class Snapshot:
    """A state, and what had been counted by then."""

    now: int
    state: Any
    rounds: list[int]
    made: list[int]
    seqs: list[int]
    stalls: list[list[int]]
    sums: list[tuple[int, int, int, int]]
    port_busy: list[int]


@attrs.define(eq=False)
class PeriodSkipper:
    """Watches one launch. `jumped` counts the periods that were not walked."""

    launch: Recurrence
    leader: WorkerState | None = None
    kept: Snapshot | None = None
    looks: int = 0
    jumped: int = 0

    def watch(self, worker_state: WorkerState, now: int) -> None:
        """Look at the launch where `worker state` starts another round; `now` is the tick of the next decision."""
        if self._leads(worker_state) and self.looks < MOST_LOOKS:
            self._look(now)

    def _leads(self, worker_state: WorkerState) -> bool:
        if self.leader is None or self.leader.rounds <= 1:
            self.leader, self.kept, self.looks = worker_state, None, 0
        return worker_state is self.leader

    def _look(self, now: int) -> None:
        state = _state(self.launch, now)
        self.looks += 1
        if self.kept is not None and state == self.kept.state:
            self._jump(self.kept, now)
            self.kept = None
        elif self.looks.bit_count() == 1:
            self.kept = _keep(self.launch, now, state)

    def _jump(self, then: Snapshot, now: int) -> None:
        """Count as many periods as every worker has whole rounds for, its last one not among them."""
        launch = self.launch
        worker_states, period = launch.worker_states, now - then.now
        spent = [before - worker_state.rounds for worker_state, before in zip(worker_states, then.rounds, strict=True)]
        times = min((w.rounds - 1) // rounds for w, rounds in zip(worker_states, spent, strict=True) if rounds)
        ahead = times * period
        _repeat_sums(launch, then, times, period)
        for port, before in enumerate(then.port_busy):
            launch.port_free[port] += ahead
            launch.port_busy[port] += times * (launch.port_busy[port] - before)
        seqs = [
            times * (worker_state.seq - before) for worker_state, before in zip(worker_states, then.seqs, strict=True)
        ]
        for pool in launch.pools:
            _shift_pool(pool, ahead, seqs)
        for worker_state, rounds, made, seq in zip(worker_states, spent, then.made, seqs, strict=True):
            if _moves(worker_state):
                _shift_worker(worker_state, ahead, times * rounds, times * (worker_state.made - made), seq)
        launch.now += ahead
        launch.find_due()
        self.jumped += times


def _moves(worker_state: WorkerState) -> bool:
    """Whether the worker has begun and not ended."""
    return worker_state.band is not None or (worker_state.held == END and worker_state.finish == UNKNOWN)


def _state(launch: Recurrence, now: int) -> Any:
    """All that decides what comes next, ticks relative to `now`; what was free before `now` is free at 0."""
    return (
        [
            _snapshot_worker(worker_state, now) if _moves(worker_state) else None
            for worker_state in launch.worker_states
        ],
        [_snapshot_pool(pool, now) for pool in launch.pools],
        [max(0, tick - now) for tick in launch.port_free],
    )


def _snapshot_worker(worker_state: WorkerState, now: int) -> Any:
    slot = worker_state.made % len(worker_state.drained)
    waits = (
        worker_state.held,
        worker_state.since - now if worker_state.held != UNKNOWN else 0,
        worker_state.unknown,
        worker_state.last - now,
    )
    drained = [None if tick == UNKNOWN else tick - now for tick in worker_state.drained]
    return len(worker_state.runs), worker_state.made - worker_state.first, worker_state.group, slot, waits, drained


def _snapshot_pool(pool: PoolState, now: int) -> Any:
    waiting = [*pool.requests, *(request for queue in pool.queues.values() for request in queue)]
    requests = [
        (arrival - now, worker, worker_state.seq - seq, costs, granted, latest - now if granted else 0)
        for arrival, worker, seq, costs, granted, latest, worker_state in sorted(
            waiting, key=lambda request: request[:3]
        )
    ]
    idle = sorted([max(0, tick - now) for tick in pool.idle_at])
    return requests, idle, sorted([tick - now for tick in pool.in_flight if tick > now]), pool.pointer


def _keep(launch: Recurrence, now: int, state: Any) -> Snapshot:
    worker_states = launch.worker_states
    return Snapshot(
        now=now,
        state=state,
        rounds=[worker_state.rounds for worker_state in worker_states],
        made=[worker_state.made for worker_state in worker_states],
        seqs=[worker_state.seq for worker_state in worker_states],
        stalls=[worker_state.stalls.copy() for worker_state in worker_states],
        sums=[(s.transfers, s.grants, s.ends, s.weighted) for worker_state in worker_states for s in worker_state.sums],
        port_busy=launch.port_busy.copy(),
    )


def _repeat_sums(launch: Recurrence, then: Snapshot, times: int, period: int) -> None:
    """Add what `times` more periods add. In the k-th, i and E of each transfer are larger by k * n and k * period."""
    once = times * (times + 1) // 2
    squares = once * (2 * times + 1) // 3
    for worker_state, stalls in zip(launch.worker_states, then.stalls, strict=True):
        worker_state.stalls[:] = [
            now + times * (now - before) for now, before in zip(worker_state.stalls, stalls, strict=True)
        ]
    for number, (transfers, grants, ends, weighted) in enumerate(then.sums):
        sums = launch.worker_states[number // len(DIRECTIONS)].sums[number % len(DIRECTIONS)]
        n, ends_once = sums.transfers - transfers, sums.ends - ends
        indices = n * transfers + n * (n + 1) // 2
        sums.weighted += times * (sums.weighted - weighted) + once * (period * indices + n * ends_once)
        sums.weighted += squares * n * n * period
        sums.grants += times * (sums.grants - grants) + once * n * period
        sums.ends += times * ends_once + once * n * period
        sums.transfers += times * n


def _shift_pool(pool: PoolState, ahead: int, seqs: list[int]) -> None:
    """An equal shift leaves heaps in order."""
    pool.idle_at[:] = [tick + ahead for tick in pool.idle_at]
    pool.in_flight[:] = [tick + ahead for tick in pool.in_flight]
    for request in [*pool.requests, *(request for queue in pool.queues.values() for request in queue)]:
        request[0] += ahead
        request[2] += seqs[request[1]]
        request[5] += ahead


def _shift_worker(worker_state: WorkerState, ahead: int, rounds: int, made: int, seq: int) -> None:
    worker_state.rounds -= rounds
    worker_state.made += made
    worker_state.first += made
    worker_state.seq += seq
    worker_state.since += ahead
    worker_state.last += ahead
    worker_state.drained[:] = [tick if tick == UNKNOWN else tick + ahead for tick in worker_state.drained]
