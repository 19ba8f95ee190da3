"""Nest totals: the different bands of a launch and all that no clock counts, from its nests, without taking any turn.

Traffic is a sum over places in pages, of reads and of drains apart, each as often as it comes. A band is what its reads
and its drain touch where they come together (phase_set.py), and whether its drain waits (wait_count.py). Leaves whose
bands differ by nothing but where they are share all of that: their places are added up, and then looked at once.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import attrs
import numpy as np

from tessbed.firmware_models.nests.band_numbers import BandList, account
from tessbed.firmware_models.nests.nest import Leaf, Node, leaves_in_loops
from tessbed.firmware_models.nests.parts import BandForm, PartTable
from tessbed.firmware_models.nests.phase_set import (
    KindsAt,
    PlaceTuples,
    Rows,
    kinds_together,
    rolled,
    times_at,
    tuples_of,
    turns_of,
)
from tessbed.firmware_models.nests.wait_count import WaitCount
from tessbed.sim.spec.limits import PAGE_BYTES
from tessbed.sim.stats import Traffic
from tessbed.sim.transfer.cost import Counts
from tessbed.sim.transfer.phase_counts import distinct

MOST_MIXED = 1 << 12
"""Bands of which some may never come that are listed for one whose reads move apart to too many places."""

Array = Any
Movers = Sequence[tuple[int, ...]]
"""Of each mover how far ahead of its place it is, and what a turn of each loop adds."""


class TooManyPlaces(Exception):
    """The reads of a band move apart to more places than are walked."""


@attrs.define(eq=False)
class NestTotals:
    """The bands of a launch, and what they touch and count."""

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
                totals._take(leaf, counts, order.flags[id(leaf)])
        return totals

    def bands(self) -> BandList:
        """Those that come, and some that may. Raises TooManyPlaces."""
        found = [of.found() for of in self._forms.values()]
        keys = [self.table.keys(codes) + waits for codes, waits in found]
        return BandList.of(self.table, np.concatenate(keys) if keys else np.zeros(0, np.int64))

    def account(self) -> tuple[Traffic, Traffic, dict[str, int]]:
        """Traffic of reads and writes, and what the worker loop counts."""
        touched: tuple[Counter[Counts], Counter[Counts]] = Counter(), Counter()
        for of in self._forms.values():
            for to, sums in zip(touched, of.sums(), strict=True):
                for number, times in sums:
                    to[self.table.counts.listed[number]] += times
        return account(*touched, self._counts)

    def _take(self, leaf: Leaf, counts: tuple[int, ...], flags: Array) -> None:
        form, reads, drain = self.table.band(leaf.band)
        for name, amount in form.statistics:
            self._counts[name] += prod(counts) * amount
        moves_with, movers = leaf.movers
        placed = [(ahead + reads, *moves) for ahead, *moves in movers]
        placed.append((leaf.ahead.drain + drain, *[move.drain for move in leaf.moves]))
        key = id(form), moves_with.tobytes()
        totals = self._forms.get(key)
        if totals is None:
            totals = self._forms[key] = _FormTotals.of(form, moves_with, len(placed))
        totals.take(placed, counts, flags)


@attrs.define(eq=False)
class _FormTotals:
    """The leaves of one form whose reads move alike: how often each mover comes to each place, the drain the last; and
    by the rows of the subgroups of places that come together, and by where drains may wait, the shifts of those."""

    form: BandForm
    moves_with: Array
    times: Array
    shifts: dict[tuple[Rows, bytes], tuple[Array, list[Array]]] = attrs.field(factory=dict, init=False)

    @classmethod
    def of(cls, form: BandForm, moves_with: Array, movers: int) -> "_FormTotals":
        """Before any of them."""
        return cls(form, moves_with, np.zeros((movers, PAGE_BYTES), np.int64))

    def take(self, movers: Movers, counts: tuple[int, ...], flags: Array) -> None:
        """Add a leaf."""
        for to, (ahead, *moves) in zip(self.times, movers, strict=True):
            to += rolled(times_at(turns_of(counts, moves)), ahead)
        ahead, *moves = zip(*movers, strict=True)
        tuples = tuples_of(counts, tuple([tuple([by % PAGE_BYTES for by in turn]) for turn in moves]), len(movers))
        _, shifts = self.shifts.setdefault((tuples.rows, flags.tobytes()), (flags, []))
        shifts.append(tuples.shifts + np.asarray(ahead) % PAGE_BYTES)

    def sums(self) -> tuple[Any, Any]:
        """What reads touch how often, and what drains do, by number."""
        *reads, drains = self.times
        chain = self.form.chain
        return self.form.reads.sums(self.moves_with, reads), chain.sums(np.zeros(len(chain.descriptors), int), [drains])

    def found(self) -> tuple[Array, Array]:
        """The codes of the parts where reads and drains come together, and 1 where the drain waits; equal ones may come
        several times. Raises TooManyPlaces."""
        found = []
        for (rows, _), (flags, shifts) in self.shifts.items():
            kinds = [
                *[mover.kinds for mover in self.form.reads.movers(self.moves_with)],
                _drain_kinds(self.form, flags),
            ]
            walked = kinds_together(PlaceTuples.of(rows, np.concatenate(shifts)), kinds)
            found.append(self._mixed(kinds) if walked is None else walked)
        *kinds_of_reads, drains = np.concatenate(found).T
        firsts, which = distinct(np.stack(kinds_of_reads))
        reads = self.form.reads.answers_of(self.moves_with, np.stack(kinds_of_reads)[:, firsts])[which]
        codes = self.form.codes(reads, drains >> 2)
        go, wait = codes[drains & 1 > 0], codes[drains & 2 > 0]
        return np.concatenate((go, wait)), np.repeat((0, 1), (len(go), len(wait)))

    def _mixed(self, kinds: Sequence[KindsAt]) -> Array:
        """All that each mover touches by itself, together. Raises TooManyPlaces."""
        each = [np.unique(of(np.flatnonzero(times))) for of, times in zip(kinds, self.times, strict=True)]
        if prod(map(len, each)) > MOST_MIXED:
            raise TooManyPlaces
        return np.asarray([*product(*[of.tolist() for of in each])], np.int64)


def _drain_kinds(form: BandForm, flags: Array) -> KindsAt:
    """Four times what a drain touches at some places, and 2 where it may wait, and 1 where it may go at once."""

    def kinds(places: Array) -> Array:
        may_go, may_wait = flags[places % len(flags)].T
        return 4 * form.chain.together(places) + 2 * may_wait + may_go

    return kinds
