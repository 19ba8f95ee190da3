"""Wait counts: as many drains wait as the drain order says, one after the other."""

import random
from collections.abc import Sequence
from typing import Any

import attrs
import pytest

from tessbed.firmware_models.band import DrainFootprint
from tessbed.firmware_models.nests.nest import Leaf, Loop, Move, Node
from tessbed.firmware_models.planning.wait_count import WaitCount
from tessbed.firmware_models.worker_loop import in_order
from tessbed.sim.spec.device_spec import DeviceSpec, override

SHAPES = ((40, 0, 40), (64, 0, 64), (16, 0, 16), (1040, 512, 16), (1056, 512, 32), (2000, 500, 20))


@attrs.frozen
class Drain:
    """A band as the drain order sees it."""

    footprint: DrainFootprint


@attrs.frozen(eq=False)
class Table:
    """Of a part table what orders are counted from."""

    spec: DeviceSpec
    footprints: dict[tuple[int, int, int], int]

    def footprint(self, band: Drain) -> int:
        """The number of the footprint of a band."""
        place = band.footprint
        return self.footprints[place.high - place.low, place.period, place.inner]


def nest(rng: random.Random, depth: int, moves: tuple[Move, ...] = ()) -> list[Node]:
    """Leaves and loops, drains near each other, loops whose turns meet and such whose do not."""
    nodes: list[Node] = []
    for _ in range(rng.randint(1, 3)):
        if depth and rng.random() < 0.6:
            move = Move(0, rng.choice([16, 40, 64, 96, 128, 250, 512, 1040, 4096]))
            nodes.append(Loop(rng.choice([2, 3, 5, 17, 40]), tuple(nest(rng, depth - 1, (*moves, move)))))
        else:
            span, period, inner = rng.choice(SHAPES)
            low = 65536 + 8 * rng.randrange(200)
            band: Any = Drain(DrainFootprint(low, low + span, period, inner))
            nodes.append(Leaf(band, moves=moves))
    return nodes


def drains(nodes: Sequence[Node], turns: tuple[int, ...] = ()) -> list[Drain]:
    """The drains one after the other, by the definition of a nest."""
    found = []
    for node in nodes:
        if isinstance(node, Leaf):
            by = sum(turn * move.drain for turn, move in zip(turns, node.moves, strict=True))
            place = node.band.footprint
            found.append(Drain(DrainFootprint(place.low + by, place.high + by, place.period, place.inner)))
        else:
            for turn in range(node.count):
                found += drains(node.body, (*turns, turn))
    return found


def compared(slots: int, seed: int, most: int, nests: int = 60) -> int:
    """Compare nests of at most so many drains with their drains one by one; how many of these waited."""
    rng, waits, done = random.Random(seed), 0, 0
    while done < nests:
        changes = {
            "slots": slots,
            "write_granule_bytes": rng.choice([16, 64, 128, 512]),
            "byte_strobes": rng.random() < 0.1,
        }
        spec, nodes = override(DeviceSpec(), changes), nest(rng, 3)
        if sum(node.bands for node in nodes) > most:
            continue
        table: Any = Table(spec, {shape: number for number, shape in enumerate(SHAPES)})
        wanted = sum(ordered for _, ordered in in_order(drains(nodes), spec))
        assert WaitCount.of(table, [nodes]).waits(nodes) == wanted
        waits, done = waits + wanted, done + 1
    return waits


@pytest.mark.parametrize("slots", range(1, 9))
def test_as_many_drains_wait_as_one_by_one(slots) -> None:
    """Nests of up to three loops, on granules of one byte to 512; in some, who waits depends on who waited before."""
    assert (compared(slots, seed=slots, most=2_000, nests=20) > 300) == (slots > 1)


@pytest.mark.long
@pytest.mark.parametrize(("seed", "most"), [(0, 2_000), (100, 200_000)], ids=["thousands", "a hundred thousand"])
@pytest.mark.parametrize("slots", range(1, 9))
def test_as_many_drains_of_more_nests_wait_as_one_by_one(slots, seed, most) -> None:
    """The same for three times as many nests, and for nests of many more turns."""
    assert (compared(slots, seed=seed + slots, most=most) > 1000) == (slots > 1)


def test_hundred_million_drains_are_counted_at_once() -> None:
    """A worker alone whose drains of 80 bytes share a granule of 64 with the next, but for each fourth."""
    low = 65536
    band: Any = Drain(DrainFootprint(low, low + 80, 0, 80))
    nodes = [Loop(10_000, (Loop(10_000, (Leaf(band, moves=(Move(0, 80 * 10_000), Move(0, 80))),)),))]
    table: Any = Table(DeviceSpec(), {(80, 0, 80): 0})
    assert WaitCount.of(table, [nodes]).waits(nodes) == 75_000_000


def test_equal_loops_of_drains_that_lie_otherwise_are_others() -> None:
    """Loops of two drains that meet each other and of two that do not; and the first one again, further on."""

    def pair(low: int, apart: int) -> Loop:
        bands: Any = [Drain(DrainFootprint(at, at + 40, 0, 40)) for at in (low, low + apart)]
        return Loop(10, tuple([Leaf(band, moves=(Move(0, 8192),)) for band in bands]))

    table: Any = Table(DeviceSpec(), {(40, 0, 40): 0})
    nodes = [pair(0, 40), pair(1 << 20, 4096), pair(1 << 21, 40)]
    wanted = sum(ordered for _, ordered in in_order(drains(nodes), table.spec))
    assert WaitCount.of(table, [nodes]).waits(nodes) == wanted == 20
