"""Who owns which output bytes: two proofs, one for linear output and one for physical tiled output."""

from itertools import pairwise
from math import prod
from random import Random

import numpy as np
import pytest

from tessbed.firmware_models import partition
from tessbed.firmware_models.partition import Level, address_of, boxes, cut_bytes, cut_elements, position_of

GRANULES = (16, 32, 64, 128)
LAYOUTS = 3000


def draw_levels(random: Random) -> tuple[list[Level], int]:
    """Strides as admission proves them: each at least the span of all smaller ones. Sorted, largest first."""
    width = random.choice([1, 2, 4])
    span, levels = width, []
    for _ in range(random.randint(1, 6)):
        extent = random.choice([2, 2, 3, 4, 5, 7, 11])
        stride = span + width * random.choice([0, 0, 1, 3, 13, 50])
        levels.insert(0, Level(extent, stride, random.randint(1, extent)))
        span += (extent - 1) * stride
        if prod(level.extent for level in levels) > 3000:
            break
    return levels, width


def addresses(levels: list[Level]) -> np.ndarray:
    """The byte offset of every element, by a plain walk in index order."""
    grid = np.zeros((1,), np.int64)
    for level in levels:
        grid = (grid[:, None] + np.arange(level.extent) * level.stride).ravel()
    return grid


def cases(seed: int, count: int):
    """(levels, width, base, granule, workers), drawn."""
    for index in range(count):
        random = Random(f"{seed}/{index}")
        levels, width = draw_levels(random)
        base = 4096 * 8 + random.randrange(256 // width) * width
        yield levels, width, base, random.choice(GRANULES), random.randint(1, 16)


def test_address_order_is_index_order() -> None:
    """With strides proven as admission proves them, sorting by stride makes index order address order."""
    for levels, width, *_ in cases(1, 300):
        offsets = addresses(levels)
        assert (np.diff(offsets) >= width).all()
        for position in range(0, offsets.size, 7):
            assert address_of(levels, position) == offsets[position]


def test_position_is_the_number_of_elements_below() -> None:
    """`position_of` counts elements that start below an offset, for offsets in gaps and beyond the end too."""
    for levels, width, *_ in cases(2, 150):
        offsets = addresses(levels)
        for offset in (0, 1, width, *map(int, offsets[::11]), *map(int, offsets[::13] + 1), int(offsets[-1]) + 999):
            assert position_of(levels, width, offset) == int((offsets < offset).sum()), (levels, offset)


def test_no_granule_has_two_owners() -> None:
    """On 3,000 random strided layouts no granule is shared by two workers, and every element has one owner."""
    for levels, width, base, granule, workers in cases(3, LAYOUTS):
        cuts = cut_elements(levels, width, base, granule, workers)
        offsets = addresses(levels) + base
        assert cuts[0] == 0
        assert cuts[-1] == offsets.size
        assert len(cuts) == workers + 1
        assert all(low <= high for low, high in pairwise(cuts))
        owned = [offsets[low:high] for low, high in pairwise(cuts) if low < high]
        for before, after in pairwise(owned):
            assert (before[-1] + width - 1) // granule < after[0] // granule, (levels, base, granule, workers)


def test_shares_are_fair() -> None:
    """A cut strays from an even one by at most half a granule's elements, or a sixteenth of a share where it snaps."""
    for levels, width, base, granule, workers in cases(4, LAYOUTS):
        total = prod(level.extent for level in levels)
        for worker, cut in enumerate(cut_elements(levels, width, base, granule, workers)):
            stray = abs(cut - worker * total // workers)
            assert stray <= max(granule / width / 2, total / (16 * workers)), (levels, base, granule, workers)


def test_an_even_row_split_would_share() -> None:
    """The test can fail: cutting the outermost axis evenly shares granules in most of the same layouts."""
    shared = 0
    for levels, width, base, granule, workers in cases(3, 500):
        offsets, inner = addresses(levels) + base, prod(level.extent for level in levels[1:])
        cuts = [worker * levels[0].extent // workers * inner for worker in range(workers + 1)]
        owned = [offsets[low:high] for low, high in pairwise(cuts) if low < high]
        shared += any((a[-1] + width - 1) // granule >= b[0] // granule for a, b in pairwise(owned))
    assert shared > 200


def test_cuts_prefer_tile_rows() -> None:
    """Where a tile row starts on a granule near an even cut, the cut is there."""
    levels = [Level(400, 640, 4), Level(640, 1, 128)]
    cuts = cut_elements(levels, 1, 0, 64, 7)
    assert all(cut % (4 * 640) == 0 for cut in cuts)


@pytest.mark.parametrize("granule", GRANULES)
def test_physical_cuts_lie_on_granules(granule: int) -> None:
    """Tess: every inner cut is granule aligned at the bound address and within a granule, or a sixteenth, of even."""
    for index in range(500):
        random = Random(f"bytes/{index}")
        span, tiles = 16 * random.randint(1, 60), random.randint(1, 50)
        total, base, workers = span * tiles, 4096 + 16 * random.randrange(16), random.randint(1, 16)
        cuts = cut_bytes(total, base, granule, workers, lambda offset, span=span: [offset // span * span])
        assert cuts[0] == 0
        assert cuts[-1] == total
        for worker, cut in enumerate(cuts[1:-1], 1):
            assert cut in (0, total) or (base + cut) % granule == 0
            assert abs(cut - worker * total // workers) <= max(granule / 2, total / (16 * workers))
        assert all(low <= high for low, high in pairwise(cuts))


def test_physical_cuts_prefer_tiles() -> None:
    """Tess: a tile start on a granule within a sixteenth of a share is preferred, so workers own whole tiles."""
    span = 6560
    cuts = cut_bytes(100 * span, 0, 64, 4, lambda offset: [(offset + span) // (2 * span) * 2 * span])
    assert [cut % span for cut in cuts] == [0] * 5


def test_boxes_partition_in_order() -> None:
    """A stretch of positions is at most 2r - 1 boxes, which walk it in order, each position once."""
    for index in range(400):
        random = Random(f"boxes/{index}")
        extents = [random.randint(1, 5) for _ in range(random.randint(1, 5))]
        total = prod(extents)
        low = random.randint(0, total)
        high = random.randint(low, total)
        found = list(boxes(extents, low, high))
        walked = [
            sum(i * prod(extents[axis + 1 :]) for axis, i in enumerate(at))
            for box in found
            for at in np.ndindex(*(hi - lo for lo, hi in box))
            for at in [tuple(i + lo for i, (lo, _) in zip(at, box, strict=True))]
        ]
        assert walked == list(range(low, high))
        assert len(found) <= 2 * len(extents) - 1


def test_no_levels_is_one_element() -> None:
    """A tensor of one scalar has one owner, the last worker that the even split names."""
    cuts = partition.cut_elements([], 4, 4096, 64, 3)
    assert cuts[0] == 0
    assert cuts[-1] == 1
