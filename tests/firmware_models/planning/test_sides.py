"""Sides: what they say of all descriptors at once is what the descriptors touch one by one."""

import random
from collections import Counter

import numpy as np
import pytest

from tessbed.firmware_models.nests.planned_band import DescriptorArray
from tessbed.firmware_models.planning.sides import MOST_CONVOLVED, MOST_FOLDED, Sides, convolved
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.spec.limits import PAGE_BYTES
from tessbed.sim.transfer.cost import Counts, count_read
from tessbed.sim.transfer.descriptor import Descriptor
from tessbed.sim.transfer.phase_counts import CountList, PhaseCounts

SPEC = DeviceSpec()
SIZES = (0, 1, 17, MOST_FOLDED + 40, 2 * MOST_FOLDED + 300)


def descriptors(rng: random.Random, count: int) -> list[Descriptor]:
    """Reads of three shapes, anywhere; some twice."""
    shapes = [(1, 40, 0, 0), (3, 64, 512, 64), (2, 8, 4096, 8)]
    found = [Descriptor(rng.randrange(1 << 20), 0, *rng.choice(shapes)) for _ in range(count)]
    return [*found, *found[:3]]


def sides(reads: list[Descriptor]) -> tuple[Sides, CountList]:
    """The same as sides, and the counts by number."""
    counts, array = CountList(), DescriptorArray.of(reads)
    return Sides(array, [PhaseCounts(SPEC, "read", shape[:3], counts) for shape in array.shapes]), counts


def touched(read: Descriptor, ahead: int) -> Counts:
    """What one of them touches, by itself."""
    return count_read(SPEC, ((read.address + ahead) % PAGE_BYTES, *read[2:5]))


@pytest.mark.parametrize("movers", [1, 3])
@pytest.mark.parametrize("size", SIZES)
def test_answers_are_what_each_touches(size, movers) -> None:
    """Where all move together and where some do not; equal answers are one."""
    rng = random.Random(f"{size}/{movers}")
    reads = descriptors(rng, size)
    of, counts = sides(reads)
    moves_with = np.array([number % movers for number in range(len(reads))], np.int64)
    ahead = [np.array([rng.randrange(PAGE_BYTES) for _ in range(30)]) for _ in range(1 + max(moves_with, default=0))]
    for at, answer in enumerate(of.answered(moves_with, ahead).tolist()):
        wanted = [touched(read, int(ahead[moves_with[number]][at])) for number, read in enumerate(reads)]
        assert [counts.listed[number] for number in of.answers[answer].tolist()] == wanted
    assert len({answer.tobytes() for answer in of.answers}) == len(of.answers)


@pytest.mark.parametrize("size", SIZES)
def test_sums_are_those_of_each(size) -> None:
    """Few descriptors and many; numbers beyond 32 bits."""
    rng = random.Random(size)
    reads = descriptors(rng, size)
    of, counts = sides(reads)
    moves_with = np.array([number % 2 for number in range(len(reads))], np.int64)
    places = [{rng.randrange(PAGE_BYTES): rng.randrange(1 << 40) for _ in range(5)} for _ in range(2)]
    times = [np.array([of_mover.get(place, 0) for place in range(PAGE_BYTES)]) for of_mover in places]
    found, wanted = Counter(), Counter()
    for number, many in of.sums(moves_with, times if reads else times[:1]):
        found[counts.listed[number]] += many
    for number, read in enumerate(reads):
        for place, many in places[moves_with[number]].items():
            wanted[touched(read, place)] += many
    assert +found == +wanted


@pytest.mark.parametrize("places", [1, 2, PAGE_BYTES])
@pytest.mark.parametrize("most_times", [0, 1, (1 << 16) - 1, 1 << 16, (1 << 42) - 1])
def test_convolutions_are_exact(most_times, places) -> None:
    """Of as many descriptors as there may be, at few places and at all, and times of one digit to three."""
    rng = random.Random(f"{most_times}/{places}")
    many, wanted = np.zeros(PAGE_BYTES, np.int64), np.zeros(PAGE_BYTES, np.int64)
    many[rng.sample(range(PAGE_BYTES), places)] = MOST_CONVOLVED // places
    times = np.array([most_times, *[rng.randint(0, most_times) for _ in range(PAGE_BYTES - 1)]])
    for place in np.flatnonzero(many).tolist():
        wanted += many[place] * np.roll(times, place)
    assert convolved(many, times).tolist() == wanted.tolist()
