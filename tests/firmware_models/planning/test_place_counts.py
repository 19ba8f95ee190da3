"""Place counts: what is said of the places of a nest is what taking its turns shows."""

import random
from collections import Counter
from itertools import product

import numpy as np
import pytest

from tessbed.firmware_models.planning.place_counts import PlaceCounts, spread, turns_of
from tessbed.sim.spec.limits import PAGE_BYTES

MOVES = (0, 1, 16, 40, 48, 64, 160, 1021, 2048, 4096, 4097, 5120, 999_983)


def places(counts: tuple[int, ...], moves: list[int]) -> list[int]:
    """The place in each turn, by the definition of a nest."""
    turns = product(*map(range, counts))
    return [sum(turn * move for turn, move in zip(at, moves, strict=True)) % PAGE_BYTES for at in turns]


@pytest.mark.parametrize("seed", range(40))
def test_places_come_as_often_as_in_the_turns(seed) -> None:
    """Bands in up to three loops each, of moves that share factors with a page and of such that do not; some of them in
    equal loops, and some twice at the same place."""
    rng, found, wanted = random.Random(seed), PlaceCounts(), Counter()
    for _ in range(rng.randint(1, 3)):
        counts = tuple(rng.choice([1, 2, 3, 7, 16, 65]) for _ in range(rng.randint(0, 3)))
        moves = [rng.choice(MOVES) for _ in counts]
        for begin in rng.choices([0, 1, 4095, 70_000], k=rng.randint(1, 3)):
            found.add(np.array([begin, begin + 5]), turns_of(zip(counts, moves, strict=True)))
            wanted.update((begin + place) % PAGE_BYTES for place in places(counts, moves))
            wanted.update((begin + 5 + place) % PAGE_BYTES for place in places(counts, moves))
    assert {place: many for place, many in enumerate(found.times().tolist()) if many} == wanted


@pytest.mark.parametrize("size", [1, 2, 8, 64])
def test_a_spread_is_the_sum_of_the_last_values_on_each_cycle(size) -> None:
    """Rings of any size, forwards, backwards and not at all, for less than a cycle and for many."""
    rng = random.Random(size)
    values = np.array([rng.randrange(100) for _ in range(size)])
    for count, move in product((1, 2, 5, 64, 1000), (-3, 0, 1, 4, 6, 70)):
        wanted = [sum(values[(at - turn * move) % size] for turn in range(count)) for at in range(size)]
        assert spread(values, count, move).tolist() == wanted
