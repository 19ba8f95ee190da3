"""Sequences of bands as runs."""

import random

import pytest

from tessbed.sim.exact.program import unrolled
from tessbed.sim.exact.run_length import FEWEST_TIMES, LONGEST_BLOCK, runs_of

ROW = [0] * 39 + [1]


@pytest.mark.parametrize(
    ("sequence", "wanted"),
    [
        ([], []),
        ([7] * 1000, [([7], 1000)]),
        ([5, 6] + [7] * 20 + [8], [([5, 6], 1), ([7], 20), ([8], 1)]),
        (ROW * 30, [(ROW, 30)]),
        ([9] + [2, 2, 3, 3, 3] * 50 + [2, 2], [([9], 1), ([2, 2, 3, 3, 3], 50), ([2, 2], 1)]),
        (list(range(LONGEST_BLOCK)) * FEWEST_TIMES, [(list(range(LONGEST_BLOCK)), FEWEST_TIMES)]),
        ([1, 2] * (FEWEST_TIMES - 1), [([1, 2] * (FEWEST_TIMES - 1), 1)]),
    ],
    ids=["none", "one band", "edges", "rows of tiles", "inside", "longest", "too few"],
)
def test_repeats_become_runs(sequence, wanted) -> None:
    """A block that repeats is a run, as long as it may be; what does not is between."""
    assert [(list(run.bands), run.times) for run in runs_of(sequence)] == wanted


def test_runs_unroll_to_what_they_were() -> None:
    """Whatever the sequence, nothing is lost and nothing added."""
    for seed in range(300):
        rng = random.Random(seed)
        parts = [[rng.randrange(3) for _ in range(rng.randint(1, 6))] * rng.choice([1, 2, 9, 40]) for _ in range(5)]
        sequence = [band for part in parts for band in part]
        assert list(unrolled(runs_of(sequence))) == sequence
