"""The DMA engine: pools of channels, credits, memory ports, and arbitration at the end of the tick.

Rules (docs/simulation.md tells them at length):
- A request arrives with the key (arrival, worker, sequence). Everything of one tick arrives before any grant.
- At the end of a tick, while a pool has a request, an idle channel and a credit: of the heads of such pools, the
  one with the smallest key is granted, on the lowest idle channel.
- Data starts at P = max(port free, G + s) and the port is reserved until P + m, in grant order. Data ends at
  E = P + c, when the channel is idle again. The worker sees it at C = E + l, when the credit is back.
- c >= 1, so a grant can cause nothing in its own tick. That is what makes a recurrence over the same rules exact.

A transfer that faults keeps its ticks; it moves nothing from the faulting descriptor on.

Three occasions of the clock serve a transfer: its completion at C, the tick at whose end it is granted (see `arbiter`),
and for partial granules the ends of their segments. All stand in SimPy's queue; no process waits for any of them. Reads
that are asked for together share their occasions where they can (see `group`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
from simpy import Environment

from tessbed.sim import clock
from tessbed.sim.arbiter import Arbiter
from tessbed.sim.clock import Alarm, Calls
from tessbed.sim.errors import DeviceFault, HazardError, MemoryFault
from tessbed.sim.flight import AT_ARRIVAL, Flight, between, early, record_of
from tessbed.sim.group import group_of
from tessbed.sim.lane import Lane, Port
from tessbed.sim.memory import DeviceMemory
from tessbed.sim.movement import Movement, connect, fit, locate, perform
from tessbed.sim.pool import KINDS, Pool, make_pools
from tessbed.sim.spec import DeviceSpec
from tessbed.sim.station import Station
from tessbed.sim.stats import TransferRecord
from tessbed.sim.transfer import CostTable, Descriptor, Fold, cost_table


@attrs.define(eq=False)
class Dma:
    """The engine of one job, from its launch at tick `origin` on; all ticks inside are absolute.

    `inject` maps (worker, sequence) to "dma_error" (the transfer faults), "stall" (it never ends)
    or "worker_died" (the worker dies as it asks for it); `on_strike` gets (kind, worker, sequence) of each
    that strikes. Without `moves` no byte moves and every tick stays.

    `ahead` says that a request may be made before its arrival: nothing can happen to it until then. `arbitrate` grants
    what has been requested as soon as it is certain what else there is; its caller waits before it asks for more.
    """

    env: Environment
    spec: DeviceSpec
    memory: DeviceMemory
    seed: int
    origin: int
    inject: Mapping[tuple[int, int], str]
    tracing: bool
    moves: bool = True
    on_strike: Callable[[str, int, int], None] = lambda kind, worker, seq: None
    costs: CostTable = attrs.field(init=False)
    pools: list[Pool] = attrs.field(init=False)
    ports: list[Port] = attrs.field(init=False)
    lanes: dict[tuple[int, str], Lane] = attrs.field(factory=dict, init=False)
    trace: list[TransferRecord] = attrs.field(factory=list, init=False)
    _arbiter: Arbiter = attrs.field(init=False)
    ahead: bool = attrs.field(init=False)
    arbitrate: Callable[[], None] = attrs.field(init=False)
    _plain: bool = attrs.field(init=False)
    _halted: bool = attrs.field(default=False, init=False)
    _on_done: Calls = attrs.field(init=False)
    _on_segment_start: Calls = attrs.field(init=False)
    _on_segment_end: Calls = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.costs = cost_table(self.spec)
        self.pools = make_pools(self.spec)
        self.ports = [Port(name) for name in (KINDS if self.spec.memory.split_port else ("memory",))]
        self._plain = not self.inject and (not self.moves or self.spec.data_movement == "at_completion")
        issue_ticks = self.spec.dma.issue_ticks
        self._on_done = (self._complete,)
        self._arbiter = Arbiter(
            self.env, self.pools, issue_ticks, self.inject, self._on_done, self._schedule, self._stalls
        )
        self.ahead = self._plain and self.spec.dma.arbitration == "fifo"
        self.arbitrate = self._arbiter.look_ahead if self.ahead else self.arbitrate_at_end
        self._on_segment_start, self._on_segment_end = (self._segment_starts,), (self._segment_ends,)

    def lane(self, station: Station, kind: str) -> Lane:
        """The lane of a worker's transfers of one kind."""
        worker = station.worker
        core = worker % self.spec.cores if self.spec.dma.channel_scope == "per_core" else 0
        direction = KINDS.index(kind)
        pool, port = self.pools[core * len(KINDS) + direction], self.ports[direction % len(self.ports)]
        memory = self.spec.memory
        latency = memory.read_latency_ticks if kind == "read" else memory.write_latency_ticks
        lane = Lane(self.env, station, kind, pool, port, latency, self.origin, self.moves)
        self.lanes[worker, kind] = lane
        return lane

    def read(self, lane: Lane, seq: int, descriptors: Sequence[Descriptor], arrival: int) -> None:
        """Request gather reads, numbered from `seq` on, that arrive at `arrival`; no grant comes before `arbitrate`.

        Raises DeviceFault when the worker dies of one.
        """
        if self._halted:
            return
        mapping = self.memory.latest(write=False) if self.ahead and not self.tracing and len(descriptors) > 1 else None
        group = mapping and group_of(lane, seq, arrival, descriptors, self.costs, mapping)
        if group:
            lane.requests += group.transfers
            lane.flying[seq] = group
            lane.pool.join(group)
            return
        for at, descriptor in enumerate(descriptors, seq):
            self._request(lane, at, arrival, self.costs.read(descriptor), (descriptor,))

    def write(self, lane: Lane, seq: int, chain: tuple[Descriptor, ...], arrival: int) -> None:
        """Request a drain chain that arrives at `arrival`; raises DeviceFault when the worker dies of it."""
        if self._halted:
            return
        costs = self.costs
        self._request(lane, seq, arrival, costs.drain(chain[0]) if len(chain) == 1 else costs.chain(chain), chain)

    def arbitrate_at_end(self) -> None:
        """Grant what has been requested at the end of the tick: the caller may ask for more before that."""
        self._arbiter.at_end_of(clock.now(self.env))

    def waiting(self) -> list[Flight]:
        """Requests without a grant, by pool, then those that stalled."""
        return [flight for pool in self.pools for flight in pool.waiting()] + self.stalled

    @property
    def stalled(self) -> list[Flight]:
        """Transfers that never end."""
        return self._arbiter.stalled

    def book(self) -> None:
        """Bring every lane's account up to date."""
        for lane in self.lanes.values():
            lane.settle(clock.now(self.env))

    def halt(self) -> None:
        """Stop for good: no further effect of any transfer."""
        self._halted = self._arbiter.halted = True
        for lane in self.lanes.values():
            lane.halted = True

    def look_up_again(self) -> None:
        """The mappings have changed: look up what arrives from this tick on, whatever was known of it before."""
        now = clock.now(self.env)
        for lane in () if self._halted else self.lanes.values():
            for request in lane.flying.values():
                if request.arrival >= now and request.lane is lane:
                    if isinstance(request, Flight):
                        self._look_up_again(request)
                    else:
                        request.look_up_again(self.memory)

    def _request(self, lane: Lane, seq: int, tick: int, fold: Fold, descriptors: tuple[Descriptor, ...]) -> None:
        plain = self._plain and not (self.moves and fold.partial_granules)
        if not plain and self.inject.get((lane.worker, seq)) == "worker_died":
            self.on_strike("worker_died", lane.worker, seq)
            raise DeviceFault("worker_died", lane.worker)
        lane.requests += 1
        flight = lane.flying[seq] = Flight(lane, seq, lane.requests, tick, fold, descriptors)
        self._look_up(flight, lane, descriptors, plain)
        lane.pool.join(flight)

    def _look_up(self, flight: Flight, lane: Lane, descriptors: tuple[Descriptor, ...], plain: bool) -> None:
        """Find out where the bytes of a transfer are, and what is special about it."""
        mapping = self.memory.latest(lane.write)
        if not mapping or not fit(mapping, descriptors, lane.scratch.size, lane.write):
            self._find_places(flight, plain)
        elif not plain:
            array, base = mapping.array, mapping.address
            flight.places = [(array, descriptor.address - base) for descriptor in descriptors]
        elif self.moves:
            station, write = lane.station, lane.write
            flight.places = [connect(mapping, descriptor, station, write) for descriptor in descriptors]
        if not plain:
            self._prepare(flight)

    def _look_up_again(self, flight: Flight) -> None:
        """Look a transfer up anew; one that is granted keeps its ticks.

        Not so where its data has moved at its arrival or never will, or where no grant comes before its tick.
        """
        movement, granted = flight.movement, flight.grant >= 0
        if (movement is not None and movement.sampled_at >= 0) or (granted and not self.ahead):
            return
        if self.inject.get((flight.lane.worker, flight.seq)) == "dma_error":
            return
        flight.places, flight.fault, flight.movement = [], None, None
        self._look_up(flight, flight.lane, flight.descriptors, movement is None)
        if granted and movement is not None:
            self._schedule(flight)
            clock.post_again(self.env, flight)

    def _find_places(self, flight: Flight, plain: bool) -> None:
        """Find the place of each descriptor, or its copy, up to the first that faults."""
        lane, memory = flight.lane, self.memory
        try:
            for descriptor in flight.descriptors:
                place: Any = locate(memory, descriptor, lane.scratch, lane.write)
                if plain and (mapping := memory.latest(lane.write)):
                    place = connect(mapping, descriptor, lane.station, lane.write)
                flight.places.append(place)
        except MemoryFault as fault:
            flight.fault = DeviceFault(fault.code, fault.address)

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

    def _stalls(self, flight: Flight) -> None:
        self.on_strike("stall", flight.lane.worker, flight.seq)

    def _schedule(self, flight: Flight) -> None:
        """Put the moments between grant and completion on the clock."""
        movement = flight.movement
        assert movement is not None
        if movement.moments is None:
            sample_at, deliver_at = between(self.seed, flight)
            clock.post(self.env, sample_at, clock.EFFECT, Alarm((lambda _: self._move(movement.sample),)))
            clock.post(self.env, deliver_at, clock.EFFECT, Alarm((lambda _: self._move(movement.deliver),)))
        self._next_segment(flight, movement, flight.start, clock.now(self.env))

    def _move(self, step: Callable[[int], None]) -> None:
        if not self._halted:
            step(clock.now(self.env))

    def _next_segment(self, flight: Flight, movement: Movement, start: int, now: int) -> None:
        """Go to the start of the first segment from here on that has partial granules, or to completion."""
        segments, partial = flight.fold.segments, movement.partial
        while movement.segment < len(partial) and not partial[movement.segment]:
            start += segments[movement.segment].data_ticks
            movement.segment += 1
        if movement.segment == len(partial):
            flight.callbacks = self._on_done
            clock.post(self.env, flight.done, clock.EFFECT, flight)
        elif start == now:
            self._start_segment(flight, movement, now)
        else:
            flight.callbacks = self._on_segment_start
            clock.post(self.env, start, clock.EFFECT, flight)

    def _segment_starts(self, flight: Flight) -> None:
        if flight.movement is not None and not self._halted:
            self._start_segment(flight, flight.movement, clock.now(self.env))

    def _start_segment(self, flight: Flight, movement: Movement, now: int) -> None:
        movement.read_background()
        flight.callbacks = self._on_segment_end
        clock.post(self.env, now + flight.fold.segments[movement.segment].data_ticks, clock.EFFECT, flight)

    def _segment_ends(self, flight: Flight) -> None:
        movement = flight.movement
        if movement is None or self._halted:
            return
        now = clock.now(self.env)
        flight.lane.station.pack_before(now)
        movement.write_partial()
        movement.segment += 1
        self._next_segment(flight, movement, now, now)

    def _complete(self, flight: Flight) -> None:
        if self._halted:
            return
        lane, movement = flight.lane, flight.movement
        if self.inject and self.inject.get((lane.worker, flight.seq)) == "dma_error":
            self.on_strike("dma_error", lane.worker, flight.seq)
        if self.moves and lane.station.packing:
            lane.station.pack_before(flight.done)
        if movement is not None:
            if movement.delivered_at < 0:
                movement.deliver(flight.done)
            _check_moments(flight, movement)
            lane.traffic.moved_bytes += movement.moved_bytes
        elif self.moves:
            lane.traffic.moved_bytes += perform(flight.places)
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
