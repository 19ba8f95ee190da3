"""A pool of DMA channels: waiting requests, idle channels, and the order of grants.

`fifo` takes the oldest of all, ties by worker then sequence; `round_robin` takes the first worker at or after the
pointer, its oldest, and moves the pointer past it. Everything of one tick arrives before any grant, in no order. So a
fifo queue is kept in the order of arrivals, and may hold some that are still to come; whose turn it is depends on who
is there, so under `round_robin` arrivals are kept apart until the end of the tick.
"""

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import chain
from typing import Any

import attrs

from tessbed.sim.dma.grant_memo import GrantMemo
from tessbed.sim.spec.device_spec import DIRECTIONS, DeviceSpec

FOREVER = 1 << 62


flatten = chain.from_iterable


@attrs.define(eq=False)
class Pool:
    """Channels of one direction (`core` -1: of all cores). `free_at` is when each channel is idle again.

    `head` is what to serve next, an InFlightTransfer or a ReadBatch; `ready_at` the tick from which it can be: FOREVER
    without a head, else when it has arrived, a channel is idle and a credit there. `leading` has, of all pools of the
    job, those with a head. `in_flight` is a heap of the C of those that hold a credit. `join` takes a request that has
    arrived, or whose arrival is known. `queue` has all that wait when the pool is fifo, those still to arrive among
    them; `turns` those of each worker when it is round_robin.
    """

    kind: str
    core: int
    credits: int
    arbitration: str
    free_at: list[int]
    leading: list["Pool"]
    arrivals: list[Any] = attrs.field(factory=list, init=False)
    queue: deque[Any] = attrs.field(factory=deque, init=False)
    turns: dict[int, deque[Any]] = attrs.field(factory=dict, init=False)
    pointer: int = attrs.field(default=0, init=False)
    head: Any = attrs.field(default=None, init=False)
    ready_at: int = attrs.field(default=FOREVER, init=False)
    in_flight: list[int] = attrs.field(factory=list, init=False)
    peak_in_flight: int = attrs.field(default=0, init=False)
    memo: GrantMemo = attrs.field(factory=GrantMemo, init=False)
    join: Callable[[Any], None] = attrs.field(init=False)
    _in_order: bool = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._in_order = self.arbitration == "fifo"
        self.join = self._join_queue if self._in_order else self.arrivals.append

    @property
    def name(self) -> str:
        """The direction, with "@core" when each core has its own."""
        return self.kind if self.core < 0 else f"{self.kind}@{self.core}"

    def admit(self) -> None:
        """The tick ends: what arrived in it takes its turn."""
        for request in self.arrivals:
            self.turns.setdefault(request.worker, deque()).append(request)
        self.arrivals.clear()
        self._put_first(self._next_in_turn())

    def take(self, tick: int, until: int, done: int) -> int:
        """Grant the head at `tick`: it leaves, with a credit until `done` and the lowest idle channel `until` then.

        Returns the channel.
        """
        free_at, in_flight = self.free_at, self.in_flight
        channel = 0
        while free_at[channel] > tick:
            channel += 1
        free_at[channel] = until
        while in_flight and in_flight[0] <= tick:
            heappop(in_flight)
        heappush(in_flight, done)
        if len(in_flight) > self.peak_in_flight:
            self.peak_in_flight = len(in_flight)
        self.leave()
        return channel

    def leave(self) -> None:
        """All of the head is granted."""
        if self._in_order:
            self.queue.popleft()
            head = self.queue[0] if self.queue else None
        else:
            head = self._end_turn()
        self.head = head
        if head is None:
            self.ready_at = FOREVER
            self.leading.remove(self)
        else:
            self.ready_at = self.next_ready()

    def next_ready(self) -> int:
        """When the head has arrived, a channel is idle and a credit there."""
        free_at, in_flight, ready_at = self.free_at, self.in_flight, self.head.arrival
        idle_at = free_at[0] if len(free_at) == 1 else min(free_at)
        if idle_at > ready_at:
            ready_at = idle_at
        if len(in_flight) >= self.credits and in_flight[0] > ready_at:
            return in_flight[0]
        return ready_at

    def _put_first(self, request: Any) -> None:
        """Let a request be served next."""
        if self.head is None:
            self.leading.append(self)
        self.head = request
        self.ready_at = self.next_ready()

    def _join_queue(self, request: Any) -> None:
        """In the order of arrivals, then workers."""
        queue, arrival = self.queue, request.arrival
        place = len(queue)
        while place:
            before = queue[place - 1]
            if before.arrival < arrival or (before.arrival == arrival and before.worker <= request.worker):
                break
            place -= 1
        queue.insert(place, request)
        if not place:
            self._put_first(request)

    def _end_turn(self) -> Any:
        """The worker whose turn it was goes behind all others; returns who is next."""
        worker = self.head.worker
        turn = self.turns[worker]
        turn.popleft()
        if not turn:
            del self.turns[worker]
        self.pointer = worker + 1
        return self._next_in_turn() if self.turns else None

    def _next_in_turn(self) -> Any:
        workers = sorted(self.turns)
        return self.turns[next((w for w in workers if w >= self.pointer), workers[0])][0]

    def waiting(self) -> list[Any]:
        """The in-flight transfers that have no grant yet, by worker."""
        requests = [*self.queue, *flatten(self.turns.values()), *self.arrivals]
        inflights = flatten(request.waiting() for request in requests)
        return sorted(inflights, key=lambda inflight: (inflight.worker, inflight.seq))


def make_pools(spec: DeviceSpec) -> list[Pool]:
    """Read and write pool of each core, or of all: index core * 2 + direction."""
    dma = spec.dma
    cores = range(spec.cores) if dma.channel_scope == "per_core" else (-1,)
    channels = {"read": dma.read_channels, "write": dma.write_channels}
    leading: list[Pool] = []
    return [
        Pool(kind, core, dma.outstanding, dma.arbitration, [0] * channels[kind], leading)
        for core in cores
        for kind in DIRECTIONS
    ]
