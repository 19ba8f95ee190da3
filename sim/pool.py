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

    @property
    def name(self) -> str:
        """The direction, with "@core" when each core has its own."""
        return self.kind if self.core < 0 else f"{self.kind}@{self.core}"

    def admit(self) -> None:
        """The tick ends: what arrived in it joins the queue."""
        arrivals = self.arrivals
        if len(arrivals) > 1:
            arrivals.sort(key=_worker)
        self.head = JOINS[self.arbitration](self, arrivals)
        arrivals.clear()
        if self.in_flight < self.credits:
            self.ready_at = min(self.free_at)

    def take(self, tick: int) -> Any:
        """Grant the head at `tick`: it leaves the queue and takes a credit and the lowest idle channel."""
        transfer, free_at = self.head, self.free_at
        transfer.channel = free_at.index(tick) if self.ready_at == tick else _lowest_idle(free_at, tick)
        self.head = LEAVES[self.arbitration](self, transfer)
        self.in_flight += 1
        if self.in_flight > self.peak_in_flight:
            self.peak_in_flight = self.in_flight
        return transfer

    def occupy(self, channel: int, until: int) -> None:
        """The channel that was taken is busy until then."""
        self.free_at[channel] = until
        self.ready_at = FOREVER if self.head is None or self.in_flight == self.credits else min(self.free_at)

    def give_back(self) -> bool:
        """A credit comes back; tells whether a head has waited for that."""
        awaited = self.in_flight == self.credits and self.head is not None
        self.in_flight -= 1
        if awaited:
            self.ready_at = min(self.free_at)
        return awaited

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


JOINS: dict[str, Callable[[Pool, Sequence[Sequence[Any]]], Any]] = {"fifo": _join_queue, "round_robin": _join_turns}
LEAVES: dict[str, Callable[[Pool, Any], Any]] = {"fifo": _leave_queue, "round_robin": _leave_turns}
