"""Drain order: of blocks that come again it says what the worker loop says of each drain, one after the other."""

import random
from collections.abc import Iterator

import attrs
import numpy as np
import pytest

from tessbed.firmware_models.band import DrainFootprint
from tessbed.firmware_models.planning.drain_order import BandBlock, DrainOrder
from tessbed.firmware_models.planning.parts import PartTable
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


@pytest.mark.parametrize("times", range(2, 9))
def test_turns_that_come_again_in_pairs_leave_what_the_last_of_them_left(times: int) -> None:
    """A block by hand whose turns take turns: after one of a kind four drains are in flight, after the other two.

    Of seven drains number 0 meets number 3 of the turn before, 3 meets 6 of the turn before, 5 meets 1. Where four are
    in flight 0 waits, so that 3 need not, and 5 must; where two are, 3 waits, and 5 need not. Behind the block a drain
    meets number 4 of the last turn, which is the third back.
    """
    move, spec = 1 << 20, override(DeviceSpec(), {"slots": 8})
    table = PartTable(spec)
    table.footprints[16, 0, 16] = 0
    lows = np.array([0, 4096, 8192, move, 12288, 4096, 2 * move]) + 65536
    block = BandBlock(np.arange(7), np.zeros(7, np.int64), lows, times, move)
    behind = BandBlock(np.arange(1), np.zeros(1, np.int64), lows[4:5] + (times - 1) * move)
    order, found = DrainOrder(table), []
    for made in (block, behind):
        found += [flag for flags, turns in order.ordered(made) for _ in range(turns) for flag in flags.tolist()]
    assert found == one_by_one([block, behind], table)
    waits = [[5], *[[3] if turn % 2 else [0, 5] for turn in range(1, times)]]
    assert np.flatnonzero(found[:-1]).tolist() == [7 * turn + at for turn, those in enumerate(waits) for at in those]
    assert found[-1] == (times % 2 == 0)
