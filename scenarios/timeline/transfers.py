"""Transfers in a timeline: DMA channels, memory ports, requests that queue, and the counters of all that.

A channel is busy from the grant to the end of the data, and its lane shows what with. Ports and queues serve transfers
in another order than that in which they land, so their spans wait here until no earlier one can come: none begins
before the earliest arrival among the transfers that have not landed.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import attrs

from tessbed.scenarios.timeline.counter_track import CounterTrack
from tessbed.scenarios.timeline.family import Family
from tessbed.scenarios.timeline.spans import Sink, TimelineSpan, argument_fields, joined
from tessbed.scenarios.timeline.wait_parts import RecentCredits, clipped, transfer_parts
from tessbed.sim.dma.channel_pool import FOREVER
from tessbed.sim.spec.device_spec import DeviceSpec

TRANSFER = argument_fields(
    "worker", "seq", "address:address", "scratch", "rows", "row_bytes", "pitch", "descriptors", "bytes",
    "rewritten_granules", "arrival",
)  # fmt: skip
FAULT = argument_fields("fault:text")
UNFINISHED = argument_fields("unfinished:text")
REQUEST = argument_fields("worker", "seq")
OVERLAP = "{} (overlap {})"
"""The name of a further lane, which only firmware needs that breaks the rules."""
LANDINGS = 4096
"""After so many transfers have landed, what can be written is."""
SLICES = {"read": "read", "write": "drain"}
RESET = "the device was stopped"


class Later(NamedTuple):
    """A span of a port or a queue that cannot be written yet."""

    begin: int
    end: int
    worker: int
    seq: int
    kind: str


@attrs.define(eq=False)
class PoolLanes:
    """A pool's lanes and counters, and its requests that queued."""

    channels: dict[int, Family]
    queue: Family
    in_flight: CounterTrack
    queued: CounterTrack
    credits: RecentCredits
    later: list[Later] = attrs.field(factory=list, init=False)


@attrs.define(eq=False)
class PortLane:
    """A memory port's lane, its counters, and the transfers that it serves."""

    lane: Family
    busy: CounterTrack
    later: list[Later] = attrs.field(factory=list, init=False)


@attrs.define(eq=False)
class TransferSpans:
    """The transfers of a device. `dmas` are the engines of its jobs that have transfers under way, the latest last.

    A job whose firmware does not wait for its transfers may end before them: they are shown when they land.
    """

    sink: Sink
    spec: DeviceSpec
    dmas: list[Any] = attrs.field(factory=list, init=False)
    _pools: dict[str, PoolLanes] = attrs.field(factory=dict, init=False)
    _ports: dict[str, PortLane] = attrs.field(factory=dict, init=False)
    _bytes: dict[str, CounterTrack] = attrs.field(factory=dict, init=False)
    _landed: int = attrs.field(default=0, init=False)

    def launched(self, dma: Any) -> None:
        """A job begins; its lanes are made before anything is in them, so that they come in their order."""
        self.dmas.append(dma)
        for pool in dma.pools:
            if pool.name not in self._pools:
                self._pools[pool.name] = self._pool_lanes(pool)
        for port in dma.ports:
            if port.name not in self._ports:
                name = "memory port" if port.name == "memory" else f"{port.name} port"
                about = "busy while a transfer's data has the port"
                lane = Family(self.sink, ("memory", name), about, OVERLAP)
                busy = CounterTrack(self.sink, self.sink.level(("memory", f"{name} busy"), "busy"))
                self._ports[port.name] = PortLane(lane, busy)
        for kind in SLICES:
            if kind not in self._bytes:
                words = {"read": "bytes read", "write": "bytes written"}[kind]
                self._bytes[kind] = CounterTrack(self.sink, self.sink.level(("memory", words), "bytes"))

    def _pool_lanes(self, pool: Any) -> PoolLanes:
        of = f" of core {pool.core}" if pool.core >= 0 else ""
        group = f"{pool.kind} channels{of}"
        about = f"a transfer has the channel from its grant to the end of its data, {pool.kind}s{of}"
        channels = {
            number: Family(self.sink, (group, f"{pool.kind} channel {number}{of}"), about, OVERLAP)
            for number in range(len(pool.free_at))
        }
        queue = Family(self.sink, (group, f"{pool.kind} queue{of}"), "requests that wait for a channel and a credit")
        in_flight, queued = (
            CounterTrack(self.sink, self.sink.level((group, f"{pool.kind}s {what}{of}"), "transfers"))
            for what in ("in flight", "queued")
        )
        return PoolLanes(channels, queue, in_flight, queued, RecentCredits(pool.credits))

    def landed(self, transfer: Any, flow: int, tick: int) -> None:
        """A transfer is done, at `tick`, which is now."""
        self._place(transfer, flow, tick, False)
        self._pools[transfer.stream.pool.name].credits.learn(transfer)
        self._landed += 1
        if self._landed % LANDINGS == 0:
            self._write(min((other.arrival for other in self.unlanded()), default=tick), tick)

    def lack(self, transfer: Any) -> str:
        """What a transfer queued for that has landed."""
        pool = transfer.stream.pool
        unlanded = sum(other.stream.pool is pool and 0 <= other.grant < transfer.grant for other in self.unlanded())
        return self._pools[pool.name].credits.lack(transfer.grant, unlanded)

    def unlanded(self) -> Iterator[Any]:
        """The transfers that have not landed."""
        for dma in self.dmas:
            for (_, kind), stream in dma.streams.items():
                if kind == "read":  # a worker's two streams share what is under way
                    yield from stream.unfinished.values()

    def stop(self, tick: int) -> list[Any]:
        """Nothing goes on after `tick`: show what is under way up to there; returns it, by arrival."""
        under_way = sorted(self.unlanded(), key=lambda other: other.key)
        for transfer in sorted(under_way, key=lambda other: other.grant):
            if transfer.arrival < tick:
                self._place(transfer, 0, tick, True)
        self.dmas.clear()
        self._write(None, tick)
        return under_way

    def end(self, tick: int) -> None:
        """The job is over, and with it as a rule all of its transfers: write what waits."""
        earliest = min((other.arrival for other in self.unlanded()), default=None)
        self._write(earliest, tick)
        if earliest is None:
            self.dmas.clear()

    def _place(self, transfer: Any, flow: int, until: int, unfinished: bool) -> None:
        """Show a transfer up to `until`, which lies behind its completion unless it is unfinished."""
        kind, pool = transfer.cost.d, self._pools[transfer.stream.pool.name]
        arrival, grant = transfer.arrival, transfer.grant
        granted = 0 <= grant < until
        begun = grant if granted else until
        worker, seq = transfer.worker, transfer.seq
        if arrival < begun:
            pool.later.append(Later(arrival, begun, worker, seq, SLICES[kind]))
            pool.queued.step(arrival, 1)
            pool.queued.step(begun, -1)
        if not granted:
            return
        pool.in_flight.step(grant, 1)
        pool.in_flight.step(min(transfer.done, until), -1)
        self._channel(transfer, pool.channels[transfer.channel], flow, until, unfinished)
        port, start = self._ports[transfer.stream.port.name], transfer.start
        if start < until and transfer.done < FOREVER:
            end = min(start + transfer.cost.m, until)
            port.later.append(Later(start, end, worker, seq, SLICES[kind]))
            port.busy.step(start, 1)
            port.busy.step(end, -1)
        if not unfinished and transfer.fault is None:
            self._bytes[kind].step(transfer.done, transfer.cost.payload_bytes)

    def _channel(self, transfer: Any, lanes: Family, flow: int, until: int, unfinished: bool) -> None:
        """The channel's lane: the transfer, and in it its set-up, the wait for the port, and its data."""
        fields, values = TRANSFER, transfer_values(transfer)
        if transfer.fault is not None:
            fields, values = joined(fields, FAULT), (*values, str(transfer.fault))
        if unfinished:
            fields, values = joined(fields, UNFINISHED), (*values, RESET)
        stalled = transfer.done >= FOREVER
        grant, end = transfer.grant, until if stalled else min(transfer.end, until)
        flows, lane = (flow,) if flow else (), lanes.take(grant, end)
        self.sink.span(TimelineSpan(lane, SLICES[transfer.cost.d], grant, end, fields, values, flows))
        for resource, begin, over in clipped(transfer_parts(transfer, transfer.cost, ""), grant, end):
            if resource != f"{transfer.cost.d} latency":
                self.sink.span(TimelineSpan(lane, resource, begin, over))
        if stalled and transfer.end < end:
            self.sink.span(TimelineSpan(lane, "stalled", transfer.end, end))

    def _write(self, until: int | None, now: int) -> None:
        """Write what begins before `until`, or all."""
        for pool in self._pools.values():
            pool.later = self._write_later(pool.later, until, pool.queue)
            pool.in_flight.write(until)
            pool.queued.write(until)
            pool.credits.forget(now if until is None else until)
        for port in self._ports.values():
            port.later = self._write_later(port.later, until, port.lane)
            port.busy.write(until)
        for level in self._bytes.values():
            level.write(until)

    def _write_later(self, later: list[Later], until: int | None, lanes: Family) -> list[Later]:
        later.sort()
        ready = len(later) if until is None else next((i for i, o in enumerate(later) if o.begin >= until), len(later))
        for begin, end, worker, seq, kind in later[:ready]:
            self.sink.span(TimelineSpan(lanes.take(begin, end), kind, begin, end, REQUEST, (worker, seq)))
        return later[ready:]


def transfer_values(transfer: Any) -> tuple[int, ...]:
    """The values of TRANSFER; address, rows and pitch are those of the first descriptor."""
    address, scratch, rows, row_bytes, pitch, _ = transfer.descriptors[0]
    cost = transfer.cost
    return (
        transfer.worker, transfer.seq, address, scratch, rows, row_bytes, pitch, len(transfer.descriptors),
        cost.payload_bytes, cost.partial_granules, transfer.arrival,
    )  # fmt: skip


def resources(transfer: Any, lack: str, low: int, high: int) -> Iterable[tuple[str, int, int]]:
    """What a transfer was doing in [low, high)."""
    return clipped(transfer_parts(transfer, transfer.cost, lack), low, high)
