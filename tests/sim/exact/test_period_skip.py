"""Jumps over periods: a launch that repeats is counted without being walked, to the last tick and the last sum."""

import random

import attrs
import pytest

from tessbed.sim.exact import native, period_skip
from tessbed.sim.exact.program import BandRun, Cost, LaunchProgram, TimedBand
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tests.sim.programs import random_device, random_launch

READS, DRAIN = (Cost(7, 16, 64),) * 3, (Cost(6, 32, 48),)
BANDS = (
    TimedBand((READS, READS[:1]), 40, False, DRAIN, 1),
    TimedBand((READS[:2],), 5, True, (Cost(3, 8, 90),), 2),
    TimedBand((), 300, False, DRAIN, 1),
)
LAUNCHES = {  # the runs of each worker: (bands of a round, rounds)
    "one worker": [[((0,), 500)]],
    "an ordered drain each round": [[((0, 1), 301)]],
    "a run after a run": [[((0,), 200), ((2, 1), 77), ((0,), 3)]],
    "two cores in step": [[((0,), 400)], [((0,), 400)]],
    "two cores of unequal rounds": [[((0, 2), 120)], [((1,), 350)]],
    "workers one after the other": [[((0,), 150)], [((1,), 90)], [((0,), 150)]],
}


def launch(name: str, arbitration: str) -> tuple[DeviceSpec, LaunchProgram]:
    """A launch of the table on two cores."""
    dma = {"arbitration": arbitration, "read_channels": 2, "outstanding": 3}
    spec = override(DeviceSpec(), {"cores": 2, "workers": 4, "dma": dma})
    return spec, LaunchProgram(BANDS, tuple(tuple(BandRun(*run) for run in runs) for runs in LAUNCHES[name]))


def same_counts(spec: DeviceSpec, program: LaunchProgram) -> int:
    """Fails unless both forms count with jumps what they count without; returns how many periods were jumped."""
    walked = period_skip.count_in_python(spec, program, skips=False)
    assert walked.jumped == 0
    jumped = period_skip.count_in_python(spec, program)
    others = [] if native.missing else [native.count_in_c(spec, program), native.count_in_c(spec, program, skips=False)]
    for counted in (jumped, *others):
        assert attrs.evolve(counted.result, jumped=0) == walked
    return jumped.jumped


@pytest.mark.parametrize("arbitration", ["fifo", "round_robin"])
@pytest.mark.parametrize("name", LAUNCHES)
def test_a_jump_counts_what_a_walk_counts(name: str, arbitration: str) -> None:
    """Ticks, stalls, sums, peaks and busy ports are equal whether periods are jumped or walked, in Python and in C."""
    assert same_counts(*launch(name, arbitration)) > 0


@pytest.mark.parametrize("seed", range(2000, 2012))
def test_random_launches(seed: int) -> None:
    """The same of random launches on random devices, whether they have a steady state or none."""
    rng = random.Random(seed)
    spec = override(DeviceSpec(), random_device(rng))
    same_counts(spec, random_launch(rng, spec))


def test_the_cost_does_not_grow_with_the_rounds() -> None:
    """Of ten million rounds all but a few hundred are jumped, two slots being one period, and ticks grow by periods."""
    spec, _ = launch("one worker", "fifo")
    few, many, more = (
        period_skip.count_in_python(spec, LaunchProgram(BANDS, ((BandRun((0,), rounds),),)))
        for rounds in (1000, 10_000_000, 10_000_002)
    )
    assert 2 * many.jumped > 9_990_000
    period = more.tallies[0].finish - many.tallies[0].finish
    assert many.tallies[0].finish - few.tallies[0].finish == (10_000_000 - 1000) // 2 * period
