"""Blocks: written out, they are the nest that they were made of, turn by turn, the rest of a repeated loop included."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest

from tessbed.firmware_models.nests.nest import Leaf, Node
from tessbed.firmware_models.planning.blocks import BlockMaker
from tessbed.firmware_models.planning.drain_order import BandBlock
from tessbed.firmware_models.planning.launch_summary import NESTS
from tessbed.firmware_models.planning.parts import PartTable
from tests.firmware_models.planning.test_launch_summary import GRIDS, device, packet_geometry
from tests.oracle import Geometry

REST = {
    "rows of odd length": Geometry("tess", (1000, 17, 16), "int8", (-1, 0, 1, 2), (1, 1, 1, 16)),
    "a period of five": Geometry("detess", (1021, 4, 16), "int8", (-1, 0, 1, 2), (1, 1, 4, 16)),
}


def drains(nodes: Sequence[Node], turns: tuple[int, ...] = ()) -> Iterator[int]:
    """The first byte of each drain, one after the other, by the definition of a nest."""
    for node in nodes:
        if isinstance(node, Leaf):
            moved = sum(turn * move.drain for turn, move in zip(turns, node.moves, strict=True))
            yield node.band.footprint.low + node.ahead.drain + moved
        else:
            for turn in range(node.count):
                yield from drains(node.body, (*turns, turn))


def written_out(block: BandBlock) -> Iterator[int]:
    """The first byte of each drain of a block, all its times."""
    for turn in range(block.times):
        yield from (low + turn * block.move for low in block.lows.tolist())


@pytest.mark.parametrize("name", [*GRIDS, *REST])
def test_blocks_are_their_nest(name) -> None:
    """Every drain of every worker, on several devices."""
    for seed in range(4):
        rng = random.Random(f"{name}/{seed}")
        geometry, spec, workers = packet_geometry((GRIDS | REST)[name], rng), device(rng), rng.choice([1, 3, 4])
        nests, maker = NESTS[geometry.packs](geometry, spec, workers), BlockMaker(PartTable(spec))
        for worker in range(workers):
            nodes = list(nests(worker))
            blocks = list(maker.blocks(nodes))
            assert [low for block in blocks for low in written_out(block)] == list(drains(nodes))


def test_some_of_them_leave_a_rest() -> None:
    """A block that comes again is followed by a part of itself in some of these launches: the test above sees rests."""
    seen = Counter()
    for name, asked in REST.items():
        for seed in range(4):
            rng = random.Random(f"{name}/{seed}")
            geometry, spec, workers = packet_geometry(asked, rng), device(rng), rng.choice([1, 3, 4])
            nests, maker = NESTS[geometry.packs](geometry, spec, workers), BlockMaker(PartTable(spec))
            for worker in range(workers):
                blocks = list(maker.blocks(list(nests(worker))))
                for block, after in pairwise(blocks):
                    rest = block.times > 1 and len(after) < len(block)
                    seen[name] += rest and after.parts.tolist() == block.parts[: len(after)].tolist()
    assert all(seen[name] for name in REST), seen
