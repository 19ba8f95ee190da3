"""Place counts: how often the bands of a loop nest are at each place in their pages, without taking its turns.

## Theory

An address in a nest is base + i1 * move1 + i2 * move2 + ..., each index from 0 to before the count of its loop. Modulo
4096 a loop goes round a *cycle*: the places that are its move apart, 4096 / gcd(4096, move) of them. So how often each
place comes is a vector of 4096 integers, and a loop around it replaces each by the sum of the last `count` ones on its
cycle: so many whole cycles, and a rest, which is a difference of two prefix sums (`spread`). That takes the same for
ten turns and for ten million.

All of it is linear: what is in loops of equal counts and moves is added up first, and then spread once. So is what is
in equal outer loops, once its inner ones are spread (`PlaceCounts`).
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from math import gcd
from typing import Any

import attrs
import numpy as np

from tessbed.sim.spec.limits import PAGE_BYTES

Array = Any
Turns = tuple[tuple[int, int], ...]
"""The loops around a band, the outermost first: the count of each, and by how much a turn moves, modulo a page."""


def turns_of(loops: Iterable[tuple[int, int]]) -> Turns:
    """Loops of these counts and moves."""
    return tuple([(count, move % PAGE_BYTES) for count, move in loops])


@attrs.frozen(eq=False)
class PlaceCounts:
    """What comes to places of a page, by the loops around it: where it begins.

    These places are kept as they are. A vector of a page is made for the loops alone that are just being spread.
    """

    _begins: dict[Turns, list[Array]] = attrs.field(factory=dict, init=False)

    def add(self, places: Array, turns: Turns) -> None:
        """Add what begins at these places, and is in these loops."""
        if len(places):
            self._begins.setdefault(turns, []).append((places % PAGE_BYTES).astype(np.int16))

    def times(self) -> Array:
        """How often anything comes to each place."""
        inner: dict[Turns, dict[tuple[int, int], None]] = {(): {}}
        for turns in self._begins:
            for depth, loop in enumerate(turns):
                inner[turns[:depth]][loop] = None
                inner.setdefault(turns[: depth + 1], {})
        return self._times((), inner)

    def _times(self, turns: Turns, inner: Mapping[Turns, Iterable[tuple[int, int]]]) -> Array:
        """How often what is in these loops does in a turn of all of them; `inner` are the loops in each."""
        begins = self._begins.get(turns)
        total = np.bincount(np.concatenate(begins), minlength=PAGE_BYTES) if begins else np.zeros(PAGE_BYTES, np.int64)
        for loop in inner[turns]:
            total += spread(self._times((*turns, loop), inner), *loop)
        return total


def rolled(values: Array, by: int) -> Array:
    """Values by place as they are so far ahead on their ring; `np.roll` takes five times as long for few."""
    by %= len(values)
    return np.concatenate((values[-by:], values[:-by])) if by else values


def spread(values: Array, count: int, move: int) -> Array:
    """The sum of `values` moved by 0, move, ... up to count - 1 times `move`, on a ring as long as it is."""
    size = len(values)
    length = size // gcd(size, move)
    if length == 1:
        return values * count
    cycles, back = _cycles(size, move % size)
    whole, rest = divmod(count, length)
    sums = values.take(cycles).cumsum(axis=0)
    total = sums + whole * sums[-1]
    total[rest:] -= sums[: length - rest]
    total[:rest] -= sums[length - rest :] - sums[-1]
    return total.take(back)


@lru_cache(maxsize=64)
def _cycles(size: int, move: int) -> tuple[Array, Array]:
    """The places of a ring, those of each cycle in a column; and where each place is among these."""
    begins = gcd(size, move)
    cycles = (np.arange(size // begins)[:, None] * move + np.arange(begins)) % size
    return cycles, np.argsort(cycles, axis=None)
