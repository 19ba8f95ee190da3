"""A pool of the recurrence: when its head is granted, and who is its head; by hand."""

from collections import deque
from typing import Any

import pytest

from tessbed.sim.exact.pool_state import NEVER, PoolState, due_in_turn, due_oldest, leave, make_pool_states
from tessbed.sim.spec.device_spec import DeviceSpec, override


def request(arrival: int, worker: int, seq: int = 0) -> list[Any]:
    """A request, as far as a pool looks at it."""
    return [arrival, worker, seq, (), 0, 0, None]


def pool(idle_at: list[int], in_flight: list[int], allowed: int, **more: Any) -> PoolState:
    """A pool whose heaps are given in order."""
    return PoolState(3, 0, 5, allowed, 0, idle_at, in_flight, **more)


DUE = {  # idle_at, in_flight, credits, arrival, now, the tick of the grant
    "at its arrival": ([0, 0], [], 4, 9, 2, 9),
    "now, where it has waited": ([0, 0], [], 4, 1, 6, 6),
    "when a channel is idle": ([8, 12], [20, 30], 4, 1, 6, 8),
    "when a credit comes back": ([0, 12], [20, 30], 2, 1, 6, 20),
    "a credit that is back": ([0, 12], [5, 30], 2, 1, 6, 6),
    "a credit that is back this tick": ([0, 12], [6, 30], 2, 1, 6, 6),
    "the later of channel and credit": ([25, 31], [20, 30], 2, 1, 6, 25),
}


@pytest.mark.parametrize(("idle", "held", "allowed", "arrival", "now", "tick"), DUE.values(), ids=DUE)
def test_the_tick_is_a_maximum(idle, held, allowed, arrival, now, tick) -> None:
    """Of now, the arrival, the first idle channel, and the first credit where none is left; under both orders."""
    oldest = pool(idle, held, allowed, requests=[request(arrival, 1, 7)])
    in_turn = pool(idle, held, allowed, queues={1: deque([request(arrival, 1, 7)])})
    assert due_oldest(oldest, now) == due_in_turn(in_turn, now) == (tick, arrival, 1, 7, 3)


def test_a_pool_without_requests_is_never_due() -> None:
    """It comes after every other."""
    assert due_oldest(pool([0], [], 1), 5) == due_in_turn(pool([0], [], 1), 5) == NEVER


TURNS = [(0, 0), (1, 2), (2, 2), (3, 0)]


@pytest.mark.parametrize(("pointer", "worker"), TURNS, ids=[f"from {pointer}" for pointer, _ in TURNS])
def test_whose_turn_it_is(pointer: int, worker: int) -> None:
    """The first worker from the pointer on, round the end; worker 1, who comes a tick late, is passed over."""
    queues = {0: deque([request(4, 0)]), 1: deque([request(9, 1)]), 2: deque([request(8, 2)])}
    state = pool([8], [], 4, queues=queues, pointer=pointer)
    assert due_in_turn(state, 0)[:3] == (8, queues[worker][0][0], worker)


def test_who_leaves() -> None:
    """The least request of a heap; of a worker's queue the first, and the queue with the last."""
    oldest = pool([0], [], 1, requests=[request(1, 0), request(2, 0)])
    leave(oldest, 0)
    assert oldest.requests == [request(2, 0)]
    in_turn = pool([0], [], 1, queues={0: deque([request(1, 0)]), 4: deque([request(1, 4), request(3, 4)])})
    leave(in_turn, 4)
    leave(in_turn, 0)
    assert in_turn.queues == {4: deque([request(3, 4)])}


def test_pools_of_a_device() -> None:
    """Reads and writes, each with its channels, latency and port; a pair for each core where channels are per core."""
    changes = {
        "cores": 2,
        "dma": {"read_channels": 3, "write_channels": 1, "outstanding": 6, "channel_scope": "per_core"},
        "memory": {"read_latency_ticks": 50, "write_latency_ticks": 40, "split_port": True},
    }
    pools = make_pool_states(override(DeviceSpec(), changes))
    seen = [(p.number, p.kind, len(p.idle_at), p.latency, p.port, p.credits) for p in pools]
    assert seen == [(0, 0, 3, 50, 0, 6), (1, 1, 1, 40, 1, 6), (2, 0, 3, 50, 0, 6), (3, 1, 1, 40, 1, 6)]
    shared = make_pool_states(override(DeviceSpec(), {**changes, "dma": {"channel_scope": "shared"}}))
    assert [p.number for p in shared] == [0, 1]
