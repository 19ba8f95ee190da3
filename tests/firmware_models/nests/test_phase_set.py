"""Phase sets: what is said of the places of a nest is what taking its turns shows."""

import random
from collections import Counter
from itertools import product

import numpy as np
import pytest

from tessbed.firmware_models.nests.phase_set import (
    PlaceTuples,
    kinds_together,
    spread,
    times_at,
    tuples_of,
    turns_of,
)
from tessbed.sim.spec.limits import PAGE_BYTES

MOVES = (0, 1, 16, 40, 48, 64, 160, 1021, 2048, 4096, 4097, 5120, 999_983)


def nest(rng: random.Random) -> tuple[tuple[int, ...], list[tuple[int, int]]]:
    """Loops, and what a turn of each adds to the places of reads and of drains."""
    counts = tuple(rng.choice([1, 2, 3, 7, 16, 65]) for _ in range(rng.randint(0, 3)))
    return counts, [(rng.choice(MOVES), rng.choice(MOVES)) for _ in counts]


def places(counts: tuple[int, ...], moves: list[int]) -> list[int]:
    """The place in each turn, by the definition of a nest."""
    turns = product(*map(range, counts))
    return [sum(turn * move for turn, move in zip(at, moves, strict=True)) % PAGE_BYTES for at in turns]


@pytest.mark.parametrize("seed", range(40))
def test_places_come_as_often_as_in_the_turns(seed) -> None:
    """Nests of up to three loops, of moves that share factors with a page and of such that do not."""
    rng = random.Random(seed)
    counts, moves = nest(rng)
    drains = [drain for _, drain in moves]
    times = times_at(turns_of(counts, drains))
    assert {place: many for place, many in enumerate(times.tolist()) if many} == Counter(places(counts, drains))


def tuples(rng: random.Random, movers: int) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Loops, and what a turn of each adds to the place of each mover."""
    counts = tuple(rng.choice([1, 2, 3, 7, 16, 65]) for _ in range(rng.randint(0, 3)))
    return counts, tuple(tuple(rng.choice(MOVES) % PAGE_BYTES for _ in range(movers)) for _ in counts)


def kinds_in_turns(counts, moves, kinds) -> set[tuple[int, ...]]:
    """The kinds that come together, by the definition of a nest."""
    each = [places(counts, [by[mover] for by in moves]) for mover in range(len(kinds))]
    return {tuple(int(of[at]) for of, at in zip(kinds, together, strict=True)) for together in zip(*each, strict=True)}


def found(counts, moves, kinds) -> set[tuple[int, ...]]:
    """The same, without taking a turn."""
    walked = kinds_together(tuples_of(counts, moves, len(kinds)), [of.__getitem__ for of in kinds])
    assert walked is not None
    assert len({*map(tuple, walked.tolist())}) == len(walked)
    return {*map(tuple, walked.tolist())}


@pytest.mark.parametrize("seed", range(60))
def test_kinds_come_together_as_in_the_turns(seed) -> None:
    """And no others: of one mover to four, whose kinds are few, or all places different, or alike in each block."""
    rng = random.Random(seed)
    movers = 1 + seed % 4
    counts, moves = tuples(rng, movers)
    places_of_kinds = np.arange(PAGE_BYTES)
    kinds = [
        rng.choice([places_of_kinds, places_of_kinds // 64, places_of_kinds % 64 // 5, places_of_kinds * 0])
        for _ in range(movers)
    ]
    assert found(counts, moves, kinds) == kinds_in_turns(counts, moves, kinds)


def test_every_drain_comes_with_a_read_that_a_long_loop_pairs_it_with() -> None:
    """A loop of 4096 turns by (16, 1): each read comes with 16 drains, which differ by 256."""
    assert tuples_of((4096,), ((16, 1),), 2).rows == ((16, 1), (0, 256))


def test_long_loops_bring_the_drains_of_all_of_them() -> None:
    """Loops in which drains alone move: those of the finest one come with each read, whichever loop is inside."""
    for moves in (((0, 16), (0, 64)), ((0, 64), (0, 16))):
        assert tuples_of((4096, 4096), moves, 2).rows[1][1] == 16


def test_long_loops_of_three_movers_are_walked_where_all_places_would_be_sixteen_millions() -> None:
    """Two loops by odd numbers of bytes, and a drain that goes with both; kinds are the blocks of 256."""
    places_of_kinds = np.arange(PAGE_BYTES) // 256
    kinds = [places_of_kinds] * 3
    moves = ((256, 0, 1), (0, 512, 2))
    assert found((4096, 4096), moves, kinds) == {*product(range(16), range(0, 16, 2), range(16))}


def test_equal_tuples_are_one_wherever_they_were_found() -> None:
    """Shifts that the subgroup joins are the same tuples, and are walked once."""
    rows = tuples_of((4096,), ((16, 1),), 2).rows
    assert len(PlaceTuples.of(rows, np.array([[0, 0], [16, 1], [32, 258], [0, 1]])).shifts) == 2


def test_many_short_loops_count_as_long_ones() -> None:
    """4,000 turns by an odd number of bytes, twice, would be sixteen million places."""
    rows = tuples_of((4000, 4000), ((1, 0), (0, 1)), 2).rows
    assert rows == ((1, 0), (0, 1))


def test_what_is_too_much_to_walk_is_not_walked() -> None:
    """Three movers, each at any place by itself, whose kinds are their places."""
    moves = ((1, 0, 0), (0, 1, 0), (0, 0, 16))
    assert kinds_together(tuples_of((4096,) * 3, moves, 3), [np.arange(PAGE_BYTES).__getitem__] * 3) is None


@pytest.mark.parametrize("size", [1, 2, 8, 64])
def test_a_spread_is_the_sum_of_the_last_values_on_each_cycle(size) -> None:
    """Rings of any size, forwards, backwards and not at all, for less than a cycle and for many."""
    rng = random.Random(size)
    values = np.array([rng.randrange(100) for _ in range(size)])
    for count, move in product((1, 2, 5, 64, 1000), (-3, 0, 1, 4, 6, 70)):
        wanted = [sum(values[(at - turn * move) % size] for turn in range(count)) for at in range(size)]
        assert spread(values, count, move).tolist() == wanted
