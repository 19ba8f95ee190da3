"""The DMA engine: pools of channels, credits, memory ports, and arbitration at the end of the tick.

Rules (docs/simulation.md states them at length):
- A request arrives with the key (arrival, worker, sequence). Everything of one tick arrives before any grant.
- At the end of a tick, while a pool has a request, an idle channel and a credit: of the heads of such pools, the
  one with the smallest key is granted, on the lowest idle channel.
- Data starts at P = max(port free, G + s) and the port is reserved until P + m, in grant order. Data ends at
  E = P + c, when the channel is idle again. The worker sees it at C = E + l, when the credit is back.
- c >= 1, so a grant can cause nothing in its own tick. That is what makes a recurrence over the same rules exact.

A transfer that faults keeps its ticks; it moves nothing from the faulting descriptor on.

Three events of the clock serve a transfer: its completion at C, the tick at whose end it is granted (see `arbiter`),
and for partial granules the ends of their segments. All are in SimPy's queue; no process waits for any of them. Reads
that are requested together share their events where they can (see `read_batch`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
from simpy import Environment

from tessbed.sim.dma.arbiter import Arbiter
from tessbed.sim.dma.channel_pool import FOREVER, Pool, make_pools
from tessbed.sim.dma.inflight import (
    AT_ARRIVAL,
    AT_COMPLETION,
    FIXED,
    InFlightTransfer,
    TransferTicks,
    between,
    early,
    record_of,
)
from tessbed.sim.dma.read_batch import batch_of
from tessbed.sim.dma.transfer_stream import MemoryPort, TransferStream
from tessbed.sim.dma.wait_state import WaitState
from tessbed.sim.errors import DeviceFault, HazardError, MemoryFault
from tessbed.sim.events import event_queue
from tessbed.sim.events.event_queue import Alarm, Calls
from tessbed.sim.spec.device_spec import DIRECTIONS, DeviceSpec
from tessbed.sim.stats import TransferRecord
from tessbed.sim.tracer import Tracer
from tessbed.sim.transfer.cost import CostTable, TransferCost, cost_table
from tessbed.sim.transfer.descriptor import Descriptor
from tessbed.sim.transfer.memory import DeviceMemory
from tessbed.sim.transfer.movement import Movement, connect, copy, fit, locate, perform, places_in


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
    tracer: Tracer | None = None
    costs: CostTable = attrs.field(init=False)
    pools: list[Pool] = attrs.field(init=False)
    ports: list[MemoryPort] = attrs.field(init=False)
    streams: dict[tuple[int, str], TransferStream] = attrs.field(factory=dict, init=False)
    trace: list[TransferRecord] = attrs.field(factory=list, init=False)
    _arbiter: Arbiter = attrs.field(init=False)
    ahead: bool = attrs.field(init=False)
    arbitrate: Callable[[], None] = attrs.field(init=False)
    _plain: bool = attrs.field(init=False)
    _quiet: bool = attrs.field(init=False)
    _granule: int = attrs.field(init=False)
    _move_ticks: TransferTicks | None = attrs.field(init=False)
    _halted: bool = attrs.field(default=False, init=False)
    _on_done: Calls = attrs.field(init=False)
    _on_segment_start: Calls = attrs.field(init=False)
    _on_segment_end: Calls = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.costs = cost_table(self.spec)
        self.pools = make_pools(self.spec)
        self.ports = [MemoryPort(name) for name in (DIRECTIONS if self.spec.memory.split_port else ("memory",))]
        self._plain = not self.inject and (not self.moves or self.spec.data_movement == "at_completion")
        self._granule, self._move_ticks = self.spec.write_granule_bytes, FIXED.get(self.spec.data_movement)
        issue_ticks = self.spec.dma.issue_ticks
        self._on_done = (self._complete,)
        self._arbiter = Arbiter(
            self.env, self.pools, issue_ticks, self.inject, self._on_done, self._schedule, self._stalls
        )
        self.ahead = self._plain and self.spec.dma.arbitration == "fifo"
        self._quiet = self.ahead and not self.tracing and self.tracer is None
        self.arbitrate = self._arbiter.look_ahead if self.ahead else self.arbitrate_at_end
        self._on_segment_start, self._on_segment_end = (self._segment_starts,), (self._segment_ends,)

    def stream(self, wait_state: WaitState, kind: str) -> TransferStream:
        """The stream of a worker's transfers of one kind."""
        worker = wait_state.worker
        core = worker % self.spec.cores if self.spec.dma.channel_scope == "per_core" else 0
        direction = DIRECTIONS.index(kind)
        pool, port = self.pools[core * len(DIRECTIONS) + direction], self.ports[direction % len(self.ports)]
        memory = self.spec.memory
        latency = memory.read_latency_ticks if kind == "read" else memory.write_latency_ticks
        stream = TransferStream(self.env, wait_state, kind, pool, port, latency, self.origin, self.moves)
        self.streams[worker, kind] = stream
        return stream

    def read(self, stream: TransferStream, seq: int, descriptors: Sequence[Descriptor], arrival: int) -> None:
        """Request gather reads, numbered from `seq` on, that arrive at `arrival`; no grant comes before `arbitrate`.

        Raises DeviceFault when the worker dies of one.
        """
        if self._halted:
            return
        if len(descriptors) > 1 and self._quiet:
            mapping = self.memory.latest(False)
            group = mapping and batch_of(stream, seq, arrival, descriptors, self.costs, mapping)
            if group:
                stream.requests += group.transfers
                stream.unfinished[seq] = group
                stream.pool.join(group)
                return
        for at, descriptor in enumerate(descriptors, seq):
            self._request(stream, at, arrival, self.costs.read(descriptor), (descriptor,))

    def write(self, stream: TransferStream, seq: int, chain: tuple[Descriptor, ...], arrival: int) -> None:
        """Request a drain chain that arrives at `arrival`; raises DeviceFault when the worker dies of it."""
        if self._halted:
            return
        if stream.quiet:
            stream.land_over(event_queue.now(self.env))
        costs = self.costs
        self._request(stream, seq, arrival, costs.drain(chain[0]) if len(chain) == 1 else costs.chain(chain), chain)

    def arbitrate_at_end(self) -> None:
        """Grant what has been requested at the end of the tick: the caller may ask for more before that."""
        self._arbiter.at_end_of(event_queue.now(self.env))

    def waiting(self) -> list[InFlightTransfer]:
        """Requests without a grant, by pool, then those that stalled."""
        return [inflight for pool in self.pools for inflight in pool.waiting()] + self.stalled

    @property
    def stalled(self) -> list[InFlightTransfer]:
        """Transfers that never end."""
        return self._arbiter.stalled

    def book(self) -> None:
        """Bring every stream's account up to date."""
        for stream in self.streams.values():
            stream.settle(event_queue.now(self.env))

    def halt(self) -> None:
        """Stop for good: no further effect of any transfer."""
        self._halted = self._arbiter.halted = True
        for stream in self.streams.values():
            stream.halted = True

    def look_up_again(self) -> None:
        """The mappings have changed: look up what arrives from this tick on, whatever was known of it before."""
        now = event_queue.now(self.env)
        for stream in () if self._halted else self.streams.values():
            for request in stream.unfinished.values():
                if request.arrival >= now and request.stream is stream:
                    if isinstance(request, InFlightTransfer):
                        self._look_up_again(request)
                    else:
                        request.look_up_again(self.memory)

    def _request(
        self, stream: TransferStream, seq: int, tick: int, cost: TransferCost, descriptors: tuple[Descriptor, ...]
    ) -> None:
        plain = self._plain and not (self.moves and cost.partial_granules)
        if self.inject and self.inject.get((stream.worker, seq)) == "worker_died":
            self.on_strike("worker_died", stream.worker, seq)
            raise DeviceFault("worker_died", stream.worker)
        stream.requests += 1
        inflight = stream.unfinished[seq] = InFlightTransfer(stream, seq, stream.requests, tick, cost, descriptors)
        self._look_up(inflight, plain)
        stream.pool.join(inflight)

    def _look_up(self, inflight: InFlightTransfer, plain: bool) -> None:
        """Find out where the bytes of a transfer are, and what is special about it."""
        stream, descriptors = inflight.stream, inflight.descriptors
        mapping = self.memory.latest(stream.write)
        if not mapping or not fit(mapping, descriptors, stream.wait_state.scratch.size, stream.write):
            self._find_places(inflight, plain)
        elif plain:
            inflight.mapping = mapping
        else:
            inflight.places = places_in(mapping, descriptors)
        if self.inject and self.inject.get((stream.worker, inflight.seq)) == "dma_error":
            inflight.places, inflight.fault = [], DeviceFault("dma_error", descriptors[0].address)
        if self.moves and not plain:
            self._prepare(inflight)

    def _look_up_again(self, inflight: InFlightTransfer) -> None:
        """Look a transfer up anew; one that is granted keeps its ticks.

        Not so where its data has moved at its arrival or never will, or where no grant comes before its tick.
        """
        movement, granted = inflight.movement, inflight.grant >= 0
        if (movement is not None and movement.sampled_at >= 0) or (granted and not self.ahead):
            return
        if self.inject.get((inflight.stream.worker, inflight.seq)) == "dma_error":
            return
        inflight.mapping, inflight.places, inflight.fault, inflight.movement = None, [], None, None
        self._look_up(inflight, movement is None)
        if granted and movement is not None:
            self._schedule(inflight)
            event_queue.post_again(self.env, inflight)

    def _find_places(self, inflight: InFlightTransfer, plain: bool) -> None:
        """Find the place of each descriptor, or its copy, up to the first that faults."""
        stream, memory = inflight.stream, self.memory
        inflight.places = places = []
        try:
            for descriptor in inflight.descriptors:
                place: Any = locate(memory, descriptor, stream.wait_state.scratch, stream.write)
                if plain and (mapping := memory.latest(stream.write)):
                    place = connect(mapping, descriptor, stream.wait_state, stream.write)
                places.append(place)
        except MemoryFault as fault:
            inflight.fault = DeviceFault(fault.code, fault.address)

    def _prepare(self, inflight: InFlightTransfer) -> None:
        """The data of a transfer moves in several steps."""
        stream, places, partial = inflight.stream, inflight.places, inflight.cost.partial
        move_ticks = self._move_ticks or early(self.seed, stream.worker, inflight.seq)
        if len(places) < len(partial):
            partial = partial[: len(places)]
        inflight.movement = movement = Movement(
            stream.kind, inflight.descriptors, places, stream.wait_state.view, self._granule, partial, move_ticks
        )
        if move_ticks is not AT_COMPLETION:
            _depart(movement, inflight.arrival)

    def _stalls(self, inflight: InFlightTransfer) -> None:
        self.on_strike("stall", inflight.stream.worker, inflight.seq)

    def _schedule(self, inflight: InFlightTransfer) -> int:
        """Post the events between grant and completion; returns the tick of the first."""
        movement = inflight.movement
        assert movement is not None
        if movement.move_ticks is not None:
            return self._next_segment(inflight, movement, inflight.start)
        sample_at, deliver_at = between(self.seed, inflight)
        event_queue.post(self.env, sample_at, event_queue.EFFECT, Alarm((lambda _: self._move(movement.sample),)))
        event_queue.post(self.env, deliver_at, event_queue.EFFECT, Alarm((lambda _: self._move(movement.deliver),)))
        return min(sample_at, self._next_segment(inflight, movement, inflight.start))

    def _move(self, step: Callable[[int], None]) -> None:
        if not self._halted:
            step(event_queue.now(self.env))

    def _next_segment(self, inflight: InFlightTransfer, movement: Movement, start: int) -> int:
        """Go to the start of the first segment from here on that has partial granules, or to completion.

        Returns the tick of the event that it posts.
        """
        partial, segment = movement.partial, movement.segment
        while segment < len(partial) and not partial[segment]:
            start += inflight.cost.segments[segment].data_ticks
            segment, movement.has_full = segment + 1, True
        movement.segment = segment
        if segment == len(partial):
            start, inflight.callbacks, stream = inflight.done, self._on_done, inflight.stream
            if self._quiet and not movement.has_full and inflight.fault is None and inflight.seq not in stream.awaited:
                stream.land_quietly(inflight)
                return FOREVER
        elif start == event_queue.now(self.env):
            return self._segment_starts(inflight)
        else:
            inflight.callbacks = self._on_segment_start
        event_queue.post(self.env, start, event_queue.EFFECT, inflight)
        return start

    def _segment_starts(self, inflight: InFlightTransfer) -> int:
        """Read the partial granules of a segment; returns the tick at which it ends."""
        movement = inflight.movement
        if movement is None or self._halted:
            return FOREVER
        movement.read_background()
        inflight.callbacks = self._on_segment_end
        end = event_queue.now(self.env) + inflight.cost.segments[movement.segment].data_ticks
        event_queue.post(self.env, end, event_queue.EFFECT, inflight)
        return end

    def _segment_ends(self, inflight: InFlightTransfer) -> None:
        movement = inflight.movement
        if movement is None or self._halted:
            return
        now, wait_state = event_queue.now(self.env), inflight.stream.wait_state
        if wait_state.packing:
            wait_state.pack_before(now)
        movement.write_partial()
        self._next_segment(inflight, movement, now)

    def _complete(self, inflight: InFlightTransfer) -> None:
        if self._halted:
            return
        stream, movement, mapping = inflight.stream, inflight.movement, inflight.mapping
        if self.inject and self.inject.get((stream.worker, inflight.seq)) == "dma_error":
            self.on_strike("dma_error", stream.worker, inflight.seq)
        if self.moves:
            wait_state = stream.wait_state
            if wait_state.packing:
                wait_state.pack_before(inflight.done)
            if movement is not None:
                self._finish(inflight, movement)
            elif mapping is not None:
                for descriptor in inflight.descriptors:
                    stream.traffic.moved_bytes += copy(mapping, descriptor, wait_state, stream.write)
            else:
                stream.traffic.moved_bytes += perform(inflight.places)
        if self.tracing:
            self.trace.append(record_of(inflight, self.origin))
        if self.tracer is not None:
            self.tracer.landed(inflight, inflight.done)
        stream.land(inflight)

    def _finish(self, inflight: InFlightTransfer, movement: Movement) -> None:
        """The bytes that have not moved yet move at C; no data before its cause, and none after the completion."""
        if movement.delivered_at < 0:
            movement.deliver(inflight.done)
        if not inflight.arrival <= movement.sampled_at <= movement.delivered_at <= inflight.done:
            move_ticks = (inflight.arrival, movement.sampled_at, movement.delivered_at, inflight.done)
            raise HazardError(f"transfer {inflight.key}: its data moves at {move_ticks}")
        inflight.stream.traffic.moved_bytes += movement.moved_bytes


def _depart(movement: Movement, tick: int) -> None:
    """Move the bytes whose tick is the arrival."""
    move_ticks = movement.move_ticks
    if move_ticks and move_ticks[0] == AT_ARRIVAL:
        movement.sample(tick)
    if move_ticks and move_ticks[1] == AT_ARRIVAL:
        movement.deliver(tick)
