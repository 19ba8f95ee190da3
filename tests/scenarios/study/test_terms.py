"""Terms of an attribution: which queue, which data, whose wait, at the very ticks where one becomes the other."""

from collections import Counter

import pytest

from tessbed.scenarios.study.measurement import measure_scenario, on_device
from tessbed.scenarios.study.tick_attribution import attribute_ticks, credits_by_pool
from tessbed.scenarios.timeline.wait_parts import RecentCredits, clipped, transfer_parts
from tessbed.sim.dma.channel_pool import make_pools
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tessbed.sim.stats import STALLS, TransferRecord
from tessbed.sim.transfer.cost import TransferCost
from tests.scenarios.study.test_tick_attribution import random_scenarios


def record(seq: int, grant: int, end: int, done: int, *, arrival: int = 0, pool: str = "read") -> TransferRecord:
    """A read of worker 0 that gets its channel at `grant`, gives it back at `end`, and its credit at `done`."""
    return TransferRecord(0, seq, "read", arrival, 0, pool, grant, grant, end, done, 64)


# Two credits; the transfer asked about is granted at tick 100. Those before it: (grant, end, done).
QUEUES = [
    ("a credit comes back in the tick of the grant", [(0, 50, 100), (0, 60, 130)], "credit"),
    ("a credit came back the tick before", [(0, 50, 99), (0, 100, 130)], "channel"),
    ("one credit is left, a channel comes back in the tick", [(0, 100, 130)], "channel"),
    ("the other took its credit in the same tick", [(0, 100, 130), (100, 120, 150)], "channel"),
    ("the other took its credit the tick before", [(0, 100, 130), (99, 120, 150)], "credit"),
    ("nobody else", [], "channel"),
]


@pytest.mark.parametrize(("others", "lacked"), [row[1:] for row in QUEUES], ids=[row[0] for row in QUEUES])
def test_a_credit_queue_is_no_channel_queue(others: list[tuple[int, int, int]], lacked: str) -> None:
    """What was lacking is what was lacking in the tick before the grant, in the transfer's own pool."""
    asked = record(9, 100, 110, 140)
    mine = [*(record(seq, *times) for seq, times in enumerate(others)), asked]
    pools = credits_by_pool(2, mine + [record(50 + seq, 0, 200, 300, pool="write") for seq in range(5)])
    assert pools["read"].lack(asked.grant) == lacked
    assert parts_of(asked, cost_of(0, 4, 10), lacked, 0, 140)[0][0] == f"read {lacked}: queue"


@pytest.mark.parametrize(("others", "lacked"), [row[1:] for row in QUEUES], ids=[row[0] for row in QUEUES])
@pytest.mark.parametrize("landed", [True, False], ids=["they have landed", "some still fly"])
def test_a_timeline_under_way_knows_what_was_lacking(
    others: list[tuple[int, int, int]], lacked: str, landed: bool
) -> None:
    """While transfers land, those that have not count as holders of a credit where their grant is before."""
    recent = RecentCredits(2)
    over = [times for times in others if landed or times[2] <= 110]
    for seq, times in enumerate(sorted(over, key=lambda times: times[2])):
        recent.learn(record(seq, *times))
    recent.forget(90)
    assert recent.lack(100, sum(times[0] < 100 for times in others if times not in over)) == lacked


def test_the_pool_agrees_on_what_was_lacking() -> None:
    """The device grants at a credit's return, when it waited for one, and at a channel's, when it waited for that."""
    spec = override(DeviceSpec(), {"dma": {"outstanding": 1, "read_channels": 2}})
    pool = make_pools(spec)[0]
    for dones, ready in (([100], 100), ([99], 99)):
        pool.head, pool.in_flight = record(1, -1, -1, -1), [*dones]
        pool.free_at = [50, 60]
        assert pool.next_ready() == ready
    asked = record(1, 100, 110, 140)
    assert credits_by_pool(1, [record(0, 0, 60, 100), asked])["read"].lack(asked.grant) == "credit"


def parts_of(asked: TransferRecord, cost: TransferCost, lack: str, low: int, high: int) -> list[tuple[str, int]]:
    """The parts of a wait with their ticks."""
    return [(name, end - begin) for name, begin, end in clipped(transfer_parts(asked, cost, lack), low, high)]


def cost_of(s: int, m: int, c: int) -> TransferCost:
    """A read of which only the ticks matter."""
    return TransferCost("read", s, m, c, 30, (), 64, 64, 1, 1, 0)


@pytest.mark.parametrize(
    ("m", "c", "data"),
    [(10, 10, "memory port: data"), (9, 10, "read channel: data"), (1, 10, "read channel: data")],
    ids=["the port is what it takes", "one tick more than the port", "much more than the port"],
)
def test_channel_data_is_what_the_port_does_not_explain(m: int, c: int, data: str) -> None:
    """Data ticks are the memory port's exactly where the port needs all of them."""
    asked = TransferRecord(0, 0, "read", 5, 0, "read", 20, 40, 40 + c, 70 + c, 64)
    assert parts_of(asked, cost_of(15, m, c), "channel", 0, 70 + c) == [
        ("read channel: queue", 15),
        ("read channel: set-up", 15),
        ("memory port: queue", 5),
        (data, c),
        ("read latency", 30),
    ]
    assert parts_of(asked, cost_of(15, m, c), "channel", 41, 45) == [(data, 4)]


@pytest.mark.parametrize("workers", [1, 5], ids=["one worker", "a core's workers"])
def test_the_terms_of_a_reason_are_the_stalls_of_that_reason(workers: int) -> None:
    """By reason, the terms of a core's timeline are what its workers themselves counted, and the launch is the rest."""
    met: set[str] = set()
    for scenario in random_scenarios(40, 17):
        (alone,) = measure_scenario(on_device(scenario, workers=workers, cores=1, core_ids=())).jobs
        found: Counter[str] = Counter()
        for term, ticks in attribute_ticks(alone).items():
            found[term.reason] += ticks
        for reason in STALLS:
            assert found.pop(reason, 0) == sum(worker.stalls[reason] for worker in alone.stats.workers)
        met |= {reason for reason in STALLS if any(worker.stalls[reason] for worker in alone.stats.workers)}
        assert set(found) <= {"stagger", "relaunch"}
    assert met == set(STALLS)
