"""The recurrence by hand, in Python and in C: grants, ties, waits and turns that a person can add up."""

from typing import Any

import pytest

from tessbed.sim.exact import native
from tessbed.sim.exact.engine import FORMS, VARIABLE, simulate
from tessbed.sim.exact.program import Cost, LaunchProgram, TimedBand
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tests.sim.rig import HAND

BUILT = [form for form in FORMS if form == "python" or not native.missing]
TickRows = list[tuple[int, ...]]


@pytest.fixture(params=BUILT, autouse=True)
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """One form of the engine."""
    monkeypatch.setenv(VARIABLE, request.param)


def transfer_ticks(changes: dict[str, Any], *workers: list[TimedBand]) -> TickRows:
    """(worker, seq, arrival, G, P, E, C) of every transfer, by worker."""
    spec = override(
        DeviceSpec(), {"launch_stagger_ticks": 0, "workers": len(workers), "cores": len(workers), **changes}
    )
    done = simulate(spec, LaunchProgram.of(workers), trace=True)
    return sorted((t.worker, t.seq, t.arrival, t.grant, t.start, t.end, t.done) for t in done.trace)


def drain(ticks: int, cost: Cost, *, ordered: bool = False) -> TimedBand:
    """A band without reads."""
    return TimedBand((), ticks, ordered, (cost,), 1)


def test_the_hand_case() -> None:
    """Arrival 2, G 2, P 5, E 9, C 14; drain arrival 26, G 26, P 29, E 31, C 35."""
    band = TimedBand(((Cost(3, 4, 4),),), 10, False, (Cost(3, 2, 2),), 1)
    assert transfer_ticks(HAND, [band]) == [(0, 0, 2, 2, 5, 9, 14), (0, 1, 26, 26, 29, 31, 35)]


PLAIN = {"issue_ticks": 1, "read_channels": 1, "write_channels": 1}
NO_LATENCY = {"read_latency_ticks": 0, "write_latency_ticks": 0, "split_port": False}


def test_an_older_request_of_another_pool_goes_first() -> None:
    """A drain that arrives between two reads of a group takes the shared port before the second of them."""
    reads = TimedBand(((Cost(0, 4, 4),) * 3,), 0, False, (Cost(0, 1, 1),), 1)
    found = transfer_ticks({"dma": PLAIN, "memory": NO_LATENCY}, [reads], [drain(4, Cost(0, 2, 2))])
    assert found[:3] == [(0, 0, 3, 3, 3, 7, 7), (0, 1, 3, 7, 9, 13, 13), (0, 2, 3, 13, 13, 17, 17)]
    assert found[-1] == (1, 0, 5, 5, 7, 9, 9)


def test_of_one_tick_the_lower_worker_goes_first() -> None:
    """Two drains that arrive together take their turns by worker, on one channel."""
    both = [drain(4, Cost(0, 2, 10))]
    found = transfer_ticks({"dma": PLAIN, "memory": NO_LATENCY}, both, both)
    assert found == [(0, 0, 5, 5, 5, 15, 15), (1, 0, 5, 15, 15, 25, 25)]


def test_round_robin_passes_the_turn_on() -> None:
    """After each grant it is the next worker's turn, though the first has asked before."""
    reads = TimedBand(((Cost(0, 2, 10),) * 2,), 0, False, (Cost(0, 1, 1),), 1)
    dma = {**PLAIN, "arbitration": "round_robin"}
    found = transfer_ticks({"dma": dma, "memory": NO_LATENCY}, [reads], [reads])
    grants = [(worker, seq, grant) for worker, seq, _, grant, *_ in found if seq < 2]
    assert grants == [(0, 0, 2), (0, 1, 22), (1, 0, 12), (1, 1, 32)]


@pytest.mark.parametrize(("slots", "arrival"), [(1, 32), (2, 18), (3, 12)], ids=["1 slot", "2 slots", "3 slots"])
def test_a_slot_is_free_when_its_own_drain_is_done(slots: int, arrival: int) -> None:
    """The third band waits for the drain that used its slot: the second one's, the first one's, or none."""
    bands = [drain(3, Cost(0, 2, 6)) for _ in range(3)]
    dma = {**PLAIN, "write_channels": 2}
    memory = {**NO_LATENCY, "write_latency_ticks": 4}
    found = transfer_ticks({"dma": dma, "memory": memory, "slots": slots}, bands)
    assert found[2][2] == arrival


def test_an_ordered_drain_waits_for_every_earlier_one() -> None:
    """Two drains on one channel are under way: the third arrives after the later of the two, and not before."""
    cost = Cost(0, 2, 20)
    bands = [drain(3, cost), drain(3, cost), drain(3, cost, ordered=True)]
    found = transfer_ticks({"dma": PLAIN, "memory": NO_LATENCY, "slots": 3}, bands)
    assert [row[2:4] for row in found] == [(4, 4), (8, 24), (45, 45)]


def test_a_credit_is_held_to_the_completion() -> None:
    """With one credit a transfer is granted when the one before it is done, not when its channel is idle."""
    bands = [drain(3, Cost(0, 2, 6)), drain(3, Cost(0, 2, 6))]
    memory = {**NO_LATENCY, "write_latency_ticks": 40}
    found = transfer_ticks(
        {"dma": {**PLAIN, "write_channels": 2, "outstanding": 1}, "memory": memory, "slots": 2}, bands
    )
    assert [row[3] for row in found] == [4, 50]
