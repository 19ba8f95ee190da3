"""Phase sets: what is said of the places of a nest is what taking its turns shows."""

import random
from collections import Counter
from itertools import product

import numpy as np
import pytest

from tessbed.firmware_models.nests.phase_set import pairs_of, spread, times_at, turns_of
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
    found, times = times_at(turns_of(counts, drains))
    assert dict(zip(found.tolist(), times.tolist(), strict=True)) == Counter(places(counts, drains))


@pytest.mark.parametrize("seed", range(40))
def test_pairs_hold_all_that_come_together(seed) -> None:
    """And no others, where the loops are long or few turns are short."""
    rng = random.Random(seed)
    counts, moves = nest(rng)
    pairs = pairs_of(counts, tuple((reads % PAGE_BYTES, drains % PAGE_BYTES) for reads, drains in moves))
    reads, rests = pairs.reads_and_rests
    said = {*zip(reads.tolist(), rests.tolist(), strict=True)}
    both = zip(places(counts, [read for read, _ in moves]), places(counts, [drain for _, drain in moves]), strict=True)
    assert said == {(read, drain % pairs.step) for read, drain in both}


def test_every_drain_comes_with_a_read_that_a_long_loop_pairs_it_with() -> None:
    """A loop of 4096 turns by (16, 1): each read comes with 16 drains, which differ by 256."""
    pairs = pairs_of((4096,), ((16, 1),))
    assert (pairs.first, pairs.across, pairs.step) == (16, 1, 256)


def test_long_loops_bring_the_drains_of_all_of_them() -> None:
    """Loops in which drains alone move: those of the finest one come with each read, whichever loop is inside."""
    for moves in (((0, 16), (0, 64)), ((0, 64), (0, 16))):
        assert pairs_of((4096, 4096), moves).step == 16


def test_many_short_loops_count_as_long_ones() -> None:
    """4,000 turns by an odd number of bytes, twice, would be sixteen million places."""
    pairs = pairs_of((4000, 4000), ((1, 0), (0, 1)))
    assert (pairs.first, pairs.step) == (1, 1)


@pytest.mark.parametrize("size", [1, 2, 8, 64])
def test_a_spread_is_the_sum_of_the_last_values_on_each_cycle(size) -> None:
    """Rings of any size, forwards, backwards and not at all, for less than a cycle and for many."""
    rng = random.Random(size)
    values = np.array([rng.randrange(100) for _ in range(size)])
    for count, move in product((1, 2, 5, 64, 1000), (-3, 0, 1, 4, 6, 70)):
        wanted = [sum(values[(at - turn * move) % size] for turn in range(count)) for at in range(size)]
        assert spread(values, count, move).tolist() == wanted
