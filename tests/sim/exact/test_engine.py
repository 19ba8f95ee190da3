"""The exact engine, in Python and in C, against the event engine: every statistic, every timestamp of every
transfer."""

import random
import subprocess
import sys
from collections import Counter

import attrs
import pytest

from tessbed.sim.errors import EngineError
from tessbed.sim.exact import native, period_skip
from tessbed.sim.exact.engine import FORMS, VARIABLE, chosen_form, count_launch, simulate
from tessbed.sim.exact.program import BandRun, Cost, LaunchProgram, TimedBand
from tessbed.sim.exact.recurrence import Recurrence
from tessbed.sim.spec.device_spec import DIRECTIONS, DeviceSpec, override
from tessbed.sim.stats import STALLS
from tests.sim.programs import body_of, random_bands, random_device, random_launch, timed
from tests.sim.rig import build

QUICK, PER_TEST = 1000, 50
BAND = TimedBand(((Cost(71, 16, 64),) * 8,), 400, False, (Cost(64, 128, 512),), 1)
BUILT = [form for form in FORMS if form == "python" or not native.missing]


def compare(seed, monkeypatch):
    """Fails at the first difference; returns the arrivals, as ticks."""
    rng = random.Random(seed)
    changes = random_device(rng)
    bands = [random_bands(rng) for _ in range(changes["workers"])]
    rig = build(body_of(bands), changes, trace=True, seed=seed)
    spec, events = rig.device.spec, rig.run()
    program = LaunchProgram.of(timed(spec, own) for own in bands)
    theirs = sorted((t.arrival, t.worker, t.seq, t.pool, t.grant, t.start, t.end, t.done) for t in events.trace)
    for form in BUILT:
        monkeypatch.setenv(VARIABLE, form)
        exact = simulate(spec, program, trace=True)
        pools = [p.kind if p.core < 0 else f"{p.kind}@{p.core}" for p in events.pools]
        ours = sorted((m.arrival, m.worker, m.seq, pools[m.pool], m.grant, m.start, m.end, m.done) for m in exact.trace)
        assert ours == theirs, form
        assert attrs.evolve(exact, trace=()) == simulate(spec, program), form
        for name in ("device_ticks", "workers", "pools", "ports", "digests"):
            assert getattr(exact, name) == getattr(events, name), (form, name)
        assert count_launch(spec, program).totals == totals(events), form
    return [row[0] for row in theirs]


def totals(events):
    """The totals of a job, from the statistics that the event engine kept of its workers, pools and ports."""
    stalls = tuple(sum(worker.stalls[reason] for worker in events.workers) for reason in STALLS)
    busy = tuple(sum(pool.busy_ticks for pool in events.pools if pool.kind == kind) for kind in DIRECTIONS)
    return events.device_ticks, stalls, busy, sum(port.busy_ticks for port in events.ports)


@pytest.mark.parametrize("first", range(0, QUICK, PER_TEST))
def test_exact_is_the_event_engine(first, monkeypatch) -> None:
    """All statistics and all timestamps are equal, and enough arrivals meet in one tick for that to mean something."""
    shared = total = 0
    for seed in range(first, first + PER_TEST):
        ticks = Counter(compare(seed, monkeypatch))
        shared += sum(n for n in ticks.values() if n > 1)
        total += sum(ticks.values())
    assert shared >= 0.4 * total


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("first", range(10_000, 30_000, 1000))
def test_exact_is_the_event_engine_at_length(first, monkeypatch) -> None:
    """The same, 20,000 more."""
    for seed in range(first, first + 1000):
        compare(seed, monkeypatch)


def jumps(seed):
    """Fails unless jumping and walking count the same, in both forms; returns how many periods were jumped."""
    rng = random.Random(seed)
    spec = override(DeviceSpec(), random_device(rng))
    program = random_launch(rng, spec)
    walked = period_skip.count_in_python(spec, program, skips=False)
    found = [period_skip.count_in_python(spec, program)]
    if not native.missing:
        found += [native.count_in_c(spec, program), native.count_in_c(spec, program, skips=False)]
    for counted in found:
        assert attrs.evolve(counted.result, jumped=0) == walked
        assert counted.totals == walked.totals
    return found[0].jumped


def test_jumped_periods_are_counted_as_if_walked() -> None:
    """Random launches whose bands repeat; most of them have a steady state."""
    assert sum(jumps(seed) > 0 for seed in range(60)) >= 40


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("first", range(1000, 3000, 250))
def test_jumped_periods_are_counted_as_if_walked_at_length(first) -> None:
    """The same, 2,000 more."""
    for seed in range(first, first + 250):
        jumps(seed)


def grid(tiles, workers):
    """A uniform grid of tiles on as many cores as workers."""
    spec = override(DeviceSpec(), {"workers": workers, "cores": workers})
    return spec, LaunchProgram((BAND,), tuple((BandRun((0,), len(range(w, tiles, workers))),) for w in range(workers)))


@pytest.mark.parametrize("workers", [1, 4, 6])
def test_a_uniform_grid_costs_the_same_whatever_its_size(workers, monkeypatch) -> None:
    """Ten million tiles take the decisions of ten thousand, and both forms report the same of them."""
    served, serve = Counter(), Recurrence._serve
    monkeypatch.setattr(Recurrence, "_serve", lambda self, *a: served.update([tiles]) or serve(self, *a))
    for tiles in (10_000, 10_000_000):
        counted = period_skip.count_in_python(*grid(tiles, workers))
        assert sum(tally.sums[1].transfers for tally in counted.tallies) == tiles
        if not native.missing:
            native_result = native.count_in_c(*grid(tiles, workers)).result
            assert attrs.evolve(native_result, jumped=0) == attrs.evolve(counted, jumped=0)
    assert 0 < served[10_000_000] <= 2 * served[10_000] < 5000


@pytest.mark.skipif(bool(native.missing), reason=f"the extension is not there: {native.missing}")
def test_sums_past_64_bits() -> None:
    """Sums of ticks have two words in the figures; the totals of ten billion tiles are those that Python counts."""
    counted = period_skip.count_in_python(*grid(10**10, 3))
    assert min(sums.ends for tally in counted.tallies for sums in tally.sums) >> 64
    found = native.count_in_c(*grid(10**10, 3))
    assert found.totals == counted.totals
    assert attrs.evolve(found.result, jumped=0) == attrs.evolve(counted, jumped=0)


@pytest.mark.skipif(bool(native.missing), reason=f"the extension is not there: {native.missing}")
def test_launches_past_62_bits_are_for_python(monkeypatch) -> None:
    """They do not fit the extension, and are counted right all the same."""
    monkeypatch.setenv(VARIABLE, "native")
    spec = DeviceSpec()
    endless = LaunchProgram((BAND._replace(ticks=1 << 55),), ((BandRun((0,), 100),),))
    assert native.count_in_c(spec, LaunchProgram((BAND,), endless.workers))
    assert native.count_in_c(spec, endless) is None
    reported = simulate(spec, endless)
    assert reported.workers[0].stalls["compute"] == 100 << 55
    assert reported == simulate(spec, LaunchProgram(endless.bands, ((BandRun((0,) * 100),),)))


def test_what_is_asked_for_is_used_or_refused(monkeypatch) -> None:
    """An unknown form and an absent extension end with words; with nothing asked for, the extension is optional."""
    for asked in BUILT:
        monkeypatch.setenv(VARIABLE, asked)
        assert chosen_form() == asked
    monkeypatch.setenv(VARIABLE, "fortran")
    with pytest.raises(EngineError, match="TESSBED_EXACT: got 'fortran', wanted python or native"):
        chosen_form()
    monkeypatch.setattr(native, "missing", "it was not built")
    monkeypatch.setenv(VARIABLE, "native")
    with pytest.raises(EngineError, match="it was not built"):
        chosen_form()
    monkeypatch.delenv(VARIABLE)
    assert chosen_form() == "python"


def test_exact_needs_neither_numpy_nor_simpy() -> None:
    """Importing and running it leaves both alone."""
    script = (
        "import sys; from tessbed.sim.exact.engine import *; from tessbed.sim.spec.device_spec import DeviceSpec;"
        "from tessbed.sim.exact.program import *; b = TimedBand(((Cost(3, 4, 4),),), 10, False, (Cost(3, 2, 2),), 1);"
        "program = LaunchProgram((b,), ((BandRun((0,), 3),),));"
        "print(simulate(DeviceSpec(), program).device_ticks > 0, {'numpy', 'simpy'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "set()"]
