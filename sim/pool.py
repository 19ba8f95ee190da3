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

    `head` is the transfer to serve next, `next_free` the first tick with an idle channel. `queue` has all that wait
    when the pool is fifo, `turns` those of each worker when it is round_robin.
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
    next_free: int = attrs.field(default=0, init=False)
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
        JOINS[self.arbitration](self, arrivals)
        arrivals.clear()

    def take(self, tick: int) -> Any:
        """Grant the head: it leaves the queue and takes a credit and the lowest channel that is idle at `tick`."""
        transfer = self.head
        LEAVES[self.arbitration](self, transfer)
        self.in_flight += 1
        if self.in_flight > self.peak_in_flight:
            self.peak_in_flight = self.in_flight
        for channel, free in enumerate(self.free_at):
            if free <= tick:
                transfer.channel = channel
                break
        return transfer

    def occupy(self, channel: int, until: int) -> None:
        """The channel is busy until then."""
        self.free_at[channel] = until
        self.next_free = min(self.free_at)

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


def _join_queue(pool: Pool, arrivals: Sequence[Sequence[Any]]) -> None:
    for group in arrivals:
        pool.queue.extend(group)
    pool.head = pool.queue[0]


def _leave_queue(pool: Pool, _: Any) -> None:
    queue = pool.queue
    queue.popleft()
    pool.head = queue[0] if queue else None


def _join_turns(pool: Pool, arrivals: Sequence[Sequence[Any]]) -> None:
    for group in arrivals:
        pool.turns.setdefault(group[0].worker, deque()).extend(group)
    pool.head = _next_in_turn(pool)


def _leave_turns(pool: Pool, transfer: Any) -> None:
    turn = pool.turns[transfer.worker]
    turn.popleft()
    if not turn:
        del pool.turns[transfer.worker]
    pool.pointer = transfer.worker + 1
    pool.head = _next_in_turn(pool)


def _next_in_turn(pool: Pool) -> Any:
    if not pool.turns:
        return None
    workers = sorted(pool.turns)
    return pool.turns[next((w for w in workers if w >= pool.pointer), workers[0])][0]


JOINS: dict[str, Callable[[Pool, Sequence[Sequence[Any]]], None]] = {"fifo": _join_queue, "round_robin": _join_turns}
LEAVES: dict[str, Callable[[Pool, Any], None]] = {"fifo": _leave_queue, "round_robin": _leave_turns}
