"""Run totals: all that no clock counts of a launch, from its runs, where these are written out anyway.

The same as nest_totals.py finds without taking a turn, which takes some milliseconds however short a launch is. Where
runs are written out, all of it is there: how often each part comes, and what a part touches and counts.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import attrs
import numpy as np

from tessbed.firmware_models.launch_outline import add_traffic
from tessbed.firmware_models.planning.parts import PartTable, Touched
from tessbed.sim.stats import Traffic

Array = Any


@attrs.define(eq=False)
class RunTotals:
    """How often each part came, by twice its number, and one more where its drain waited."""

    table: PartTable
    _times: Counter[int] = attrs.field(factory=Counter, init=False)

    @classmethod
    def of(cls, table: PartTable, sequences: Iterable[tuple[Array, int]]) -> "RunTotals":
        """Those of sequences of parts, each so many times over."""
        totals = cls(table)
        for sequence, times in sequences:
            many = np.bincount(sequence)
            for came in np.flatnonzero(many).tolist():
                totals._times[came] += times * int(many[came])
        return totals

    def account(self) -> tuple[Traffic, Traffic, dict[str, int]]:
        """Traffic of reads and writes, and what the worker loop counts but is not 0.

        A read is a transfer, and so is the drain of a band.
        """
        groups, chains, counted, counts = Counter[int](), Counter[int](), Counter[int](), Counter[str]()
        for came, times in self._times.items():
            touched_by_groups, touched_by_drain, statistics = self.table.numbers_in(came >> 1)
            groups[touched_by_groups] += times
            chains[touched_by_drain] += times
            counted[statistics] += times
            counts["ordered_drains"] += times * (came & 1)
        for statistics, number in self.table.statistics.items():
            for name, amount in statistics:
                counts[name] += counted[number] * amount
        read, written = _traffic(self.table.touched_by_groups, groups), _traffic(self.table.touched_by_drains, chains)
        read.transfers, written.transfers = read.descriptors, counts["bands"]
        return read, written, {name: counts[name] for name in sorted(counts) if counts[name]}


def _traffic(touched: Touched, times: Mapping[int, int]) -> Traffic:
    """What is touched by so many of each number."""
    traffic, listed = Traffic(), touched.counts.listed
    total = sum([many * touched.times(number) for number, many in times.items()], np.zeros(len(listed), np.int64))
    for number in np.flatnonzero(total).tolist():
        add_traffic(traffic, (listed[number],), 0, int(total[number]))
    return traffic
