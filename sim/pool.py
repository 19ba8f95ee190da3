"""A pool of DMA channels: what waits, what is idle, and who comes first.

Each worker's requests wait in their own order. `fifo` takes the oldest of all, ties by worker then sequence;
`round_robin` takes the first worker at or after the pointer, and moves the pointer past it.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

import attrs

from tessbed.sim.spec import DeviceSpec

Key = tuple[int, int, int]  # arrival tick, worker, sequence
FOREVER = 1 << 62
KINDS = ("read", "write")


@attrs.define(eq=False)
class Pool:
    """Channels of one direction (`core` -1: of all cores). `free_at` is when each channel is idle again."""

    kind: str
    core: int
    credits: int
    arbitration: str
    free_at: list[int]
    waiting: dict[int, deque[Any]] = attrs.field(factory=dict, init=False)
    in_flight: int = attrs.field(default=0, init=False)
    peak_in_flight: int = attrs.field(default=0, init=False)
    pointer: int = attrs.field(default=0, init=False)
    busy_ticks: int = attrs.field(default=0, init=False)
    grants: int = attrs.field(default=0, init=False)
    woken_at: int = attrs.field(default=-1, init=False)

    def add(self, transfer: Any) -> None:
        """A request arrives."""
        self.waiting.setdefault(transfer.worker, deque()).append(transfer)

    def idle_channel(self, tick: int) -> int:
        """The lowest channel idle at `tick`, or -1."""
        for channel, free in enumerate(self.free_at):
            if free <= tick:
                return channel
        return -1

    def head(self) -> Any:
        """The transfer to serve next; something must be waiting."""
        return HEADS[self.arbitration](self)

    def take(self, transfer: Any) -> None:
        """Grant `transfer`: it leaves the queue and takes a credit."""
        queue = self.waiting[transfer.worker]
        queue.popleft()
        if not queue:
            del self.waiting[transfer.worker]
        self.pointer = transfer.worker + 1
        self.in_flight += 1
        self.grants += 1
        self.peak_in_flight = max(self.peak_in_flight, self.in_flight)


def make_pools(spec: DeviceSpec) -> list[Pool]:
    """Read and write pool of each core, or of all: index core * 2 + direction."""
    dma = spec.dma
    cores = range(spec.cores) if dma.channel_scope == "per_core" else (-1,)
    channels = {"read": dma.read_channels, "write": dma.write_channels}
    return [
        Pool(kind, core, dma.outstanding, dma.arbitration, [0] * channels[kind]) for core in cores for kind in KINDS
    ]


def _oldest(pool: Pool) -> Any:
    return min((queue[0] for queue in pool.waiting.values()), key=_key)


def _next_in_turn(pool: Pool) -> Any:
    workers = sorted(pool.waiting)
    return pool.waiting[next((w for w in workers if w >= pool.pointer), workers[0])][0]


def _key(transfer: Any) -> Key:
    return transfer.key


HEADS: dict[str, Callable[[Pool], Any]] = {"fifo": _oldest, "round_robin": _next_in_turn}
