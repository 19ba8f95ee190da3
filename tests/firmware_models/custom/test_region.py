"""Regions: slices as numpy has them, but for what lies outside; boxes of `own` partition an output."""

from itertools import pairwise
from random import Random

import numpy as np
import pytest

from tessbed.firmware_models.custom.ownership import cuts_of, own_boxes
from tessbed.firmware_models.custom.region import KernelPort, Region
from tessbed.sim.user_code.errors import KernelMisuse

LIMIT = 0xFFFF


def port(shape: tuple[int, ...], kind: str = "<i2", address: int = 4096) -> KernelPort:
    return KernelPort.dense(0, "src", shape, np.dtype(kind), True, address)


def moved(region: Region, memory: np.ndarray, address: int) -> np.ndarray:
    """What its descriptors gather, as the view of a computation sees it."""
    scratch = np.zeros(region.nbytes + 16, np.uint8)
    placed = region.placed(8, LIMIT)
    for d in placed.descriptors:
        for row in range(d.rows):
            source, target = d.address - address + row * d.pitch, d.scratch + row * d.scratch_pitch
            scratch[target : target + d.row_bytes] = memory[source : source + d.row_bytes]
    assert not scratch[:8].any()
    assert not scratch[8 + region.nbytes :].any()
    return placed.view(scratch)


BOXES = [
    (slice(None),),
    (slice(1, 3), slice(2, 5)),
    (2,),
    (slice(0, 4, 2), 3),
    (slice(None), slice(0, 6, 3)),
    (..., slice(1, 2)),
    (1, ..., 2),
    (slice(0, 1), slice(0, 1), slice(0, 4)),
]


@pytest.mark.parametrize("box", BOXES, ids=str)
@pytest.mark.parametrize("kind", ["u1", "<i2", "<f4", "<f8"])
def test_a_region_is_what_numpy_slices(box, kind):
    """The scalars that arrive in scratch are those of the numpy slice, turned ones too."""
    array = (1 + np.arange(4 * 6 * 5)).reshape(4, 6, 5).astype(kind)
    memory, source = array.reshape(-1).view(np.uint8), port(array.shape, kind)
    assert np.array_equal(moved(source[box], memory, 4096), array[box])
    assert np.array_equal(moved(source[box].T, memory, 4096), array[box].T)
    if len(array[box].shape) == 3:
        assert np.array_equal(moved(source.T[box], memory, 4096), array.T[box]) or box != (slice(None),)


OUTSIDE = {
    "behind the end": (slice(0, 5), "got 0:5 on axis 0, which has 4 scalars; a region never clamps"),
    "position": (4, "got 4 on axis 0, which has 4 scalars: 0 to 3"),
    "negative": (-1, "got -1 on axis 0"),
    "negative slice": (slice(-2, 4), "got -2:4 on axis 0"),
    "empty": (slice(2, 2), "got 2:2 on axis 0, which has 4 scalars; a region is not empty"),
    "backwards": (slice(3, 0, -1), "a region is not empty and goes forwards"),
    "too many": ((1, 1, 1, 1), "got a box of 4 axes, port src has 3"),
    "second axis": ((0, slice(3, 7)), "got 3:7 on axis 1, which has 6 scalars"),
    "a text": ("x", "wanted an integer or a slice"),
}


@pytest.mark.parametrize("case", OUTSIDE)
def test_a_region_never_clamps(case):
    """What leaves the port is refused, with both numbers."""
    box, text = OUTSIDE[case]
    with pytest.raises(KernelMisuse, match=text):
        port((4, 6, 5))[box]


@pytest.mark.parametrize("number", range(150))
def test_boxes_partition_an_output(number):
    """Every scalar is in one box of one worker, no granule holds scalars of two, and no box is too large."""
    random = Random(number)
    rank = random.randint(1, 4)
    shape = tuple(random.randint(1, (4000, 90, 25, 9)[rank - 1]) for _ in range(rank))
    width, granule, workers = random.choice((1, 2, 4, 8)), random.choice((1, 16, 64, 128)), random.randint(1, 9)
    base = 4096 + random.randrange(0, 256, width)
    most = random.choice((1, 3, 50, 700, 10_000))
    taken = np.full(shape, -1)
    cuts = cuts_of(shape, width, base, granule, workers)
    for worker, part in enumerate(pairwise(cuts)):
        for box in own_boxes(shape, width, base, granule, part, most):
            assert (taken[box] == -1).all()
            assert taken[box].size <= most
            taken[box] = worker
    owner = taken.reshape(-1)
    assert owner.min() >= 0
    granules = (base + width * np.arange(owner.size)) // granule
    shared = (granules[1:] == granules[:-1]) & (owner[1:] != owner[:-1])
    assert not shared.any()


def test_boxes_end_at_granules_where_rows_can():
    """Rows of 96 bytes are taken in twos, so that each band ends at a granule of 64, as few bands as there can be."""
    ends = [box[0].stop for box in own_boxes((64, 96), 1, 4096, 64, (0, 64 * 96), 5 * 96)]
    assert all(end * 96 % 64 == 0 for end in ends)
    assert len(ends) == 16
