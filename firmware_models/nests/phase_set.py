"""Phase sets: at which places in their pages the bands of a loop nest are, and how often, without taking its turns.

## Theory

An address in a nest is base + i1 * move1 + i2 * move2 + ..., each index from 0 to before the count of its loop. Modulo
4096 a loop goes round a *cycle*: the places that are its move apart, 4096 / gcd(4096, move) of them. So how often each
place comes is a vector of 4096 integers, and a loop around it replaces each by the sum of the last `count` ones on its
cycle: so many whole cycles, and a rest, which is a difference of two prefix sums (`spread`). That takes the same for
ten turns and for ten million.

Reads and drains have different moves, and a band is one of the pairs that come together. A loop of at least as many
turns as its period (of both) goes through a whole subgroup of pairs, and several do through the sum of theirs. A
subgroup of Z/4096 x Z/4096 has two generators (first, across) and (0, step), where first and step divide 4096: with
each read place come drain places that are equal modulo `step`, and all of these. Loops of fewer turns than their period
go through few places, which are listed (`Pairs.shifts`); where these are many, too, the loop counts as a long one. Then
some pairs are listed that never come, and none is missing.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from math import gcd
from typing import Any

import attrs
import numpy as np

from tessbed.sim.spec.limits import PAGE_BYTES

MOST_LISTED = 1 << 14
"""Places of reads times shifts that are looked at for the pairs of a band."""

Array = Any
Turns = tuple[tuple[int, int], ...]
"""The loops around a band: the count of each, and by how much a turn moves, modulo a page."""


def turns_of(counts: Iterable[int], moves: Iterable[int]) -> Turns:
    """The loops of these counts in which something moves; a loop in which nothing does is one with move 0."""
    return tuple([(count, move % PAGE_BYTES) for count, move in zip(counts, moves, strict=True)])


@lru_cache(maxsize=256)
def times_at(turns: Turns) -> tuple[Array, Array]:
    """The places at which something comes that starts at place 0, and how often it comes at each."""
    times = np.zeros(PAGE_BYTES, np.int64)
    times[0] = 1
    for count, move in turns:
        times = spread(times, count, move)
    places = np.flatnonzero(times)
    times = times[places]
    places.setflags(write=False)
    times.setflags(write=False)
    return places, times


def spread(values: Array, count: int, move: int) -> Array:
    """The sum of `values` moved by 0, move, ... up to count - 1 times `move`, on a ring as long as it is."""
    size = len(values)
    begins = gcd(size, move)
    length = size // begins
    if length == 1:
        return values * count
    cycles = _cycles(size, move % size)
    whole, rest = divmod(count, length)
    along = values[cycles]
    total = whole * along.sum(axis=1, keepdims=True)
    if rest:
        sums = np.cumsum(np.concatenate((along, along), axis=1), axis=1)
        total = total + sums[:, length:] - sums[:, length - rest : -rest]
    found = np.empty_like(values)
    found[cycles] = total
    return found


@lru_cache(maxsize=64)
def _cycles(size: int, move: int) -> Array:
    """The places of a ring, those of each cycle in a row."""
    begins = gcd(size, move)
    return (np.arange(begins)[:, None] + np.arange(size // begins) * move) % size


@attrs.frozen(eq=False, slots=False)
class Pairs:
    """The pairs of places (of reads, of drains) of a nest: the subgroup of (first, across) and (0, step), shifted."""

    first: int
    across: int
    step: int
    shifts: Array

    @cached_property
    def reads_and_rests(self) -> tuple[Array, Array]:
        """The places of reads and, with each, what those of its drains are modulo `step`."""
        index = np.arange(PAGE_BYTES // self.first)
        reads = (self.shifts[:, :1] + index * self.first) % PAGE_BYTES
        rests = (self.shifts[:, 1:] + index * self.across) % self.step
        return reads.reshape(-1), rests.reshape(-1)


@lru_cache(maxsize=128)
def pairs_of(counts: tuple[int, ...], moves: tuple[tuple[int, int], ...]) -> Pairs:
    """The pairs of a nest of loops of these counts, by how much a turn of each moves reads and drains."""
    long, short = [], []
    for count, (reads, drains) in zip(counts, moves, strict=True):
        period = PAGE_BYTES // gcd(PAGE_BYTES, reads, drains)
        (long if count >= period else short).append((min(count, period), (reads, drains)))
    while True:
        first, across, step = _generators([move for _, move in long])
        shifts = _shifts(short, first, across, step)
        if shifts is not None:
            return Pairs(first, across, step, shifts)
        long.append(short.pop(short.index(max(short))))


def _generators(moves: Iterable[tuple[int, int]]) -> tuple[int, int, int]:
    """The generators (first, across) and (0, step) of the subgroup that moves generate."""
    first, across, step = PAGE_BYTES, 0, PAGE_BYTES
    for reads, drains in moves:
        while reads:  # Euclid, on pairs
            times = first // reads
            first, across, reads, drains = reads, drains, first - times * reads, across - times * drains
        step = gcd(step, drains)
    return first, across % step, step


def _shifts(short: Sequence[tuple[int, tuple[int, int]]], first: int, across: int, step: int) -> Array | None:
    """The sums of moves of short loops, each once of those that the subgroup joins; None where there are many."""
    found = np.zeros((1, 2), np.int64)
    for count, move in short:
        if len(found) * count * (PAGE_BYTES // first) > MOST_LISTED:
            return None
        sums = (found[:, None] + np.arange(count)[:, None] * np.asarray(move)).reshape(-1, 2)
        times, reads = np.divmod(sums[:, 0], first)
        reads, drains = np.divmod(np.unique(reads * step + (sums[:, 1] - times * across) % step), step)
        found = np.stack((reads, drains), axis=1)
    return found
