"""Drain order: of blocks that come again it says what the worker loop says of each drain, one after the other."""

import random
from collections.abc import Iterator

import attrs
import numpy as np
import pytest

from tessbed.firmware_models.band import DrainFootprint
from tessbed.firmware_models.nests.drain_order import BandBlock, DrainOrder
from tessbed.firmware_models.nests.parts import PartTable
from tessbed.firmware_models.worker_loop import in_order
from tessbed.sim.spec.device_spec import DeviceSpec, override

LARGEST = 128


@attrs.frozen
class Drain:
    """What the worker loop asks of a band."""

    footprint: DrainFootprint


def blocks(rng: random.Random, table: PartTable) -> Iterator[BandBlock]:
    """Drains near each other, in one piece and in rows that may lie between those of another, in blocks that repeat."""
    shapes = [(40, 0, 40), (64, 0, 64), (16, 0, 16), (1040, 512, 16), (1056, 512, 32), (2000, 500, 20)]
    for shape in shapes:
        table.footprints.setdefault(shape, len(table.footprints))
    at = 4096
    for _ in range(rng.randint(1, 5)):
        times = rng.choice([1, 1, 2, 3, 9, 20])
        count = rng.randint(1 if times == 1 else max(1, table.spec.slots - 1), 12)
        feet = np.array([rng.randrange(len(shapes)) for _ in range(count)])
        lows = at + np.cumsum([rng.choice([16, 32, 64, 80, 128, 256, 1040]) for _ in range(count)])
        move = -(-int(lows[-1] - lows[0] + 16) // LARGEST) * LARGEST  # a block that repeats is alike in its granules
        yield BandBlock(np.arange(count), feet, lows, times, move)
        at = int(lows[-1]) + (times - 1) * move + rng.choice([0, 16, 64, 500])


def one_by_one(made: list[BandBlock], table: PartTable) -> list[bool]:
    """Whether each drain waits, by the worker loop's own rule."""
    shapes, drains = list(table.footprints), []
    for block in made:
        for turn in range(block.times):
            for foot, low in zip(block.feet.tolist(), (block.lows + turn * block.move).tolist(), strict=True):
                span, period, inner = shapes[foot]
                drains.append(Drain(DrainFootprint(low, low + span, period, inner)))
    return [ordered for _, ordered in in_order(drains, table.spec)]


@pytest.mark.parametrize("slots", [1, 2, 3, 4, 8])
def test_repeated_blocks_are_ordered_as_their_drains_one_by_one(slots: int) -> None:
    """Random blocks and granules; some drains wait and some do not, and of a block's turns not all are the same."""
    rng, waits, changing = random.Random(slots), set(), 0
    for _ in range(300):
        spec = override(DeviceSpec(), {"slots": slots, "write_granule_bytes": rng.choice([16, 32, 64, LARGEST])})
        table = PartTable(spec)
        made = list(blocks(rng, table))
        order, found = DrainOrder(table), []
        for block in made:
            parts = list(order.ordered(block))
            assert sum(len(flags) * times for flags, times in parts) == len(block) * block.times
            found += [flag for flags, times in parts for _ in range(times) for flag in flags.tolist()]
            changing += len(parts) > 1
        assert np.array_equal(found, one_by_one(made, table)), made
        waits |= {*found}
    assert waits == ({False} if slots == 1 else {False, True})
    assert changing > 5 or slots == 1
