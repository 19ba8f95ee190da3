"""The arbiter grants, at the end of a tick, the requests that wait in the pools, one by one, by the rules in `engine`.

## The rule, and what is done instead of waiting for it

A pool's head can be granted at `ready_at`: it has arrived, a channel is idle, a credit is there. At the end of each
tick, of the pools that are ready the one whose head has the smallest key is served, until none is. A grant decides P, E
and C at once, and with them when the channel and the credit are back. So neither needs an event of its own, and the
arbiter is in SimPy's queue for the next `ready_at` alone. It even goes on to that tick at once (`_go_on`), and to the
next, as long as it is certain that it would find the same then.

## Why going on is exact

What the arbiter would find at the end of tick T is what it finds now, unless something in SimPy's queue, at T or
before, makes a request that arrives by T. The *horizon* is the first tick at which anything in the queue could, and a
grant is made ahead only where T is less: at the horizon itself the events of that tick come first. What an entry can
cause:

| entry in the queue | can cause a request at |
|---|---|
| a read batch | its last C + `issue_ticks`, known once all of it is granted; before, never: the worker waits for all |
| a transfer that its worker awaits | C + `issue_ticks`: the worker wakes at C, and issuing takes that long |
| a transfer that nobody awaits | never: its worker waits for others, or will look at it when it wakes anyway |
| an arbitration of this arbiter | never |
| anything else: timers, workers, transfers that move bytes in steps, other people's events | its own tick |

A grant adds its own transfer to the queue, so the horizon only falls while the arbiter goes on; c >= 1, so no grant
causes anything in its own tick. What can be granted at the tick it is, needs no horizon: so it is looked for only where
the arbiter is about to go ahead, or comes to a batch.

Bytes are exact, too. Effects of one tick happen in the order in which they were posted, which is the order of grants,
ahead or not. Only a transfer with a movement posts its later steps as it goes along, which other grants must not
overtake: hence it bounds the horizon by its next event. A request that waits here may be for memory that is unmapped
before its arrival: the engine looks it up again then, and its ticks stay.

## States

| state | `_due` | left by |
|---|---|---|
| idle: no pool has a head | empty | `at_end_of`, when something is requested |
| due: an alarm is in the queue | ticks, the nearest last | `_tick_ends` at that tick, or `look_ahead` before |
| halted | anything | never: a reset has stopped all grants |

Where a nearer tick comes up, the alarm is posted again; the farther one still rings, finds nothing or something, and
does no harm. `look_ahead` goes on from the tick before now: requests of this tick may still come, so of this tick it
grants only what the horizon allows.
"""

from collections.abc import Callable, Mapping
from heapq import heappop, heappush
from typing import Any

import attrs
from simpy import Environment

from tessbed.sim.dma.channel_pool import FOREVER, Pool
from tessbed.sim.dma.grant_memo import Granting, ticks_after
from tessbed.sim.dma.inflight import InFlightTransfer
from tessbed.sim.dma.read_batch import ReadBatch
from tessbed.sim.errors import HazardError
from tessbed.sim.events import event_queue
from tessbed.sim.events.event_queue import Alarm, Calls

UNKNOWN = -1
"""The horizon before it has been asked for: less than any tick, so that a grant leaves it unknown."""


@attrs.define(eq=False)
class Arbiter:
    """Grants for the `pools` of one job. `inject` is the Dma's.

    An in-flight transfer is completed by `on_done`; one with a movement has more events, which `schedule` puts on the
    clock, and returns the tick of the first. `stalled` are those that never end, each reported to `on_stall`; `halted`
    stops all grants for good.
    """

    env: Environment
    pools: list[Pool]
    issue_ticks: int
    inject: Mapping[tuple[int, int], str]
    on_done: Calls
    schedule: Callable[[InFlightTransfer], int]
    on_stall: Callable[[InFlightTransfer], None]
    stalled: list[InFlightTransfer] = attrs.field(factory=list, init=False)
    halted: bool = attrs.field(default=False, init=False)
    _leading: list[Pool] = attrs.field(init=False)
    _taking_turns: list[Pool] = attrs.field(init=False)
    _due: list[int] = attrs.field(factory=list, init=False)
    _on_arbitration: Calls = attrs.field(init=False)
    _alarm: Alarm = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._leading = self.pools[0].leading
        self._taking_turns = [pool for pool in self.pools if pool.arbitration != "fifo"]
        self._on_arbitration = (self._tick_ends,)
        self._alarm = Alarm(self._on_arbitration)

    def at_end_of(self, tick: int) -> None:
        """Arbitrate at the end of `tick`, or before."""
        due = self._due
        if not due or tick < due[-1]:
            due.append(tick)
            event_queue.post(self.env, tick, event_queue.ARBITRATION, self._alarm)

    def look_ahead(self) -> None:
        """Requests have come and more may come in this tick, though not of the caller: grant what is certain.

        Where an alarm rings before anything can be granted, that is time enough: nothing is gained by a grant before.
        """
        due = self._due[-1] if self._due else -1
        for pool in self._leading:
            if pool.ready_at < due or due < 0:
                self._go_on(event_queue.now(self.env) - 1)
                return

    def _tick_ends(self, alarm: Alarm) -> None:
        alarm.callbacks = self._on_arbitration  # it may be in the queue again
        self._due.pop()
        for pool in self._taking_turns:
            if pool.arrivals:
                pool.admit()
        self._go_on(event_queue.now(self.env))

    def _go_on(self, tick: int) -> None:
        """Grant by the smallest key of the pools that can, up to the first tick that has to be waited for."""
        leading, horizon = self._leading, UNKNOWN
        while leading and not self.halted:
            best, others_at = self._best(tick) if len(leading) > 1 else (leading[0], FOREVER)
            ready_at, head = best.ready_at, best.head
            single = type(head) is not ReadBatch
            if horizon == UNKNOWN and (ready_at > tick or not single):
                horizon = event_queue.earliest_cause(self.env, self._causes_at, FOREVER)
            if ready_at > tick:
                if ready_at >= horizon:
                    if ready_at < FOREVER:
                        self.at_end_of(ready_at)
                    return
                tick = ready_at
            if single:
                causes_at = self._grant(best, head, tick)
                if causes_at < horizon:
                    horizon = causes_at
            else:
                horizon, tick = self._grant_group(best, head, tick, horizon, others_at)

    def _best(self, tick: int) -> tuple[Pool, int]:
        """The pool that is served next, and when the next of the others can be."""
        best, *others = self._leading
        best_at, others_at = best.ready_at, FOREVER
        for pool in others:
            ready_at = pool.ready_at
            if ready_at <= tick:
                better = best_at > tick or pool.head.key < best.head.key
            else:
                better = ready_at < best_at or (ready_at == best_at < FOREVER and pool.head.key < best.head.key)
            if better:
                best, best_at, ready_at = pool, ready_at, best_at
            if ready_at < others_at:
                others_at = ready_at
        return best, others_at

    def _causes_at(self, tick: int, event: Any) -> int:
        """When what is in the queue at `tick` can cause a request, or decide an order of effects."""
        kind = type(event)
        if kind is ReadBatch:
            return event.causes_at
        if kind is InFlightTransfer and event.movement is None:
            return event.done + self.issue_ticks if event.seq in event.stream.awaited else FOREVER
        return FOREVER if event.callbacks is self._on_arbitration else tick

    def _grant(self, pool: Pool, inflight: InFlightTransfer, tick: int) -> int:
        """Grant the head of a pool; returns when what that puts into the queue can cause a request."""
        cost, stream = inflight.cost, inflight.stream
        port = stream.port
        inflight.grant = tick
        start = tick + cost.s
        if start < port.free:
            start = port.free
        inflight.start = start
        inflight.end = end = start + cost.c
        inflight.done = done = end + cost.l
        if self.inject and self.inject.get((stream.worker, inflight.seq)) == "stall":
            inflight.done = FOREVER
            inflight.channel = pool.take(tick, FOREVER, FOREVER)
            self.stalled.append(inflight)
            self.on_stall(inflight)
            return FOREVER
        inflight.channel = pool.take(tick, end, done)
        port.free = start + cost.m
        if inflight.movement is not None:
            return self.schedule(inflight)
        inflight.callbacks = self.on_done
        event_queue.post(self.env, done, event_queue.EFFECT, inflight)
        return done + self.issue_ticks if inflight.seq in stream.awaited else FOREVER

    def _grant_group(self, pool: Pool, group: ReadBatch, tick: int, horizon: int, others_at: int) -> tuple[int, int]:
        """Grant what is left of a group from `tick` on, up to the horizon or to what other pools can grant later.

        In one tick nothing comes between its reads. Returns the horizon and the tick of the last grant.
        """
        memo, first = pool.memo, len(group.grants)
        limit = min(horizon, others_at)
        if first or not memo.learns or type(group.transfer_costs) is not tuple:
            tick = self._grant_reads(pool, group, tick, limit)
        else:
            tick = self._grant_by_memo(pool, group, tick, limit)
        if len(group.dones) == group.transfers:
            pool.leave()
        group.granted(first, self.issue_ticks)
        return min(horizon, group.causes_at), tick

    def _grant_by_memo(self, pool: Pool, group: ReadBatch, tick: int, limit: int) -> int:
        """Grant a whole group as it was granted before in the same state, else read by read."""
        costs, memo, port = group.transfer_costs, pool.memo, group.stream.port
        reserved = max(port.free - tick, 0)
        state = id(costs), reserved, ticks_after(tick, pool.free_at), ticks_after(tick, pool.in_flight)
        known = memo.find(state, limit - tick)
        if known is None:
            last = self._grant_reads(pool, group, tick, limit)
            if len(group.dones) == group.transfers:
                memo.learn(state, granting_of(pool, group, tick))
            return last
        if group.arrival > tick:
            raise HazardError(f"transfer {group.key}: an effect precedes its cause")
        group.grants, group.dones = [tick + at for at in known.grants], [tick + at for at in known.dones]
        pool.free_at[:], pool.in_flight[:] = [tick + at for at in known.free_at], [tick + at for at in known.in_flight]
        port.free, pool.ready_at = tick + known.port_free, tick + known.ready_at
        return group.grants[-1]

    def _grant_reads(self, pool: Pool, group: ReadBatch, tick: int, limit: int) -> int:
        """Grant the reads of a group one by one, up to the limit; returns the tick of the last grant."""
        stream, arrival, grants, dones = group.stream, group.arrival, group.grants, group.dones
        port, latency, free_at, in_flight, credit_limit = (
            stream.port,
            stream.latency,
            pool.free_at,
            pool.in_flight,
            pool.credits,
        )
        port_free, peak, first = port.free, pool.peak_in_flight, len(grants)
        idle_at, ready_at = min(free_at), tick
        for cost in group.transfer_costs[first:] if first else group.transfer_costs:
            if ready_at > tick:
                if ready_at >= limit:
                    break
                tick = ready_at
            start = tick + cost.s
            if start < port_free:
                start = port_free
            port_free = start + cost.m
            end = start + cost.c
            done = end + latency
            if not arrival <= tick <= start < end <= done:
                raise HazardError(f"transfer {group.key}: an effect precedes its cause")
            grants.append(tick)
            dones.append(done)
            free_at[free_at.index(idle_at)] = end
            while in_flight and in_flight[0] <= tick:
                heappop(in_flight)
            heappush(in_flight, done)
            if len(in_flight) > peak:
                peak = len(in_flight)
            idle_at = ready_at = min(free_at)
            if len(in_flight) >= credit_limit and in_flight[0] > ready_at:
                ready_at = in_flight[0]
        port.free, pool.peak_in_flight, pool.ready_at = port_free, peak, ready_at
        return tick


def granting_of(pool: Pool, group: ReadBatch, tick: int) -> Granting:
    """What granting all of a group, which was begun at `tick`, has led to."""
    grants, dones = ticks_after(tick, group.grants), ticks_after(tick, group.dones)
    free_at, in_flight = ticks_after(tick, pool.free_at), ticks_after(tick, pool.in_flight)
    port_free, ready_at = group.stream.port.free - tick, pool.ready_at - tick
    return Granting(tuple(group.transfer_costs), grants, dones, free_at, in_flight, port_free, ready_at)
