"""The DMA engine: pools of channels, credits, memory ports, and arbitration at the end of the tick.

Rules (docs/simulation.md tells them at length):
- A request arrives with the key (arrival, worker, sequence). Everything of one tick arrives before any grant.
- At the end of a tick, while a pool has a request, an idle channel and a credit: of the heads of such pools, the
  one with the smallest key is granted, on the lowest idle channel.
- Data starts at P = max(port free, G + s) and the port is reserved until P + m, in grant order. Data ends at
  E = P + c, when the channel is idle again. The worker sees it at C = E + l, when the credit is back.
- c >= 1, so a grant can cause nothing in its own tick. That is what makes a recurrence over the same rules exact.

A transfer that faults keeps its ticks; it moves nothing from the faulting descriptor on.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from simpy import Environment, Event

from tessbed.sim import clock
from tessbed.sim.errors import DeviceFault, HazardError
from tessbed.sim.flight import AT_ARRIVAL, Flight, between, early
from tessbed.sim.memory import DeviceMemory
from tessbed.sim.movement import Movement
from tessbed.sim.pool import FOREVER, KINDS, Pool, make_pools
from tessbed.sim.spec import DeviceSpec
from tessbed.sim.stats import WORD, Digest, Traffic, TransferRecord
from tessbed.sim.transfer import CostTable, Descriptor, Fold, cost_table

Notify = Callable[[Flight], None]


@attrs.define(eq=False)
class Dma:
    """The engine of one job, from its launch at tick `origin` on; all ticks inside are absolute.

    `inject` maps (worker, sequence) to "dma_error" (the transfer faults), "stall" (it never ends)
    or "worker_died" (the worker dies as it asks for it).
    """

    env: Environment
    spec: DeviceSpec
    memory: DeviceMemory
    seed: int
    origin: int
    inject: Mapping[tuple[int, int], str]
    tracing: bool
    costs: CostTable = attrs.field(init=False)
    pools: list[Pool] = attrs.field(init=False)
    port_free: dict[str, int] = attrs.field(init=False)
    port_busy: dict[str, int] = attrs.field(init=False)
    traffic: dict[str, Traffic] = attrs.field(init=False)
    digests: dict[tuple[int, str], Digest] = attrs.field(factory=dict, init=False)
    trace: list[TransferRecord] = attrs.field(factory=list, init=False)
    stalled: list[Flight] = attrs.field(factory=list, init=False)
    _requests: dict[tuple[int, str], int] = attrs.field(factory=dict, init=False)
    _kicked_at: int = attrs.field(default=-1, init=False)
    _halted: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self.costs = cost_table(self.spec)
        self.pools = make_pools(self.spec)
        ports = KINDS if self.spec.memory.split_port else ("memory",)
        self.port_free = dict.fromkeys(ports, 0)
        self.port_busy = dict.fromkeys(ports, 0)
        self.traffic = {kind: Traffic() for kind in KINDS}

    def read(self, worker: int, seq: int, descriptor: Descriptor, scratch: np.ndarray, notify: Notify) -> Flight:
        """Request a gather read; `notify` is called at its C."""
        return self._request(worker, seq, self.costs.read(descriptor), (descriptor,), scratch, notify)

    def write(self, worker: int, seq: int, chain: Sequence[Descriptor], scratch: np.ndarray, notify: Notify) -> Flight:
        """Request a drain chain; `notify` is called at its C."""
        return self._request(worker, seq, self.costs.chain(chain), chain, scratch, notify)

    def waiting(self) -> list[Flight]:
        """Requests without a grant, by pool, then those that stalled."""
        queued = [flight for pool in self.pools for _, queue in sorted(pool.waiting.items()) for flight in queue]
        return queued + self.stalled

    def _request(
        self,
        worker: int,
        seq: int,
        fold: Fold,
        descriptors: Sequence[Descriptor],
        scratch: np.ndarray,
        notify: Notify,
    ) -> Flight:
        movement = Movement(fold.d, descriptors, fold, scratch, self.spec.write_granule_bytes)
        number = self._requests[worker, fold.d] = self._requests.get((worker, fold.d), 0) + 1
        flight = Flight(worker, seq, number, clock.now(self.env), fold, movement, notify)
        self._resolve(flight)
        self._depart(flight)
        flight.pool = self.pools[self._pool_index(fold.d, worker)]
        flight.pool.add(flight)
        self._kick(flight.arrival)
        return flight

    def _resolve(self, flight: Flight) -> None:
        """Find the storage, and what is going to go wrong."""
        injected = self.inject.get((flight.worker, flight.seq))
        if injected == "worker_died":
            raise DeviceFault(injected, flight.worker)
        if injected == "dma_error":
            flight.fault = DeviceFault("dma_error", flight.movement.descriptors[0].address)
        elif fault := flight.movement.resolve(self.memory):
            flight.fault = DeviceFault(fault.code, fault.address)
        flight.stalled = injected == "stall"

    def _depart(self, flight: Flight) -> None:
        """Take the data moments that fall on the arrival."""
        moments = flight.moments = early(self.spec.data_movement, self.seed, flight.worker, flight.seq)
        if moments and moments[0] == AT_ARRIVAL:
            flight.sample(flight.arrival)
        if moments and moments[1] == AT_ARRIVAL:
            flight.deliver(flight.arrival)

    def _pool_index(self, kind: str, worker: int) -> int:
        core = worker % self.spec.cores if self.spec.dma.channel_scope == "per_core" else 0
        return core * len(KINDS) + KINDS.index(kind)

    def _kick(self, tick: int) -> None:
        """Arbitrate at the end of `tick`, which is now."""
        if self._kicked_at != tick:
            self._kicked_at = tick
            clock.at(self.env, tick, clock.ARBITRATION, self._arbitrate, None)

    def halt(self) -> None:
        """Stop for good: no further effect of any transfer."""
        self._halted = True

    def _arbitrate(self, _: Event) -> None:
        if self._halted:
            return
        tick = clock.now(self.env)
        self._kicked_at = -1
        while pool := self._next_pool(tick):
            self._grant(pool, pool.head(), tick)
        for pool in self.pools:
            if pool.waiting:
                self._wake(pool, tick)

    def _next_pool(self, tick: int) -> Pool | None:
        """Of the pools that can grant, the one whose head has the smallest key."""
        best, best_key = None, None
        for pool in self.pools:
            if pool.waiting and pool.in_flight < pool.credits and pool.idle_channel(tick) >= 0:
                key = pool.head().key
                if best_key is None or key < best_key:
                    best, best_key = pool, key
        return best

    def _wake(self, pool: Pool, tick: int) -> None:
        """A pool that only lacks a channel arbitrates again when one is idle."""
        free = min(pool.free_at)
        if pool.in_flight < pool.credits and tick < free < FOREVER and pool.woken_at != free:
            pool.woken_at = free
            clock.at(self.env, free, clock.ARBITRATION, self._arbitrate, None)

    def _grant(self, pool: Pool, flight: Flight, tick: int) -> None:
        fold, port = flight.fold, self._port(flight.fold.d)
        flight.channel = pool.idle_channel(tick)
        pool.take(flight)
        flight.grant = tick
        flight.start = max(self.port_free[port], tick + fold.s)
        flight.end = flight.start + fold.c
        flight.done = flight.end + fold.l
        if flight.stalled:
            self._stall(flight)
            return
        self.port_free[port] = flight.start + fold.m
        self.port_busy[port] += fold.m
        pool.free_at[flight.channel] = flight.end
        pool.busy_ticks += flight.end - tick
        self._schedule(flight)

    def _port(self, kind: str) -> str:
        return kind if self.spec.memory.split_port else "memory"

    def _stall(self, flight: Flight) -> None:
        """The channel never comes back."""
        flight.pool.free_at[flight.channel] = FOREVER
        self.stalled.append(flight)

    def _schedule(self, flight: Flight) -> None:
        """Put the moments between grant and completion on the clock."""
        if flight.moments is None:
            sample_at, deliver_at = between(self.seed, flight)
            clock.at(self.env, sample_at, clock.EFFECT, self._sampled, flight)
            clock.at(self.env, deliver_at, clock.EFFECT, self._delivered, flight)
        if flight.fold.partial_granules:
            self._next_segment(flight, flight.start, 0)
        else:
            clock.at(self.env, flight.done, clock.EFFECT, self._completed, flight)

    def _next_segment(self, flight: Flight, start: int, index: int) -> None:
        """Go to the start of the first segment from `index` on that has partial granules, or to completion."""
        segments = flight.fold.segments
        while index < len(segments) and not flight.movement.is_partial(index):
            start += segments[index].data_ticks
            index += 1
        if index == len(segments):
            clock.at(self.env, flight.done, clock.EFFECT, self._completed, flight)
        elif start == self.env.now:
            self._segment_starts(flight, start, index)
        else:
            step = (flight, start, index)
            clock.at(self.env, start, clock.EFFECT, lambda _: self._segment_starts(*step), None)

    def _segment_starts(self, flight: Flight, start: int, index: int) -> None:
        if self._halted:
            return
        flight.movement.read_background(index)
        step = (flight, start + flight.fold.segments[index].data_ticks, index)
        clock.at(self.env, step[1], clock.EFFECT, lambda _: self._segment_ends(*step), None)

    def _segment_ends(self, flight: Flight, end: int, index: int) -> None:
        if self._halted:
            return
        flight.movement.write_partial(index)
        self._next_segment(flight, end, index + 1)

    def _sampled(self, event: Any) -> None:
        if not self._halted:
            event.value.sample(clock.now(self.env))

    def _delivered(self, event: Any) -> None:
        if not self._halted:
            event.value.deliver(clock.now(self.env))

    def _completed(self, event: Any) -> None:
        if self._halted:
            return
        flight: Flight = event.value
        tick = clock.now(self.env)
        if flight.delivered_at < 0:
            flight.deliver(tick)
        flight.pool.in_flight -= 1
        if flight.pool.waiting:
            self._kick(tick)
        self._account(flight)
        flight.notify(flight)

    def _account(self, flight: Flight) -> None:
        _check_moments(flight)
        traffic, fold, movement = self.traffic[flight.fold.d], flight.fold, flight.movement
        traffic.transfers += 1
        traffic.descriptors += len(fold.segments)
        traffic.payload_bytes += fold.payload_bytes
        traffic.port_bytes += fold.port_bytes
        traffic.bursts += fold.bursts
        traffic.pages += fold.pages
        traffic.rmw_granules += fold.partial_granules
        traffic.moved_bytes += movement.moved_bytes
        moving = fold.segments[: len(movement.places)]
        traffic.due_bytes += sum(segment.payload_bytes for segment in moving)
        self._note(flight)

    def _note(self, flight: Flight) -> None:
        """Digest and trace, in ticks from the launch."""
        zero, kind = self.origin, flight.fold.d
        digest = self.digests.setdefault((flight.worker, kind), Digest())
        digest.transfers += 1
        digest.sum_grant += flight.grant - zero
        digest.sum_end += flight.end - zero
        digest.sum_done += flight.done - zero
        digest.weighted_done = (digest.weighted_done + flight.number * (flight.done - zero)) & WORD
        if self.tracing:
            self.trace.append(_record(flight, zero))


def _check_moments(flight: Flight) -> None:
    """No effect before its cause."""
    moments = (flight.arrival, flight.grant, flight.start, flight.end, flight.done)
    data = (flight.arrival, flight.sampled_at, flight.delivered_at, flight.done)
    if list(moments) != sorted(moments) or list(data) != sorted(data) or flight.start == flight.end:
        raise HazardError(f"transfer {flight.key}: moments {moments} and {data} are out of order")


def _record(flight: Flight, zero: int) -> TransferRecord:
    pool = flight.pool
    return TransferRecord(
        worker=flight.worker,
        seq=flight.seq,
        kind=flight.fold.d,
        arrival=flight.arrival - zero,
        channel=flight.channel,
        pool=pool.kind if pool.core < 0 else f"{pool.kind}@{pool.core}",
        grant=flight.grant - zero,
        start=flight.start - zero,
        end=flight.end - zero,
        done=flight.done - zero,
        payload_bytes=flight.fold.payload_bytes,
    )
