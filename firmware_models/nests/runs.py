"""Runs of nests: what a worker goes through, written out once where it is short, and else whenever it is asked for."""

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import attrs
import numpy as np

from tessbed.firmware_models.band import BANDS
from tessbed.firmware_models.nests.band_numbers import BandList, BandNumbers, account, add_touched
from tessbed.firmware_models.nests.blocks import FEWEST_TIMES, BlockMaker
from tessbed.firmware_models.nests.drain_order import DrainOrder
from tessbed.firmware_models.nests.nest import Node
from tessbed.firmware_models.nests.parts import FIELD, LARGEST, PartTable
from tessbed.sim.exact.program import BandRun
from tessbed.sim.stats import Traffic
from tessbed.sim.transfer.cost import Counts

Array = Any


@attrs.frozen(eq=False)
class NestRuns:
    """The runs of a worker, written out each time that they are asked for; their bands are listed already."""

    nodes: Sequence[Node]
    table: PartTable
    listed: BandList

    def __iter__(self) -> Iterator[BandRun]:
        bands = np.zeros(0, np.int32)
        for sequence, times in sequences(self.table, self.nodes):
            if len(bands) < 2 * len(self.table.listed):
                bands = np.concatenate((bands, self.listed.numbers(self.table.listed[len(bands) // 2 :])))
            numbers = bands[sequence]
            if numbers.min() < 0:
                raise AssertionError("the totals of the nests lack a band that their runs have")
            yield BandRun(array("i", numbers.tobytes()), times)


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


@attrs.define(eq=False)
class RunDraft:
    """Runs that are written out, and all that they count. `_taken` is how often each number of a sequence comes."""

    table: PartTable
    numbers: BandNumbers = attrs.field(init=False)
    _taken: Counter[int] = attrs.field(factory=Counter, init=False)

    def __attrs_post_init__(self) -> None:
        self.numbers = BandNumbers(self.table)

    def worker(self, nodes: Sequence[Node]) -> Iterator[BandRun]:
        """The runs of a worker."""
        for sequence, times in sequences(self.table, nodes):
            counts = np.bincount(sequence)
            present = np.flatnonzero(counts)
            self._taken.update(dict(zip(present.tolist(), (counts[present] * times).tolist(), strict=True)))
            yield BandRun(array("i", self._bands(sequence, len(counts))[sequence].tobytes()), times)

    def _bands(self, sequence: Array, size: int) -> Array:
        """The band of each number in the sequence; new ones are numbered as they come."""
        firsts = np.full(size, len(sequence))
        firsts[sequence[::-1]] = np.arange(len(sequence))[::-1]
        known = np.zeros(size, np.int32)
        for number in np.argsort(firsts, kind="stable").tolist():
            if firsts[number] < len(sequence):
                known[number] = self.numbers.of(number)
        return known

    def account(self) -> tuple[Traffic, Traffic, dict[str, int]]:
        """Traffic of reads and writes, and what the worker loop counts, of all bands that are taken."""
        reads, drains, counts = Counter[Counts](), Counter[Counts](), Counter[str]()
        statistics = [*self.table.statistics]
        for number, times in self._taken.items():
            band = self.numbers.bands[self.numbers.of(number)]
            add_touched(reads, tuple(chain.from_iterable(band.groups)), times)
            add_touched(drains, band.chain, times)
            for name, amount in statistics[self.table.tails[self.table.listed[number // 2] & LARGEST] >> FIELD]:
                counts[name] += times * amount
            counts["ordered_drains"] += times * (number % 2)
        return account(reads, drains, counts)
