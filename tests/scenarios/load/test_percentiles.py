"""Percentiles: exact by rank, none below their floors, with intervals that cover what they should."""

import random

import numpy as np
import pytest

from tessbed.scenarios.load.percentiles import (
    latency_summary,
    mean_interval,
    percentile,
    percentile_intervals,
    sample_floor,
    total_ticks,
)


@pytest.mark.parametrize(("percent", "floor"), [(50, 11), (90, 64), (95, 130), (99, 662)])
def test_floors_are_the_least_that_will_do(percent: int, floor: int) -> None:
    """At the floor p**n + n p**(n-1) (1-p) is at most 0.01, one frame below it is not."""
    p = percent / 100
    chance = [p**n + n * p ** (n - 1) * (1 - p) for n in (floor - 1, floor)]
    assert chance[0] > 0.01 >= chance[1]
    assert sample_floor(percent) == floor


@pytest.mark.parametrize(("count", "known"), [(0, []), (10, ["max", "mean"]), (63, ["max", "mean", "p50"])])
def test_too_few_frames_give_no_number(count: int, known: list[str]) -> None:
    """A percentile below its floor is None, and so is its interval."""
    ordered = np.arange(count, dtype=np.int64)
    found = latency_summary(ordered)
    assert sorted(name for name, value in found.items() if value is not None) == known
    assert [name for name, value in percentile_intervals(ordered).items() if value] == [n for n in known if "p" in n]


def test_a_percentile_is_by_nearest_rank() -> None:
    """Of 1 to 1000 the p99 is 990: 99 in a hundred do not exceed it."""
    ordered = np.arange(1, 1001, dtype=np.int64)
    assert [percentile(ordered, percent) for percent in (50, 90, 95, 99)] == [500, 900, 950, 990]


@pytest.mark.parametrize("count", [200, 2000])
def test_an_interval_covers_the_percentile_as_often_as_it_says(count: int) -> None:
    """In 400 draws of an exponential, the interval of p90 has the true one inside in about 95 of 100."""
    draw, true, inside = random.Random(1), 2.302585 * 1e6, 0
    for _ in range(400):
        ordered = np.sort(np.array([int(draw.expovariate(1e-6)) for _ in range(count)], dtype=np.int64))
        low, high = percentile_intervals(ordered)["p90"] or (0, 0)
        inside += low <= true <= high
    assert 0.92 <= inside / 400 <= 0.985


def test_sums_beyond_64_bits_are_exact() -> None:
    """A million latencies of 2**60 ticks sum to what they do."""
    assert total_ticks(np.full(1_000_000, 2**60 + 1, dtype=np.int64)) == 1_000_000 * (2**60 + 1)


def test_replications_give_an_interval_by_student() -> None:
    """Of two values the mean and 12.706 standard errors on each side; of one there is none."""
    assert mean_interval([1.0]) is None
    assert mean_interval([1.0, 3.0]) == pytest.approx([2 - 12.706, 2 + 12.706])
