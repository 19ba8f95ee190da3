"""Pool state: a pool in the recurrence: its requests, its channels and credits by tick, and what it grants next."""

from collections import deque
from heapq import heappop
from typing import Any

import attrs

from tessbed.sim.spec.device_spec import DIRECTIONS, DeviceSpec

FOREVER = 1 << 200
Request = list[Any]  # arrival, worker state's number, next sequence, costs, transfers granted, latest E, worker state
Due = tuple[int, int, int, int, int]  # tick of the next grant, then the key: arrival, worker, sequence, pool
NEVER: Due = (FOREVER, 0, 0, 0, 0)


@attrs.define(eq=False)
class PoolState:
    """The ticks at which channels are idle (`idle_at`) and credits come back (`flying`) are heaps.

    Requests are in `requests`, a heap, or where workers take turns in `queues`, by worker; never in both.
    """

    number: int
    kind: int
    latency: int
    credits: int
    port: int
    idle_at: list[int]
    flying: list[int] = attrs.Factory(list)
    requests: list[Request] = attrs.Factory(list)
    queues: dict[int, deque[Request]] = attrs.Factory(dict)
    pointer: int = 0
    peak: int = 0


def make_pool_states(spec: DeviceSpec) -> list[PoolState]:
    """The pools in the order of `make_pools`."""
    cores = range(spec.cores if spec.dma.channel_scope == "per_core" else 1)
    latency = spec.memory.read_latency_ticks, spec.memory.write_latency_ticks
    channels = spec.dma.read_channels, spec.dma.write_channels
    return [
        PoolState(
            number=core * len(DIRECTIONS) + kind,
            kind=kind,
            latency=latency[kind],
            credits=spec.dma.outstanding,
            port=kind if spec.memory.split_port else 0,
            idle_at=[0] * channels[kind],
        )
        for core in cores
        for kind in range(len(DIRECTIONS))
    ]


def leave(line: PoolState, worker: int) -> None:
    """The request of `worker`, whose turn it is, leaves: all of it is granted."""
    if line.requests:
        heappop(line.requests)
        return
    queue = line.queues[worker]
    queue.popleft()
    if not queue:
        del line.queues[worker]


def _free_from(line: PoolState, tick: int) -> int:
    """The first tick from `tick` on with an idle channel and a credit."""
    idle, flying = line.idle_at[0], line.flying
    if idle > tick:
        tick = idle
    return flying[0] if len(flying) >= line.credits and flying[0] > tick else tick


def due_oldest(line: PoolState, now: int) -> Due:
    """When the oldest request's next transfer is granted, and its key."""
    if not line.requests:
        return NEVER
    request = line.requests[0]
    arrival = request[0]
    return _free_from(line, arrival if arrival > now else now), arrival, request[1], request[2], line.number


def due_in_turn(line: PoolState, now: int) -> Due:
    """The same for the oldest request of the worker whose turn it then is."""
    heads = [queue[0] for queue in line.queues.values()]
    if not heads:
        return NEVER
    tick = _free_from(line, max(now, min(head[0] for head in heads)))
    ready = [head for head in heads if head[0] <= tick]
    arrival, worker, seq, *_ = min(ready, key=lambda head: (head[1] < line.pointer, head[1]))
    return tick, arrival, worker, seq, line.number
