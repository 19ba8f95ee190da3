"""The exact engine against the event engine: every statistic, every moment of every transfer, on random devices."""

import random
import subprocess
import sys
from collections import Counter

import pytest

from tessbed.sim.exact import simulate
from tests.sim.programs import body_of, random_bands, random_device, timed
from tests.sim.rig import build

QUICK, PER_TEST = 600, 50


def both(seed, trace=True):
    """The event engine's statistics and the exact engine's timing of configuration `seed`."""
    rng = random.Random(seed)
    changes = random_device(rng)
    bands = [random_bands(rng) for _ in range(changes["workers"])]
    rig = build(body_of(bands), changes, trace=trace, seed=seed)
    spec = rig.device.spec
    return rig.run(), simulate(spec, [timed(spec, program) for program in bands], trace=trace)


def compare(seed):
    """Fails at the first difference; returns the arrivals, as ticks."""
    events, exact = both(seed)
    pools = [p.kind if p.core < 0 else f"{p.kind}@{p.core}" for p in events.pools]
    ours = sorted((m.arrival, m.worker, m.seq, pools[m.pool], m.grant, m.start, m.end, m.done) for m in exact.trace)
    theirs = sorted((t.arrival, t.worker, t.seq, t.pool, t.grant, t.start, t.end, t.done) for t in events.trace)
    assert ours == theirs
    for name in ("device_ticks", "workers", "pools", "ports", "digests"):
        assert getattr(exact, name) == getattr(events, name), name
    return [row[0] for row in ours]


@pytest.mark.parametrize("first", range(0, QUICK, PER_TEST))
def test_exact_is_the_event_engine(first) -> None:
    """All statistics and all moments are equal, and enough arrivals meet in one tick for that to mean something."""
    shared = total = 0
    for seed in range(first, first + PER_TEST):
        ticks = Counter(compare(seed))
        shared += sum(n for n in ticks.values() if n > 1)
        total += sum(ticks.values())
    assert shared >= 0.4 * total


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("first", range(10_000, 26_000, 1000))
def test_exact_is_the_event_engine_at_length(first) -> None:
    """The same, 16,000 more."""
    for seed in range(first, first + 1000):
        compare(seed)


def test_exact_needs_neither_numpy_nor_simpy() -> None:
    """Importing and running it leaves both alone."""
    script = (
        "import sys; from tessbed.sim.exact import *; from tessbed.sim.spec import DeviceSpec;"
        "b = TimedBand(((Cost(3, 4, 4),),), 10, False, (Cost(3, 2, 2),), 1);"
        "print(simulate(DeviceSpec(), [[Run((b,), 3)]]).device_ticks > 0, {'numpy', 'simpy'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "set()"]
