"""Sides: what they say of all descriptors at once is what the descriptors touch one by one."""

import random

import numpy as np
import pytest

from tessbed.firmware_models.nests.planned_band import DescriptorArray
from tessbed.firmware_models.planning.sides import MOST_FOLDED, Sides
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
