"""Percentiles and intervals of latencies: exact order statistics, and none where there are too few frames for one.

A percentile is the smallest latency that so many hundredths of the frames do not exceed (nearest rank). Its interval
of 95 % is between two order statistics, by the binomial distribution of how many frames are below it; frames that
follow each other are not independent, so that with queues it is too narrow, and replications say more.
"""

from collections.abc import Sequence
from functools import cache
from math import comb, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

Latencies = NDArray[np.int64]
PERCENTILES = {"p50": 50, "p90": 90, "p95": 95, "p99": 99}
CERTAINTY = 0.01
NORMAL_95 = 1.959963984540054
STUDENT_95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""Student's t for 95 % of both sides, by degrees of freedom from 1."""


@cache
def sample_floor(percent: int) -> int:
    """The fewest frames of which a percentile is reported: the least n with p**n + n p**(n-1) (1-p) <= 0.01.

    With fewer it is too likely that at most one of them lies beyond the percentile.
    """
    p, count = percent / 100, 1
    while p**count + count * p ** (count - 1) * (1 - p) > CERTAINTY:
        count += 1
    return count


def total_ticks(latencies: Latencies) -> int:
    """Their sum, which 64 bits need not hold."""
    return (int((latencies >> 32).sum()) << 32) + int((latencies & 0xFFFF_FFFF).sum())


def latency_summary(ordered: Latencies) -> dict[str, Any]:
    """Mean, percentiles and maximum of sorted latencies, in ticks; None where there are too few of them."""
    count = len(ordered)
    found: dict[str, Any] = {"mean": round(total_ticks(ordered) / count, 3) if count else None}
    for name, percent in PERCENTILES.items():
        found[name] = percentile(ordered, percent) if count >= sample_floor(percent) else None
    return {**found, "max": int(ordered[-1]) if count else None}


def percentile(ordered: Latencies, percent: int) -> int:
    """By nearest rank, of at least one value."""
    return int(ordered[max(0, -(-len(ordered) * percent // 100) - 1)])


def percentile_intervals(ordered: Latencies) -> dict[str, list[int] | None]:
    """The interval of 95 % of each percentile that is reported."""
    count = len(ordered)
    return {
        name: _interval(ordered, percent) if count >= sample_floor(percent) else None
        for name, percent in PERCENTILES.items()
    }


def _interval(ordered: Latencies, percent: int) -> list[int]:
    """Between two order statistics: exact for few, by the normal distribution for many."""
    count, p = len(ordered), percent / 100
    if count <= 500:
        low, high = _ranks(count, p)
    else:
        half = NORMAL_95 * sqrt(count * p * (1 - p))
        low, high = int(count * p - half), int(count * p + half) + 1
    return [int(ordered[max(0, low - 1)]), int(ordered[min(count, high) - 1])]


@cache
def _ranks(count: int, p: float) -> tuple[int, int]:
    """The ranks (from 1) outside of which the percentile is with at most 2.5 % on each side."""
    below, low, high = 0.0, 0, count
    for rank in range(count + 1):
        below += comb(count, rank) * p**rank * (1 - p) ** (count - rank)
        if below <= 0.025:
            low = rank + 1
        if below >= 0.975:
            high = rank + 1
            break
    return max(1, low), min(count, high)


def mean_interval(values: Sequence[float]) -> list[float] | None:
    """The interval of 95 % of the mean of replications, by Student's t; None for fewer than two."""
    count = len(values)
    if count < 2:
        return None
    mean = sum(values) / count
    deviation = sqrt(sum((value - mean) ** 2 for value in values) / (count - 1))
    t = STUDENT_95[count - 2] if count - 2 < len(STUDENT_95) else NORMAL_95
    half = t * deviation / sqrt(count)
    return [round(mean - half, 3), round(mean + half, 3)]
