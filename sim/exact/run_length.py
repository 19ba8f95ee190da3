"""Run lengths: a worker's sequence of bands as runs, where blocks of it follow each other again and again.

A uniform grid of tiles repeats one band, or as many as it takes until addresses are alike in their granules; an edge
in each row of tiles makes a block of a row. What does not repeat stays as it is, in runs of their own.
"""

from array import array
from collections.abc import Iterable, Iterator

from tessbed.sim.exact.program import BandRun

LONGEST_BLOCK = 1024
FEWEST_TIMES = 8
"""Shorter repeats are not worth a run of their own."""


def runs_of(bands: Iterable[int]) -> Iterator[BandRun]:
    """The runs whose bands, one after the other, are `bands`."""
    sequence = array("i", bands)
    first = at = 0
    while at < len(sequence):
        block, times = _longest_repeat(sequence, at)
        if times < FEWEST_TIMES:
            at += 1
            continue
        if first < at:
            yield BandRun(sequence[first:at])
        yield BandRun(sequence[at : at + block], times)
        first = at = at + block * times
    if first < at:
        yield BandRun(sequence[first:at])


def _longest_repeat(sequence: "array[int]", at: int) -> tuple[int, int]:
    """The block from `at` on that covers most when repeated, and how often it is there."""
    best = 0, 0
    end, following = min(len(sequence), at + 1 + LONGEST_BLOCK), at
    while True:
        try:
            following = sequence.index(sequence[at], following + 1, end)
        except ValueError:
            return best
        block = following - at
        times = 1 + _equal(sequence, at, following) // block
        if block * times > best[0] * best[1]:
            best = block, times
        if 2 * block * times > len(sequence) - at:
            return best


def _equal(sequence: "array[int]", one: int, other: int) -> int:
    """How many bands from `other` on are those from `one` on."""
    equal, step = 0, 1
    longest = len(sequence) - other
    while step and equal < longest:
        step = min(step, longest - equal)
        if sequence[one + equal : one + equal + step] == sequence[other + equal : other + equal + step]:
            equal += step
            step *= 2
        else:
            step //= 2
    return equal
