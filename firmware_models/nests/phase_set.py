"""Phase sets: at which places in their pages the bands of a loop nest are, and how often, without taking its turns.

## Theory

An address in a nest is base + i1 * move1 + i2 * move2 + ..., each index from 0 to before the count of its loop. Modulo
4096 a loop goes round a *cycle*: the places that are its move apart, 4096 / gcd(4096, move) of them. So how often each
place comes is a vector of 4096 integers, and a loop around it replaces each by the sum of the last `count` ones on its
cycle: so many whole cycles, and a rest, which is a difference of two prefix sums (`spread`). That takes the same for
ten turns and for ten million.

Reads and drains have different moves, and so may reads of one band. What comes together is a *tuple* of places, one for
each mover, the drain's the last. A loop of at least as many turns as its period (of all movers) goes through a whole
subgroup of tuples, and several do through the sum of theirs. A subgroup of (Z/4096)^n has generators in echelon form:
row j begins with j zeros and then a divisor of 4096, its pivot. Loops of fewer turns than their period go through few
places, which are listed: the tuples are the subgroup, shifted by each of some `shifts` (`PlaceTuples`). Where these are
many, the largest such loop counts as a long one. Then some tuples are listed that never come, and none is missing.

What counts is not the places but what is touched there: their *kinds*, of which there are few. So tuples are walked
mover by mover (`kinds_together`). With the places of the first mover, the pivot apart, come all tuples of the others
that the rows below generate, shifted by a rest, which is reduced by these rows. Of equal kinds with equal rests one is
enough. The last mover needs no walk: with a rest come all places that are equal to it modulo the last pivot.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from math import gcd
from typing import Any

import attrs
import numpy as np

from tessbed.sim.spec.limits import PAGE_BYTES
from tessbed.sim.transfer.phase_counts import distinct

MOST_LISTED = 1 << 14
"""Places of the first mover times shifts."""
MOST_WALKED = 1 << 19
"""Tuples of kinds and rests that are looked at in one step."""

Array = Any
SORTED = 8
"""Sorting a place takes as long as so many bits."""

KindsAt = Callable[[Array], Array]
Rows = tuple[tuple[int, ...], ...]
Turns = tuple[tuple[int, int], ...]
"""The loops around a band: the count of each, and by how much a turn moves, modulo a page."""


def turns_of(counts: Iterable[int], moves: Iterable[int]) -> Turns:
    """The loops of these counts in which something moves; a loop in which nothing does is one with move 0."""
    return tuple([(count, move % PAGE_BYTES) for count, move in zip(counts, moves, strict=True)])


@lru_cache(maxsize=256)
def times_at(turns: Turns) -> Array:
    """How often what starts at place 0 comes to each place."""
    times = np.zeros(PAGE_BYTES, np.int64)
    times[0] = 1
    for count, move in turns:
        times = spread(times, count, move)
    times.setflags(write=False)
    return times


def rolled(values: Array, by: int) -> Array:
    """Values by place as they are so far ahead on their ring; `np.roll` takes five times as long for few."""
    by %= len(values)
    return np.concatenate((values[-by:], values[:-by])) if by else values


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


@attrs.frozen(eq=False)
class PlaceTuples:
    """The tuples of places of a nest: the subgroup that `rows` generate, which are in echelon form, shifted."""

    rows: Rows
    shifts: Array

    @classmethod
    def of(cls, rows: Rows, shifts: Array) -> "PlaceTuples":
        """Those of these shifts, each once of those that the subgroup joins."""
        shifts = _reduced(shifts, rows)
        return cls(rows, shifts[distinct(shifts.T)[0]])


@lru_cache(maxsize=128)
def tuples_of(counts: tuple[int, ...], moves: tuple[tuple[int, ...], ...], movers: int) -> PlaceTuples:
    """The tuples of a nest of loops of these counts, by how much a turn of each moves each of so many movers."""
    long, short = [], []
    for count, by in zip(counts, moves, strict=True):
        period = PAGE_BYTES // gcd(PAGE_BYTES, *by)
        (long if count >= period else short).append((min(count, period), by))
    while True:
        rows = _echelon([by for _, by in long], movers)
        shifts = _shifts(short, rows)
        if shifts is not None:
            return PlaceTuples(rows, shifts)
        long.append(short.pop(short.index(max(short))))


def _echelon(moves: Iterable[tuple[int, ...]], movers: int) -> Rows:
    """The generators in echelon form of the subgroup that moves generate: Euclid, mover by mover."""
    rows = [[PAGE_BYTES * (at == number) for at in range(movers)] for number in range(movers)]
    for move in moves:
        by = [*move]
        for number in range(movers):
            while by[number]:
                times = rows[number][number] // by[number]
                rows[number], by = by, [(one - times * two) for one, two in zip(rows[number], by, strict=True)]
                by = [*by[: number + 1], *[at % PAGE_BYTES for at in by[number + 1 :]]]
    for number in reversed(range(movers)):
        below = tuple([tuple(row[number + 1 :]) for row in rows[number + 1 :]])
        rest = _reduced(np.asarray([rows[number][number + 1 :]], np.int64), below)
        rows[number] = [*rows[number][: number + 1], *rest[0].tolist()]
    return tuple([tuple(row) for row in rows])


def _reduced(tuples: Array, rows: Sequence[Sequence[int]]) -> Array:
    """The least of the tuples that differ by what the rows generate."""
    tuples = tuples.copy()
    for number, row in enumerate(rows):
        tuples -= (tuples[:, number] // row[number])[:, None] * np.asarray(row)
    return tuples


def _shifts(short: Sequence[tuple[int, tuple[int, ...]]], rows: Rows) -> Array | None:
    """The sums of moves of short loops, each once of those that the subgroup joins; None where there are many."""
    found = np.zeros((1, len(rows)), np.int64)
    for count, move in short:
        if len(found) * count * (PAGE_BYTES // rows[0][0]) > MOST_LISTED:
            return None
        sums = (found[:, None] + np.arange(count)[:, None] * np.asarray(move)).reshape(-1, len(rows))
        sums = _reduced(sums, rows)
        found = sums[distinct(sums.T)[0]]
    return found


def kinds_together(tuples: PlaceTuples, kinds: Sequence[KindsAt]) -> Array | None:
    """The different tuples of kinds that come together, in rows; None where there are too many to walk.

    `kinds` say of each mover which kind is at each of some places; those of a mover are small numbers.
    """
    *inner, last = tuples.rows
    found, rests = np.zeros((1, 0), np.int64), tuples.shifts
    which = np.zeros(len(rests), np.int64)
    for number, (row, kind_at) in enumerate(zip(inner, kinds, strict=False)):
        step = row[number]
        if len(rests) * (PAGE_BYTES // step) > MOST_WALKED:
            return None
        turns = np.arange(PAGE_BYTES // step)
        kind = kind_at((rests[:, :1] + turns * step & PAGE_BYTES - 1).reshape(-1))
        rests = (rests[:, None, 1:] + turns[:, None] * np.asarray(row[number + 1 :])).reshape(-1, len(row) - number - 1)
        rests = _reduced(rests, [row[number + 1 :] for row in tuples.rows[number + 1 :]])
        pairs = np.stack((np.repeat(which, len(turns)), kind))
        firsts, _ = distinct(np.vstack((pairs, rests.T)))
        rests, pairs = rests[firsts], pairs[:, firsts]
        firsts, which = distinct(pairs)
        found = np.column_stack((found[pairs[0, firsts]], pairs[1, firsts]))
    return _with_last(found, which, rests[:, 0], last[-1], kinds[-1])


def _with_last(found: Array, which: Array, rests: Array, step: int, kind_at: KindsAt) -> Array:
    """The tuples of kinds, each with those of the last mover at places that are equal to one of its rests.

    Where a rest has fewer places than there are kinds, each of them is looked at; else all kinds of a rest at once.
    """
    among = np.zeros(step, bool)
    among[rests] = True
    places = np.flatnonzero(np.tile(among, PAGE_BYTES // step))
    kind = np.zeros(PAGE_BYTES, np.int64)
    kind[places] = kind_at(places)
    if SORTED * (PAGE_BYTES // step) <= int(kind.max()):
        at = rests[:, None] + np.arange(0, PAGE_BYTES, step)
        pairs = np.stack((np.repeat(which, at.shape[1]), kind[at.reshape(-1)]))
        rows, lasts = pairs[:, distinct(pairs)[0]]
        return np.column_stack((found[rows], lasts))
    at_rest = np.zeros((step, int(kind.max()) + 1), bool)
    at_rest[places % step, kind[places]] = True
    order = np.argsort(which, kind="stable")
    comes = np.zeros((len(found), at_rest.shape[1]), bool)
    size = max(1, MOST_WALKED // at_rest.shape[1])
    for first in range(0, len(order), size):
        chosen = order[first : first + size]
        present, starts = np.unique(which[chosen], return_index=True)
        comes[present] |= np.logical_or.reduceat(at_rest[rests[chosen]], starts, axis=0)
    rows, lasts = np.nonzero(comes)
    return np.column_stack((found[rows], lasts))
