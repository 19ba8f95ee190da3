"""Nest totals: all that no clock counts of a launch, from its nests, without taking any turn.

Traffic is a sum over places in pages, of reads and of drains apart, each as often as it comes (place_counts.py); how
many drains wait, wait_count.py says. Leaves whose bands differ by nothing but where they are are added up by place, and
then looked at once.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

import attrs
import numpy as np

from tessbed.firmware_models.launch_outline import add_traffic
from tessbed.firmware_models.nests.nest import Leaf, Node, leaves_in_loops
from tessbed.firmware_models.planning.parts import BandForm, PartTable
from tessbed.firmware_models.planning.place_counts import PlaceCounts, turns_of
from tessbed.firmware_models.planning.wait_count import WaitCount
from tessbed.sim.stats import Traffic

Array = Any
ByNumber = Iterable[tuple[int, int]]
"""What is touched, by its number in the counts of a part table, and how often."""


@attrs.define(eq=False)
class NestTotals:
    """What the bands of a launch touch and count."""

    table: PartTable
    _forms: dict[tuple[int, bytes], "_FormTotals"] = attrs.field(factory=dict, init=False)
    _counts: Counter[str] = attrs.field(factory=Counter, init=False)

    @classmethod
    def of(cls, table: PartTable, workers: Sequence[Sequence[Node]]) -> "NestTotals":
        """Those of workers of these nodes."""
        totals, order = cls(table), WaitCount.of(table, workers)
        totals._counts["ordered_drains"] = sum(order.waits(nodes) for nodes in workers if nodes)
        for nodes in workers:
            for leaf, counts in leaves_in_loops(nodes):
                totals._take(leaf, counts)
        return totals

    def account(self) -> tuple[Traffic, Traffic, dict[str, int]]:
        """Traffic of reads and writes, and what the worker loop counts but is not 0. A band is one drain."""
        read, written = Traffic(), Traffic(transfers=self._counts["bands"])
        for of in self._forms.values():
            self._add(read, of.reads(), transfers=1)
            self._add(written, of.drains(), transfers=0)
        return read, written, {name: self._counts[name] for name in sorted(self._counts) if self._counts[name]}

    def _add(self, traffic: Traffic, touched: ByNumber, transfers: int) -> None:
        for number, times in touched:
            add_traffic(traffic, (self.table.counts.listed[number],), transfers * times, times)

    def _take(self, leaf: Leaf, counts: tuple[int, ...]) -> None:
        form, reads, drain = self.table.band(leaf.band)
        for name, amount in form.statistics:
            self._counts[name] += prod(counts) * amount
        moves_with, movers = leaf.movers
        key = id(form), moves_with.tobytes()
        totals = self._forms.get(key)
        if totals is None:
            totals = self._forms[key] = _FormTotals.of(form, moves_with, len(movers))
        for to, (ahead, *moves) in zip(totals.movers, movers, strict=True):
            to.add(ahead + reads, turns_of(counts, moves))
        totals.drain.add(leaf.ahead.drain + drain, turns_of(counts, [move.drain for move in leaf.moves]))


@attrs.frozen(eq=False)
class _FormTotals:
    """The leaves of one form whose reads move alike: where each mover and the drain come in their pages."""

    form: BandForm
    moves_with: Array
    movers: tuple[PlaceCounts, ...]
    drain: PlaceCounts = attrs.field(factory=PlaceCounts)

    @classmethod
    def of(cls, form: BandForm, moves_with: Array, movers: int) -> "_FormTotals":
        """Before any of them."""
        return cls(form, moves_with, tuple([PlaceCounts() for _ in range(movers)]))

    def reads(self) -> ByNumber:
        """What reads touch how often."""
        return self.form.reads.sums(self.moves_with, [mover.times() for mover in self.movers])

    def drains(self) -> ByNumber:
        """What drains touch how often."""
        chain = self.form.chain
        return chain.sums(np.zeros(len(chain.descriptors), int), [self.drain.times()])
