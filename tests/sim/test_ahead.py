"""Short cuts of the engine (ahead, at once, ticks alone): none may change a tick, a statistic or a byte."""

import random

import attrs
import pytest

from tests.sim.programs import body_of, random_bands, random_device
from tests.sim.rig import build

SEEDS = range(60)


def device(seed, **options):
    """A rig with a random device and program; nothing is waited for before the launch or after it."""
    rng = random.Random(seed)
    changes = {**random_device(rng), "dispatch_ticks": 0, "completion_ticks": 0}
    programs = [random_bands(rng) for _ in range(changes["workers"])]
    return build(body_of(programs), changes, trace=True, seed=seed, **options)


def every_tick(env):
    """Something stands in the queue at every tick, so that nothing ever comes next by itself."""
    while True:
        yield env.timeout(1)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_busy_queue_changes_nothing(seed) -> None:
    """With an event of somebody else's at each tick, the arbiter cannot go ahead: same statistics, same bytes."""
    alone, watched = device(seed), device(seed)
    watched.device.env.process(every_tick(watched.device.env))
    assert attrs.asdict(alone.run()) == attrs.asdict(watched.run())
    assert bytes(alone.data) == bytes(watched.data)


@pytest.mark.parametrize("seed", SEEDS)
def test_ticks_alone(seed) -> None:
    """Without data every statistic but the bytes moved is the same, and no byte of memory changes.

    Only the order in which the trace names transfers that end in one tick may differ.
    """
    full, bare = device(seed), device(seed, moves=False)
    before = bytes(bare.data)
    expected, got = attrs.asdict(full.run()), attrs.asdict(bare.run())
    for traffic in ("reads", "writes"):
        assert got[traffic]["moved_bytes"] == got[traffic]["due_bytes"] == 0
        got[traffic] |= {name: expected[traffic][name] for name in ("moved_bytes", "due_bytes")}
    for stats in (got, expected):
        stats["trace"] = sorted(stats["trace"], key=lambda record: (record["worker"], record["seq"]))
    assert got == expected
    assert bytes(bare.data) == before
