"""Hazards of one kind at the same lines are one finding; workers are ranges."""

import pytest

from tessbed.sim.finding import Folds, Hazard, HazardAccess, worker_words
from tessbed.sim.source_line import SourceLine

FIRST, SECOND = SourceLine("a.py", 3, "f"), SourceLine("a.py", 9, "f")


def race(some: int, other: int, line: SourceLine | None = SECOND, kind: str = "granule_race") -> Hazard:
    """A hazard of two workers."""
    sides = (
        HazardAccess(some, 1, "drain", FIRST if line else None, "memory", 0, 64),
        HazardAccess(other, 2, "drain", line, "memory", 32, 96),
    )
    return Hazard(kind, 0, f"{some} and {other}", sides)


@pytest.mark.parametrize(
    ("workers", "words"),
    [
        ([3], "worker 3"),
        ([0, 1], "workers 0 and 1"),
        ([2, 1, 0], "workers 0 to 2"),
        ([0, 1, 2, 5], "workers 0 to 2 and 5"),
        ([0, 2, 3, 7, 8, 9], "workers 0, 2, 3 and 7 to 9"),
    ],
)
def test_workers_are_ranges(workers: list[int], words: str) -> None:
    """Three or more in a row are a range, in order."""
    assert worker_words(workers) == words


def test_equal_lines_fold() -> None:
    """The first is kept with its bytes, the workers of each side are collected, and all are counted."""
    folds = Folds()
    for some, other in ((0, 1), (1, 2), (0, 1), (4, 5)):
        folds.add(race(some, other))
    (finding,) = folds.findings()
    assert finding.hazard == race(0, 1)
    assert (finding.workers, finding.times) == (((0, 1, 4), (1, 2, 5)), 4)


def test_what_differs_stays_apart() -> None:
    """Another kind, another line, one worker instead of two; without lines, another text."""
    folds = Folds()
    hazards = [
        race(0, 1),
        race(0, 1, FIRST),
        race(0, 1, kind="read_race"),
        race(3, 3),
        race(0, 1, None),
        race(0, 2, None),
    ]
    for hazard in [*hazards, *hazards]:
        folds.add(hazard)
    assert [finding.hazard for finding in folds.findings()] == hazards
    assert {finding.times for finding in folds.findings()} == {2}
