"""Place counts: how often the bands of a loop nest are at each place in their pages, without taking its turns.

## Theory

An address in a nest is base + i1 * move1 + i2 * move2 + ..., each index from 0 to before the count of its loop. Modulo
4096 a loop goes round a *cycle*: the places that are its move apart, 4096 / gcd(4096, move) of them. So how often each
place comes is a vector of 4096 integers, and a loop around it replaces each by the sum of the last `count` ones on its
cycle: so many whole cycles, and a rest, which is a difference of two prefix sums (`spread`). That takes the same for
ten turns and for ten million.

All of it is linear: what is in loops of equal counts and moves is added up first, and then spread once (`PlaceCounts`).
"""

from collections.abc import Iterable
from functools import lru_cache
from math import gcd
from typing import Any

import attrs
import numpy as np

from tessbed.sim.spec.limits import PAGE_BYTES

Array = Any
Turns = tuple[tuple[int, int], ...]
"""The loops around a band: the count of each, and by how much a turn moves, modulo a page."""


def turns_of(counts: Iterable[int], moves: Iterable[int]) -> Turns:
    """The loops of these counts in which something moves; a loop in which nothing does is one with move 0."""
    return tuple([(count, move % PAGE_BYTES) for count, move in zip(counts, moves, strict=True)])


@attrs.frozen(eq=False)
class PlaceCounts:
    """What comes to places of a page, by the loops around it: how often it begins at each place."""

    _begins: dict[Turns, Array] = attrs.field(factory=dict, init=False)

    def add(self, place: int, turns: Turns) -> None:
        """Add what begins at a place, and is in these loops."""
        begins = self._begins.get(turns)
        if begins is None:
            begins = self._begins[turns] = np.zeros(PAGE_BYTES, np.int64)
        begins[place % PAGE_BYTES] += 1

    def times(self) -> Array:
        """How often anything comes to each place."""
        total = np.zeros(PAGE_BYTES, np.int64)
        for turns, times in self._begins.items():
            for count, move in turns:
                times = spread(times, count, move)
            total += times
        return total


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
