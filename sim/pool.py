"""A pool of DMA channels: what waits, what is idle, and who comes first.

`fifo` takes the oldest of all, ties by worker then sequence; `round_robin` takes the first worker at or after the
pointer, its oldest, and moves the pointer past it. Everything of one tick arrives before any grant, in no order; so
arrivals are kept apart until the end of the tick and join the queue in theirs.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from tessbed.sim.spec import DeviceSpec

FOREVER = 1 << 62
KINDS = ("read", "write")


@attrs.define(eq=False)
class Pool:
    """Channels of one direction (`core` -1: of all cores). `free_at` is when each channel is idle again.

    `head` is the transfer to serve next, `ready_at` the tick from which it can be: FOREVER without a head or a credit,
    else when a channel is idle. `queue` has all that wait when the pool is fifo, `turns` those of each worker when it
    is round_robin.
    """

    kind: str
    core: int
    credits: int
    arbitration: str
    free_at: list[int]
    arrivals: list[Sequence[Any]] = attrs.field(factory=list, init=False)
    queue: deque[Any] = attrs.field(factory=deque, init=False)
    turns: dict[int, deque[Any]] = attrs.field(factory=dict, init=False)
    pointer: int = attrs.field(default=0, init=False)
    head: Any = attrs.field(default=None, init=False)
    ready_at: int = attrs.field(default=FOREVER, init=False)
    in_flight: int = attrs.field(default=0, init=False)
    peak_in_flight: int = attrs.field(default=0, init=False)
    _join: Callable[["Pool", Sequence[Sequence[Any]]], Any] = attrs.field(init=False)
    _leave: Callable[["Pool", Any], Any] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._join, self._leave = ORDERS[self.arbitration]

    @property
    def name(self) -> str:
        """The direction, with "@core" when each core has its own."""
        return self.kind if self.core < 0 else f"{self.kind}@{self.core}"

    def admit(self) -> None:
        """The tick ends: what arrived in it joins the queue."""
        arrivals = self.arrivals
        if len(arrivals) > 1:
            arrivals.sort(key=_worker)
        self.head = self._join(self, arrivals)
        arrivals.clear()
        if self.in_flight < self.credits:
            self.ready_at = min(self.free_at)

    def take(self, tick: int, until: int) -> int:
        """Grant the head at `tick`: it leaves the queue and takes a credit and, `until` then, the lowest idle channel.

        Returns the channel.
        """
        free_at = self.free_at
        channel = free_at.index(tick) if self.ready_at == tick else _lowest_idle(free_at, tick)
        free_at[channel] = until
        self.head = head = self._leave(self, self.head)
        self.in_flight += 1
        if self.in_flight > self.peak_in_flight:
            self.peak_in_flight = self.in_flight
        self.ready_at = FOREVER if head is None or self.in_flight == self.credits else min(free_at)
        return channel

    def waiting(self) -> list[Any]:
        """What has no grant yet, by worker."""
        queued = [*self.queue, *(transfer for turn in self.turns.values() for transfer in turn)]
        arrived = [transfer for group in self.arrivals for transfer in group]
        return sorted([*queued, *arrived], key=lambda transfer: (transfer.worker, transfer.seq))


def make_pools(spec: DeviceSpec) -> list[Pool]:
    """Read and write pool of each core, or of all: index core * 2 + direction."""
    dma = spec.dma
    cores = range(spec.cores) if dma.channel_scope == "per_core" else (-1,)
    channels = {"read": dma.read_channels, "write": dma.write_channels}
    return [
        Pool(kind, core, dma.outstanding, dma.arbitration, [0] * channels[kind]) for core in cores for kind in KINDS
    ]


def _worker(group: Sequence[Any]) -> int:
    return group[0].worker


def _lowest_idle(free_at: Sequence[int], tick: int) -> int:
    channel = 0
    while free_at[channel] > tick:
        channel += 1
    return channel


def _join_queue(pool: Pool, arrivals: Sequence[Sequence[Any]]) -> Any:
    for group in arrivals:
        pool.queue.extend(group)
    return pool.queue[0]


def _leave_queue(pool: Pool, _: Any) -> Any:
    queue = pool.queue
    queue.popleft()
    return queue[0] if queue else None


def _join_turns(pool: Pool, arrivals: Sequence[Sequence[Any]]) -> Any:
    for group in arrivals:
        pool.turns.setdefault(group[0].worker, deque()).extend(group)
    return _next_in_turn(pool)


def _leave_turns(pool: Pool, transfer: Any) -> Any:
    turn = pool.turns[transfer.worker]
    turn.popleft()
    if not turn:
        del pool.turns[transfer.worker]
    pool.pointer = transfer.worker + 1
    return _next_in_turn(pool) if pool.turns else None


def _next_in_turn(pool: Pool) -> Any:
    workers = sorted(pool.turns)
    return pool.turns[next((w for w in workers if w >= pool.pointer), workers[0])][0]


ORDERS = {"fifo": (_join_queue, _leave_queue), "round_robin": (_join_turns, _leave_turns)}
"""How arrivals join, and how the head leaves: each returns the next head."""
