"""Descriptor runs: each is the sequence of its descriptors, and says of them what they say one by one."""

import random
from itertools import pairwise

import pytest

from tessbed.sim.transfer.descriptor import Descriptor
from tessbed.sim.transfer.descriptor_run import (
    LEAST_LENGTH,
    DescriptorRun,
    DescriptorRuns,
    ascend,
    in_runs,
    scratch_reach,
    shifted,
    shifted_again,
)


def listed(run: DescriptorRun) -> list[Descriptor]:
    """The descriptors of a run by the definition."""
    address, scratch, *shape = run.first
    steps = [(n * run.address_step, n * run.scratch_step) for n in range(run.length)]
    return [Descriptor(address + ahead, scratch + behind, *shape) for ahead, behind in steps]


def random_run(rng: random.Random) -> DescriptorRun:
    """A run of any kind: dense or with gaps, forwards, backwards or in place."""
    rows, row_bytes = rng.choice((1, 1, 2, 3)), rng.choice((1, 16, 48))
    pitch, scratch_pitch = row_bytes + rng.choice((0, 5)), row_bytes + rng.choice((0, 3))
    steps = rng.choice((rows * row_bytes, 7, -64, 0, 500)), rng.choice((rows * row_bytes, 7, -32, 0, 300))
    first = Descriptor(rng.randrange(9000, 20000), rng.randrange(9000, 20000), rows, row_bytes, pitch, scratch_pitch)
    return DescriptorRun(first, rng.randrange(1, 20), *steps)


def further(descriptors: list[Descriptor], by: int) -> list[Descriptor]:
    """The same so far on in memory."""
    return [descriptor._replace(address=descriptor.address + by) for descriptor in descriptors]


@pytest.mark.parametrize("seed", range(40))
def test_a_run_is_its_descriptors(seed: int) -> None:
    """Length, order, places from both ends, slices, parts, and the run further on are those of the list."""
    rng = random.Random(seed)
    run = random_run(rng)
    wanted = listed(run)
    low = rng.randrange(run.length)
    high = rng.randrange(low, run.length) + 1
    assert (len(run), [*run], run[low], run[-1]) == (len(wanted), wanted, wanted[low], wanted[-1])
    assert [*run.part(low, high)] == [*run[low:high]] == wanted[low:high]
    assert [*run.shifted(-77)] == further(wanted, -77)
    assert run == wanted
    assert run.shifted(1) != wanted
    with pytest.raises(IndexError):
        run[run.length]


@pytest.mark.parametrize("seed", range(40))
def test_a_run_reaches_as_far_as_its_descriptors(seed: int) -> None:
    """Its reach on both sides, and whether it ascends without a common byte, are those of all of them."""
    run = random_run(random.Random(seed))
    scratch = [(d.scratch, d.scratch + (d.rows - 1) * d.scratch_pitch + d.row_bytes) for d in listed(run)]
    memory = [(d.address, d.address + (d.rows - 1) * d.pitch + d.row_bytes) for d in listed(run)]
    assert run.reach == (min(low for low, _ in scratch), max(high for _, high in scratch))
    assert run.memory_reach == (min(low for low, _ in memory), max(high for _, high in memory))
    assert scratch_reach(run) == scratch_reach(listed(run)) == run.reach
    assert ascend(listed(run)) == all(one[1] <= two[0] for one, two in pairwise(scratch))
    assert ascend(run) == ascend(listed(run)) or run.length == 1


@pytest.mark.parametrize("seed", range(40))
def test_descriptors_in_runs_are_the_same(seed: int) -> None:
    """Runs one after the other give what they were made of, by number, by slice and further on."""
    rng = random.Random(seed)
    wanted = [descriptor for _ in range(rng.randrange(1, 4)) for descriptor in listed(random_run(rng))]
    runs = in_runs(wanted)
    low = rng.randrange(len(wanted))
    assert ([*runs], len(runs), runs[low], runs[-1]) == (wanted, len(wanted), wanted[low], wanted[-1])
    assert [[*runs[at : at + 5]] for at in range(0, len(wanted), 5)] == [
        wanted[at : at + 5] for at in range(0, len(wanted), 5)
    ]
    assert [*runs[low::-1]] == wanted[low::-1]
    again = shifted_again(runs, 9, -4)
    assert [*shifted(runs, 9)] == [*next(again)] == further(wanted, 9)
    assert [*next(again)] == further(wanted, 5)
    if isinstance(runs, DescriptorRuns):
        assert len(runs) >= LEAST_LENGTH * len(runs.runs)


def test_a_group_within_a_run_is_a_run() -> None:
    """Of 40 equal reads in a row a slice is a run again; one that has another read in it is a list."""
    reads = [Descriptor(16 * n, 16 * n, 1, 16, 0, 0) for n in range(40)] + [Descriptor(640, 640, 1, 8, 0, 0)]
    runs = in_runs(reads)
    assert isinstance(runs, DescriptorRuns)
    assert isinstance(runs[16:32], DescriptorRun)
    assert [*runs[32:48]] == reads[32:48]
    assert not isinstance(runs[32:48], DescriptorRun)
    assert in_runs(reads[:7]) is not runs
    assert in_runs(reads[:7]) == reads[:7]


@pytest.mark.parametrize(
    ("run", "size"),
    [
        (DescriptorRun(Descriptor(0, 0, 1, 16, 0, 0), 4, 16, 16), 16),
        (DescriptorRun(Descriptor(0, 0, 2, 8, 8, 8), 4, 16, 16), 16),
        (DescriptorRun(Descriptor(0, 0, 2, 8, 9, 8), 4, 16, 16), 0),
        (DescriptorRun(Descriptor(0, 0, 1, 16, 0, 0), 4, 32, 16), 0),
        (DescriptorRun(Descriptor(0, 0, 1, 16, 0, 0), 4, 16, 32), 0),
    ],
)
def test_dense_bytes(run: DescriptorRun, size: int) -> None:
    """Only what is one stretch in memory and in scratch is dense."""
    assert run.dense_bytes == size
