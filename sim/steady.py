"""Steady: jump over whole periods of a launch whose state repeats, exactly.

What comes next depends on the state alone, with all ticks taken relative to now: where each worker stands in its block
of bands, what it waits for, what is requested, when channels, credits and ports are free again. Where a state comes
back while every worker is still in the run that it was in, everything between the two times comes again as well, later
by the same number of ticks, until the first worker comes to the last round of its run. So all of that is counted at
once: sums of ticks have closed forms, and a peak stays what it was.

States are compared as Brent does: with one that is kept, replaced after 1, 2, 4, 8 ... looks. A look is taken where one
worker, the leader, starts a round.
"""

from typing import Any

import attrs

from tessbed.sim.line import Line
from tessbed.sim.pool import KINDS
from tessbed.sim.recurrence import END, UNKNOWN, Recurrence, Walker
from tessbed.sim.spec import DeviceSpec
from tessbed.sim.timing import Counted, Program

MOST_LOOKS = 2000
"""A leader that was looked at so often without success is left alone: its launch does not repeat soon."""


def count(spec: DeviceSpec, program: Program, *, tracing: bool = False, skips: bool = True) -> Counted:
    """All that is counted of a launch; with `skips`, periods are jumped, unless every moment is asked for."""
    launch = Recurrence(spec, program, tracing)
    steady = Steady(launch)
    launch.run(steady.watch if skips and not tracing else None)
    return Counted(
        tallies=tuple(walker.tally for walker in launch.walkers),
        peaks=tuple(line.peak for line in launch.lines),
        port_busy=tuple(launch.port_busy),
        moments=tuple(launch.trace),
        jumped=steady.jumped,
    )


@attrs.define(eq=False)
class Kept:
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
class Steady:
    """Watches one launch. `jumped` counts the periods that were not walked."""

    launch: Recurrence
    leader: Walker | None = None
    kept: Kept | None = None
    looks: int = 0
    jumped: int = 0

    def watch(self, walker: Walker, now: int) -> None:
        """Look at the launch where `walker` starts another round; `now` is the tick of the next decision."""
        if self._leads(walker) and self.looks < MOST_LOOKS:
            self._look(now)

    def _leads(self, walker: Walker) -> bool:
        if self.leader is None or self.leader.rounds <= 1:
            self.leader, self.kept, self.looks = walker, None, 0
        return walker is self.leader

    def _look(self, now: int) -> None:
        state = _state(self.launch, now)
        self.looks += 1
        if self.kept is not None and state == self.kept.state:
            self._jump(self.kept, now)
            self.kept = None
        elif self.looks.bit_count() == 1:
            self.kept = _keep(self.launch, now, state)

    def _jump(self, then: Kept, now: int) -> None:
        """Count as many periods as every worker has whole rounds for, its last one not among them."""
        launch = self.launch
        walkers, period = launch.walkers, now - then.now
        spent = [before - walker.rounds for walker, before in zip(walkers, then.rounds, strict=True)]
        times = min((w.rounds - 1) // rounds for w, rounds in zip(walkers, spent, strict=True) if rounds)
        ahead = times * period
        _repeat_sums(launch, then, times, period)
        for port, before in enumerate(then.port_busy):
            launch.port_free[port] += ahead
            launch.port_busy[port] += times * (launch.port_busy[port] - before)
        seqs = [times * (walker.seq - before) for walker, before in zip(walkers, then.seqs, strict=True)]
        for line in launch.lines:
            _shift_line(line, ahead, seqs)
        for walker, rounds, made, seq in zip(walkers, spent, then.made, seqs, strict=True):
            if _moves(walker):
                _shift_walker(walker, ahead, times * rounds, times * (walker.made - made), seq)
        launch.now += ahead
        launch.find_due()
        self.jumped += times


def _moves(walker: Walker) -> bool:
    """Whether the worker has begun and not ended."""
    return walker.band is not None or (walker.held == END and walker.finish == UNKNOWN)


def _state(launch: Recurrence, now: int) -> Any:
    """All that decides what comes next, ticks relative to `now`; what was free before `now` is free at 0."""
    return (
        [_walker_state(walker, now) if _moves(walker) else None for walker in launch.walkers],
        [_line_state(line, now) for line in launch.lines],
        [max(0, tick - now) for tick in launch.port_free],
    )


def _walker_state(walker: Walker, now: int) -> Any:
    slot = walker.made % len(walker.drained)
    waits = walker.held, walker.since - now if walker.held != UNKNOWN else 0, walker.unknown, walker.last - now
    drained = [None if tick == UNKNOWN else tick - now for tick in walker.drained]
    return len(walker.runs), walker.made - walker.first, walker.group, slot, waits, drained


def _line_state(line: Line, now: int) -> Any:
    waiting = [*line.requests, *(request for queue in line.queues.values() for request in queue)]
    requests = [
        (arrival - now, worker, walker.seq - seq, costs, granted, latest - now if granted else 0)
        for arrival, worker, seq, costs, granted, latest, walker in sorted(waiting, key=lambda request: request[:3])
    ]
    idle = sorted([max(0, tick - now) for tick in line.idle_at])
    return requests, idle, sorted([tick - now for tick in line.flying if tick > now]), line.pointer


def _keep(launch: Recurrence, now: int, state: Any) -> Kept:
    walkers = launch.walkers
    return Kept(
        now=now,
        state=state,
        rounds=[walker.rounds for walker in walkers],
        made=[walker.made for walker in walkers],
        seqs=[walker.seq for walker in walkers],
        stalls=[walker.stalls.copy() for walker in walkers],
        sums=[(s.transfers, s.grants, s.ends, s.weighted) for walker in walkers for s in walker.sums],
        port_busy=launch.port_busy.copy(),
    )


def _repeat_sums(launch: Recurrence, then: Kept, times: int, period: int) -> None:
    """Add what `times` more periods add. In the k-th, i and E of each transfer are larger by k * n and k * period."""
    once = times * (times + 1) // 2
    squares = once * (2 * times + 1) // 3
    for walker, stalls in zip(launch.walkers, then.stalls, strict=True):
        walker.stalls[:] = [now + times * (now - before) for now, before in zip(walker.stalls, stalls, strict=True)]
    for number, (transfers, grants, ends, weighted) in enumerate(then.sums):
        sums = launch.walkers[number // len(KINDS)].sums[number % len(KINDS)]
        n, ends_once = sums.transfers - transfers, sums.ends - ends
        indices = n * transfers + n * (n + 1) // 2
        sums.weighted += times * (sums.weighted - weighted) + once * (period * indices + n * ends_once)
        sums.weighted += squares * n * n * period
        sums.grants += times * (sums.grants - grants) + once * n * period
        sums.ends += times * ends_once + once * n * period
        sums.transfers += times * n


def _shift_line(line: Line, ahead: int, seqs: list[int]) -> None:
    """An equal shift leaves heaps in order."""
    line.idle_at[:] = [tick + ahead for tick in line.idle_at]
    line.flying[:] = [tick + ahead for tick in line.flying]
    for request in [*line.requests, *(request for queue in line.queues.values() for request in queue)]:
        request[0] += ahead
        request[2] += seqs[request[1]]
        request[5] += ahead


def _shift_walker(walker: Walker, ahead: int, rounds: int, made: int, seq: int) -> None:
    walker.rounds -= rounds
    walker.made += made
    walker.first += made
    walker.seq += seq
    walker.since += ahead
    walker.last += ahead
    walker.drained[:] = [tick if tick == UNKNOWN else tick + ahead for tick in walker.drained]
