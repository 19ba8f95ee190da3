"""Pool state: a pool in the recurrence: its requests, its channels and credits by tick, and what it grants next.

The rule: the head of a pool is granted at the first tick at which it has arrived, a channel is idle and a credit is
there. All three are known integers, so that tick is a maximum:

    max(now, arrival, idle_at[0], and in_flight[0] where as many are in flight as there are credits)

`in_flight` may hold C that are past, whose credits are back: they are dropped at the next grant, and do no harm before,
since a past C is never the maximum. Under `fifo` the head is the least (arrival, worker, sequence). Under `round_robin`
it is the oldest request of the first worker at or after `pointer` among those that have arrived by that very tick; so
the tick is found first, from the earliest arrival, and then who is there.

A `Due` is that tick and the key by which pools that are due in one tick come one after the other; `min` of all pools'
is the next decision.
"""

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
    """The ticks at which channels are idle (`idle_at`) and credits come back (`in_flight`) are heaps.

    Requests are in `requests`, a heap, or where workers take turns in `queues`, by worker; never in both.
    """

    number: int
    kind: int
    latency: int
    credits: int
    port: int
    idle_at: list[int]
    in_flight: list[int] = attrs.Factory(list)
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


def leave(pool: PoolState, worker: int) -> None:
    """The request of `worker`, whose turn it is, leaves: all of it is granted."""
    if pool.requests:
        heappop(pool.requests)
        return
    queue = pool.queues[worker]
    queue.popleft()
    if not queue:
        del pool.queues[worker]


def _free_from(pool: PoolState, tick: int) -> int:
    """The first tick from `tick` on with an idle channel and a credit."""
    idle, in_flight = pool.idle_at[0], pool.in_flight
    if idle > tick:
        tick = idle
    return in_flight[0] if len(in_flight) >= pool.credits and in_flight[0] > tick else tick


def due_oldest(pool: PoolState, now: int) -> Due:
    """When the oldest request's next transfer is granted, and its key."""
    if not pool.requests:
        return NEVER
    request = pool.requests[0]
    arrival = request[0]
    return _free_from(pool, arrival if arrival > now else now), arrival, request[1], request[2], pool.number


def due_in_turn(pool: PoolState, now: int) -> Due:
    """The same for the oldest request of the worker whose turn it then is."""
    heads = [queue[0] for queue in pool.queues.values()]
    if not heads:
        return NEVER
    tick = _free_from(pool, max(now, min(head[0] for head in heads)))
    ready = [head for head in heads if head[0] <= tick]
    arrival, worker, seq, *_ = min(ready, key=lambda head: (head[1] < pool.pointer, head[1]))
    return tick, arrival, worker, seq, pool.number
