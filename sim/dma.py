"""The DMA engine: pools of channels, credits, memory ports, and arbitration at the end of the tick.

Rules (docs/simulation.md tells them at length):
- A request arrives with the key (arrival, worker, sequence). Everything of one tick arrives before any grant.
- At the end of a tick, while a pool has a request, an idle channel and a credit: of the heads of such pools, the
  one with the smallest key is granted, on the lowest idle channel.
- Data starts at P = max(port free, G + s) and the port is reserved until P + m, in grant order. Data ends at
  E = P + c, when the channel is idle again. The worker sees it at C = E + l, when the credit is back.
- c >= 1, so a grant can cause nothing in its own tick. That is what makes a recurrence over the same rules exact.

A transfer that faults keeps its ticks; it moves nothing from the faulting descriptor on.

Three occasions of the clock serve a transfer: its completion at C, the tick at whose end it is granted, and for partial
granules the ends of their segments. All stand in SimPy's queue; no process waits for any of them. Where that queue has
nothing up to the tick of the next grant, the arbiter goes on to that tick at once: it would find the same then.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from simpy import Environment

from tessbed.sim import clock
from tessbed.sim.clock import Alarm, Calls
from tessbed.sim.errors import DeviceFault, HazardError, MemoryFault
from tessbed.sim.flight import AT_ARRIVAL, Flight, between, early, record_of
from tessbed.sim.lane import Lane, Port
from tessbed.sim.memory import DeviceMemory
from tessbed.sim.movement import Movement, connect, locate, perform
from tessbed.sim.pool import FOREVER, KINDS, Pool, make_pools
from tessbed.sim.spec import DeviceSpec
from tessbed.sim.stats import TransferRecord
from tessbed.sim.transfer import CostTable, Descriptor, Fold, cost_table

Notify = Callable[[Flight], None]


@attrs.define(eq=False)
class Dma:
    """The engine of one job, from its launch at tick `origin` on; all ticks inside are absolute.

    `inject` maps (worker, sequence) to "dma_error" (the transfer faults), "stall" (it never ends)
    or "worker_died" (the worker dies as it asks for it). Without `moves` no byte moves and every tick stays.
    """

    env: Environment
    spec: DeviceSpec
    memory: DeviceMemory
    seed: int
    origin: int
    inject: Mapping[tuple[int, int], str]
    tracing: bool
    moves: bool = True
    costs: CostTable = attrs.field(init=False)
    pools: list[Pool] = attrs.field(init=False)
    ports: list[Port] = attrs.field(init=False)
    lanes: dict[tuple[int, str], Lane] = attrs.field(factory=dict, init=False)
    trace: list[TransferRecord] = attrs.field(factory=list, init=False)
    stalled: list[Flight] = attrs.field(factory=list, init=False)
    _first: Pool = attrs.field(init=False)
    _others: list[Pool] = attrs.field(init=False)
    _plain: bool = attrs.field(init=False)
    _due: set[int] = attrs.field(factory=set, init=False)
    _halted: bool = attrs.field(default=False, init=False)
    _on_arbitration: Calls = attrs.field(init=False)
    _on_done: Calls = attrs.field(init=False)
    _on_segment_start: Calls = attrs.field(init=False)
    _on_segment_end: Calls = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.costs = cost_table(self.spec)
        self.pools = make_pools(self.spec)
        self._first, *self._others = self.pools
        self.ports = [Port(name) for name in (KINDS if self.spec.memory.split_port else ("memory",))]
        self._plain = not self.inject and (not self.moves or self.spec.data_movement == "at_completion")
        self._on_arbitration, self._on_done = (self._arbitrate,), (self._complete,)
        self._on_segment_start, self._on_segment_end = (self._segment_starts,), (self._segment_ends,)

    def lane(self, worker: int, kind: str, scratch: np.ndarray, flying: dict[int, Flight], notify: Notify) -> Lane:
        """The lane of a worker's transfers of one kind; `flying` is kept up to date, `notify` called at each C."""
        core = worker % self.spec.cores if self.spec.dma.channel_scope == "per_core" else 0
        direction = KINDS.index(kind)
        pool, port = self.pools[core * len(KINDS) + direction], self.ports[direction % len(self.ports)]
        memory = self.spec.memory
        latency = memory.read_latency_ticks if kind == "read" else memory.write_latency_ticks
        lane = Lane(worker, kind, pool, port, scratch, flying, notify, latency, self.origin, self.moves)
        self.lanes[worker, kind] = lane
        return lane

    def read(self, lane: Lane, seq: int, descriptors: Sequence[Descriptor], *, last: bool = False) -> None:
        """Request gather reads, numbered from `seq` on; raises DeviceFault when the worker dies of one.

        `last` says that the caller does nothing more in this tick.
        """
        if self._halted:
            return
        tick, cost, group = clock.now(self.env), self.costs.read, []
        try:
            for descriptor in descriptors:
                group.append(self._request(lane, seq, tick, cost(descriptor), (descriptor,)))
                seq += 1
        finally:
            if group:
                lane.pool.arrivals.append(group)
                if last and self._plain and clock.comes_next(self.env, clock.ARBITRATION):
                    self._arbitrate(None)
                else:
                    self._arbitrate_at(tick)

    def write(self, lane: Lane, seq: int, chain: tuple[Descriptor, ...]) -> None:
        """Request a drain chain; raises DeviceFault when the worker dies of it."""
        tick, costs = clock.now(self.env), self.costs
        fold = costs.drain(chain[0]) if len(chain) == 1 else costs.chain(chain)
        lane.pool.arrivals.append((self._request(lane, seq, tick, fold, chain),))
        self._arbitrate_at(tick)

    def waiting(self) -> list[Flight]:
        """Requests without a grant, by pool, then those that stalled."""
        return [flight for pool in self.pools for flight in pool.waiting()] + self.stalled

    def book(self) -> None:
        """Bring every lane's account up to date."""
        for lane in self.lanes.values():
            lane.book()

    def halt(self) -> None:
        """Stop for good: no further effect of any transfer."""
        self._halted = True

    def _request(self, lane: Lane, seq: int, tick: int, fold: Fold, descriptors: tuple[Descriptor, ...]) -> Flight:
        plain = self._plain and not fold.partial_granules
        if not plain and self.inject.get((lane.worker, seq)) == "worker_died":
            raise DeviceFault("worker_died", lane.worker)
        lane.requests += 1
        flight = lane.flying[seq] = Flight(lane, seq, lane.requests, tick, fold, descriptors)
        find = connect if plain and self.moves else locate
        try:
            for descriptor in descriptors:
                flight.places.append(find(self.memory, descriptor, lane.scratch, lane.write))
        except MemoryFault as fault:
            flight.fault = DeviceFault(fault.code, fault.address)
        if not plain:
            self._prepare(flight)
        return flight

    def _prepare(self, flight: Flight) -> None:
        """What is special about a transfer: an injected fault, or data that moves in several steps."""
        lane, segments = flight.lane, flight.fold.segments
        if self.inject.get((lane.worker, flight.seq)) == "dma_error":
            flight.places, flight.fault = [], DeviceFault("dma_error", flight.descriptors[0].address)
        if self.moves:
            moments = early(self.spec.data_movement, self.seed, lane.worker, flight.seq)
            partial = [segment.partial_granules > 0 for segment in segments[: len(flight.places)]]
            granule = self.spec.write_granule_bytes
            flight.movement = Movement(
                lane.kind, flight.descriptors, flight.places, lane.scratch, granule, partial, moments
            )
            _depart(flight.movement, flight.arrival)

    def _arbitrate_at(self, tick: int) -> None:
        """Arbitrate at the end of `tick`, once."""
        if tick not in self._due:
            self._due.add(tick)
            clock.post(self.env, tick, clock.ARBITRATION, Alarm(self._on_arbitration))

    def _arbitrate(self, _: Any) -> None:
        """Grant by the smallest key of the pools that can, until the first tick that has to be waited for."""
        if self._halted:
            return
        tick = clock.now(self.env)
        self._due.discard(tick)
        for pool in self.pools:
            if pool.arrivals:
                pool.admit()
        while True:
            best = self._first
            for pool in self._others:
                if pool.ready_at > tick:
                    if pool.ready_at < best.ready_at:
                        best = pool
                elif best.ready_at > tick or pool.head.key < best.head.key:
                    best = pool
            ready_at = best.ready_at
            if ready_at <= tick:
                self._grant(best, tick)
            elif ready_at < clock.next_tick(self.env):
                tick = ready_at
            else:
                break
        if ready_at < FOREVER:
            self._arbitrate_at(ready_at)

    def _grant(self, pool: Pool, tick: int) -> None:
        flight: Flight = pool.head
        fold, port = flight.fold, flight.lane.port
        flight.grant = tick
        flight.start = start = max(port.free, tick + fold.s)
        flight.end = end = start + fold.c
        flight.done = done = end + fold.l
        if self.inject and self.inject.get((flight.worker, flight.seq)) == "stall":
            flight.channel = pool.take(tick, FOREVER)
            self.stalled.append(flight)
            return
        flight.channel = pool.take(tick, end)
        port.free = start + fold.m
        if flight.movement is None:
            flight.callbacks = self._on_done
            clock.post(self.env, done, clock.EFFECT, flight)
        else:
            self._schedule(flight, flight.movement)

    def _schedule(self, flight: Flight, movement: Movement) -> None:
        """Put the moments between grant and completion on the clock."""
        if movement.moments is None:
            sample_at, deliver_at = between(self.seed, flight)
            clock.post(self.env, sample_at, clock.EFFECT, Alarm((lambda _: self._move(movement.sample),)))
            clock.post(self.env, deliver_at, clock.EFFECT, Alarm((lambda _: self._move(movement.deliver),)))
        self._next_segment(flight, movement, flight.start)

    def _move(self, step: Callable[[int], None]) -> None:
        if not self._halted:
            step(clock.now(self.env))

    def _next_segment(self, flight: Flight, movement: Movement, start: int) -> None:
        """Go to the start of the first segment from here on that has partial granules, or to completion."""
        segments, partial = flight.fold.segments, movement.partial
        while movement.segment < len(partial) and not partial[movement.segment]:
            start += segments[movement.segment].data_ticks
            movement.segment += 1
        if movement.segment == len(partial):
            flight.callbacks = self._on_done
            clock.post(self.env, flight.done, clock.EFFECT, flight)
        elif start == clock.now(self.env):
            self._segment_starts(flight)
        else:
            flight.callbacks = self._on_segment_start
            clock.post(self.env, start, clock.EFFECT, flight)

    def _segment_starts(self, flight: Flight) -> None:
        movement = flight.movement
        if movement is None or self._halted:
            return
        movement.read_background()
        data_ticks = flight.fold.segments[movement.segment].data_ticks
        flight.callbacks = self._on_segment_end
        clock.post(self.env, clock.now(self.env) + data_ticks, clock.EFFECT, flight)

    def _segment_ends(self, flight: Flight) -> None:
        movement = flight.movement
        if movement is None or self._halted:
            return
        movement.write_partial()
        movement.segment += 1
        self._next_segment(flight, movement, clock.now(self.env))

    def _complete(self, flight: Flight) -> None:
        if self._halted:
            return
        lane, pool, movement = flight.lane, flight.lane.pool, flight.movement
        if movement is not None:
            if movement.delivered_at < 0:
                movement.deliver(flight.done)
            _check_moments(flight, movement)
            lane.traffic.moved_bytes += movement.moved_bytes
        elif self.moves:
            lane.traffic.moved_bytes += perform(flight.places)
        if pool.in_flight == pool.credits and pool.head is not None:
            pool.ready_at = min(pool.free_at)
            self._arbitrate_at(flight.done)
        pool.in_flight -= 1
        if self.tracing:
            self.trace.append(record_of(flight, self.origin))
        lane.land(flight)


def _depart(movement: Movement, tick: int) -> None:
    """Take the data moments that fall on the arrival."""
    moments = movement.moments
    if moments and moments[0] == AT_ARRIVAL:
        movement.sample(tick)
    if moments and moments[1] == AT_ARRIVAL:
        movement.deliver(tick)


def _check_moments(flight: Flight, movement: Movement) -> None:
    """No data before its cause, and none after the completion."""
    if not flight.arrival <= movement.sampled_at <= movement.delivered_at <= flight.done:
        moments = (flight.arrival, movement.sampled_at, movement.delivered_at, flight.done)
        raise HazardError(f"transfer {flight.key}: its data moves at {moments}")
