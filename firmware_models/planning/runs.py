"""Runs of nests: what a worker goes through, and the different bands among it, written out."""

from array import array
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, overload

import attrs
import numpy as np

from tessbed.firmware_models.band import BANDS
from tessbed.firmware_models.launch_outline import BandShape
from tessbed.firmware_models.nests.nest import Node
from tessbed.firmware_models.planning.band_numbers import BandNumbers
from tessbed.firmware_models.planning.blocks import FEWEST_TIMES, BlockMaker
from tessbed.firmware_models.planning.drain_order import DrainOrder
from tessbed.firmware_models.planning.parts import PartTable
from tessbed.sim.exact.program import BandRun

Array = Any


@attrs.define(eq=False)
class NestRuns:
    """The runs of a worker of a long launch: written out each time that they are asked for.

    `gone_through` says that the numbers of all its bands are known.
    """

    numbers: BandNumbers
    nodes: Sequence[Node]
    gone_through: bool = attrs.field(default=False, init=False)

    def __iter__(self) -> Iterator[BandRun]:
        for sequence, times in sequences(self.numbers.table, self.nodes):
            yield band_run(self.numbers, sequence, times)
        self.gone_through = True


def band_run(numbers: BandNumbers, sequence: Array, times: int) -> BandRun:
    """The run of a sequence of parts."""
    return BandRun(array("i", numbers.of(sequence).tobytes()), times)


@attrs.frozen(eq=False)
class NestBands(Sequence[BandShape]):
    """The different bands of a launch, each made when it is looked at.

    A band is there as soon as a run has brought its number. How many there are is known once all runs have been written
    out: of a long launch this goes through those of its `workers` where nobody else has, since nothing less does.
    """

    numbers: BandNumbers
    workers: Sequence[NestRuns] = ()

    def __len__(self) -> int:
        for runs in self.workers:
            if not runs.gone_through:
                deque(runs, maxlen=0)
        return len(self.numbers.keys)

    @overload
    def __getitem__(self, index: int) -> BandShape: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[BandShape]: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[number] for number in range(len(self))[index]]
        if not 0 <= index < len(self.numbers.keys):
            index = range(len(self))[index]
        return self.numbers.table.shape(self.numbers.keys[index])

    def __iter__(self) -> Iterator[BandShape]:
        return map(self.numbers.table.shape, self.numbers.keys[: len(self)])


def sequences(table: PartTable, nodes: Sequence[Node]) -> Iterator[tuple[Array, int]]:
    """What a worker goes through, how often: parts, twice the number of each, and one where its drain waits."""
    order = DrainOrder(table)
    for block in BlockMaker(table).blocks(nodes):
        for flags, times in order.ordered(block):
            yield _shortest(2 * np.tile(block.parts, len(flags) // len(block)) + flags, times)
        BANDS.begun += len(block) * block.times


def _shortest(sequence: Array, times: int) -> tuple[Array, int]:
    """A sequence and how often it comes, halved while its halves are equal, where that makes a run."""
    half, turns = sequence, times
    while len(half) % 2 == 0 and np.array_equal(half[: len(half) // 2], half[len(half) // 2 :]):
        half, turns = half[: len(half) // 2], 2 * turns
    return (half, turns) if turns >= FEWEST_TIMES else (sequence, times)
