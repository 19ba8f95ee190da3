"""Nest totals: all that no clock counts of a launch, from its nests, without taking any turn.

What a descriptor touches depends on its shape and its place in a page. So traffic is a sum over shapes, of how often a
descriptor of each is at each place (place_counts.py), whichever bands they are of; how many drains wait, wait_count.py
says.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

import attrs

from tessbed.firmware_models.nests.nest import Leaf, Node, leaves_in_loops
from tessbed.firmware_models.nests.planned_band import DescriptorArray
from tessbed.firmware_models.planning.parts import PartTable, band_statistics
from tessbed.firmware_models.planning.place_counts import PlaceCounts, turns_of
from tessbed.firmware_models.planning.wait_count import WaitCount
from tessbed.sim.stats import Traffic
from tessbed.sim.transfer.phase_counts import PhaseCounts

Array = Any


@attrs.define(eq=False)
class NestTotals:
    """What the bands of a launch touch and count."""

    table: PartTable
    _places: dict[PhaseCounts, PlaceCounts] = attrs.field(factory=dict, init=False)
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
        """Traffic of reads and writes, and what the worker loop counts but is not 0.

        A read is a transfer, and so is the drain of a band.
        """
        read, written = Traffic(), Traffic()
        for touched, places in self._places.items():
            _add(read if touched.kind == "read" else written, touched, places.times())
        read.transfers, written.transfers = read.descriptors, self._counts["bands"]
        return read, written, {name: self._counts[name] for name in sorted(self._counts) if self._counts[name]}

    def _take(self, leaf: Leaf, counts: tuple[int, ...]) -> None:
        times, (moves_with, movers) = prod(counts), leaf.movers
        for name, amount in band_statistics(self.table.spec, leaf.band):
            self._counts[name] += times * amount
        for number, (ahead, *moves) in enumerate(movers):
            reads = leaf.band.reads.chosen(moves_with == number) if len(movers) > 1 else leaf.band.reads
            self._place("read", reads, ahead, zip(counts, moves, strict=True))
        drains = zip(counts, [move.drain for move in leaf.moves], strict=True)
        self._place("write", leaf.band.chain, leaf.ahead.drain, drains)

    def _place(self, kind: str, side: DescriptorArray, ahead: int, loops: Iterable[tuple[int, int]]) -> None:
        """Descriptors that are so far ahead and in loops of these counts and moves."""
        turns, addresses = turns_of(loops), side.addresses + ahead
        for number, shape in enumerate(side.shapes):
            touched = self.table.phase_counts(kind, shape)
            if touched not in self._places:
                self._places[touched] = PlaceCounts()
            self._places[touched].add(addresses[side.kinds == number] if len(side.shapes) > 1 else addresses, turns)


def _add(traffic: Traffic, touched: PhaseCounts, times: Array) -> None:
    """Descriptors of one shape that are so often at each place of a page."""
    sums = touched.sums(times)
    traffic.descriptors += int(times.sum())
    traffic.payload_bytes += sums.payload_bytes
    traffic.port_bytes += sums.port_bytes
    traffic.bursts += sums.bursts
    traffic.pages += sums.pages
    traffic.rmw_granules += sums.partial_granules
    traffic.moved_bytes = traffic.due_bytes = traffic.payload_bytes
