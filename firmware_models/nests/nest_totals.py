"""Nest totals: the different bands of a launch and all that no clock counts, from its nests, without taking any turn.

Traffic is a sum over places in pages, of reads and of drains apart, each as often as it comes (phase_set.py). A band is
a pair of both, and whether its drain waits (wait_count.py).
"""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from math import gcd, prod
from typing import Any

import attrs
import numpy as np

from tessbed.firmware_models.nests.band_numbers import BandNumbers, account
from tessbed.firmware_models.nests.nest import Leaf, Node, leaves_in_loops
from tessbed.firmware_models.nests.parts import BandParts, PartTable, Sides
from tessbed.firmware_models.nests.phase_set import pairs_of, times_at, turns_of
from tessbed.firmware_models.nests.wait_count import WaitCount
from tessbed.sim.spec.limits import PAGE_BYTES
from tessbed.sim.stats import Traffic
from tessbed.sim.transfer.cost import Counts
from tessbed.sim.transfer.phase_counts import distinct

MOST_APART = 1 << 16
"""Places of a band whose reads move apart, all of which are listed."""
MOST_AXES = 32
"""Reads that move apart in one band; numpy has no arrays of more than 64 axes, old ones of 32."""
MOST_MIXED = 1 << 12
"""Bands of which some may never come that are listed for one whose reads move apart to more places."""

Array = Any
Mover = tuple[int, ...]
"""What moves together: how far ahead of its place it is, and what a turn of each loop adds."""
Triples = list[tuple[int, int, bool]]
"""What reads touch, what a drain touches, and whether it waits."""


class TooManyPlaces(Exception):
    """The reads of a band move apart to more places than are listed."""


@attrs.define(eq=False)
class NestTotals:
    """The bands of a launch, each with its number, and what they touch and count."""

    table: PartTable
    numbers: BandNumbers = attrs.field(init=False)
    _reads: Counter[Counts] = attrs.field(factory=Counter, init=False)
    _drains: Counter[Counts] = attrs.field(factory=Counter, init=False)
    _counts: Counter[str] = attrs.field(factory=Counter, init=False)

    def __attrs_post_init__(self) -> None:
        self.numbers = BandNumbers(self.table)

    @classmethod
    def of(cls, table: PartTable, workers: Sequence[Sequence[Node]]) -> "NestTotals":
        """Those of workers of these nodes. Raises TooManyPlaces."""
        totals, order = cls(table), WaitCount.of(table, workers)
        totals._counts["ordered_drains"] = sum(order.waits(nodes) for nodes in workers if nodes)
        for nodes in workers:
            for leaf, counts in leaves_in_loops(nodes):
                totals._take(leaf, counts, order.flags[id(leaf)])
        return totals

    def account(self) -> tuple[Traffic, Traffic, dict[str, int]]:
        """Traffic of reads and writes, and what the worker loop counts."""
        return account(self._reads, self._drains, self._counts)

    def _take(self, leaf: Leaf, counts: tuple[int, ...], flags: Array) -> None:
        of, times = self.table.band(leaf.band), prod(counts)
        for name, amount in of.statistics:
            self._counts[name] += times * amount
        moves_with, movers = leaf.movers(len(leaf.band.reads))
        drain = (leaf.ahead.drain, *[move.drain for move in leaf.moves])
        _add(self._drains, of.chain, (0,) * len(leaf.band.chain), counts, [drain])
        _add(self._reads, of.reads, moves_with, counts, movers)
        found = (
            _apart(of, (moves_with, movers, drain), counts, flags)
            if len(movers) > 1
            else _pairs(of, (movers[0], drain), counts, flags)
        )
        for reads_touch, drain_touches, waits in found:
            self.numbers.of(2 * of.number(reads_touch, drain_touches) + waits)


def _add(
    to: Counter[Counts],
    sides: Sides,
    moves_with: tuple[int, ...],
    counts: tuple[int, ...],
    movers: Sequence[tuple[int, ...]],
) -> None:
    """Add what descriptors touch in all turns."""
    found = [(ahead, *times_at(turns_of(counts, moves))) for ahead, *moves in movers]
    ahead = [(places + ahead) % PAGE_BYTES for ahead, places, _ in found]
    for touched, times in sides.sums(moves_with, ahead, [times for _, _, times in found]):
        to[touched] += times


def _pairs(of: BandParts, movers: tuple[Mover, Mover], counts: tuple[int, ...], flags: Array) -> Triples:
    """The triples of a band whose reads move together."""
    (ahead, *reads_by), (drain, *drains_by) = movers
    moves = zip(reads_by, drains_by, strict=True)
    pairs = pairs_of(counts, tuple([(reads % PAGE_BYTES, drains % PAGE_BYTES) for reads, drains in moves]))
    places, rests = pairs.reads_and_rests
    reads = of.reads.together((places + ahead) % PAGE_BYTES)
    among = np.zeros(pairs.step, bool)
    among[rests] = True
    drained = np.flatnonzero(np.tile(among, PAGE_BYTES // pairs.step))
    ends, possible = _ends(of, drained + drain, flags)
    met = np.zeros((pairs.step, 2 * len(of.chain.touched)), bool)
    for waits in (0, 1):
        met[drained[possible[waits]] % pairs.step, ends[waits][possible[waits]]] = True
    together = np.zeros((len(of.reads.touched), met.shape[1]), bool)
    comes = np.zeros((len(together), pairs.step), bool)
    comes[reads, rests] = True
    which, rest = np.divmod(np.flatnonzero(comes), pairs.step)
    present, starts = np.unique(which, return_index=True)
    together[present] = np.logical_or.reduceat(met[rest], starts, axis=0)
    return _triples(together)


def _apart(
    of: BandParts, movers: tuple[tuple[int, ...], list[Mover], Mover], counts: tuple[int, ...], flags: Array
) -> Triples:
    """The triples of a band whose reads move apart; where places are many, all that each by itself allows."""
    moves_with, readers, drain = movers
    places = _places_apart(tuple([mover[1:] for mover in (*readers, drain)]), counts)
    if places is None:
        return _mixed(of, movers, counts, flags)
    firsts, which = distinct(places[:, :-1].T)
    gathered = [place + mover[0] for place, mover in zip(places[firsts].T, readers, strict=False)]
    reads = of.reads.apart(moves_with, gathered)[which]
    ends, possible = _ends(of, places[:, -1] + drain[0], flags)
    found = np.zeros((len(of.reads.touched), 2 * len(of.chain.touched)), bool)
    for waits in (0, 1):
        found[reads[possible[waits]], ends[waits][possible[waits]]] = True
    return _triples(found)


def _mixed(
    of: BandParts, movers: tuple[tuple[int, ...], list[Mover], Mover], counts: tuple[int, ...], flags: Array
) -> Triples:
    """The triples of what each mover touches by itself. Raises TooManyPlaces."""
    moves_with, readers, drain = movers
    kinds = []
    for number, (ahead, *moves) in enumerate(readers):
        places = (times_at(turns_of(counts, moves))[0] + ahead) % PAGE_BYTES
        kinds.append(places[distinct(of.reads.columns(moves_with).numbers_of(number, places))[0]])
    places = times_at(turns_of(counts, drain[1:]))[0] + drain[0]
    drained = np.unique(np.concatenate([end[may] for end, may in zip(*_ends(of, places, flags), strict=True)]))
    if prod(map(len, kinds)) * len(drained) > MOST_MIXED or len(kinds) > MOST_AXES:
        raise TooManyPlaces
    reads = np.unique(of.reads.apart(moves_with, [mixed.reshape(-1) for mixed in np.meshgrid(*kinds)]))
    return [(read, end // 2, bool(end % 2)) for read in reads.tolist() for end in drained.tolist()]


@lru_cache(maxsize=16)
def _places_apart(movers: tuple[tuple[int, ...], ...], counts: tuple[int, ...]) -> Array | None:
    """The different places that come together, in a row for all movers; None where they are many."""
    places = np.zeros((1, len(movers)), np.int64)
    for count, moves in zip(counts, np.asarray(movers).T, strict=True):
        turns = min(count, PAGE_BYTES // gcd(PAGE_BYTES, *moves.tolist()))
        if len(places) * turns > MOST_APART:
            return None
        turned = places[:, None] + np.arange(turns)[:, None] * moves
        turned = turned.reshape(-1, len(movers)) % PAGE_BYTES
        places = turned[distinct(turned.T)[0]]
    return places


def _ends(of: BandParts, ahead: Array, flags: Array) -> tuple[list[Array], list[Array]]:
    """Where drains are so far ahead: twice what each touches, and one where it waits, and whether that may be."""
    touched = of.chain.together(ahead % PAGE_BYTES)
    possible = flags[(ahead + of.band.footprint.low) % len(flags)]
    return [2 * touched, 2 * touched + 1], [possible[:, 0], possible[:, 1]]


def _triples(found: Array) -> Triples:
    reads, ends = np.nonzero(found)
    return [(read, end // 2, bool(end % 2)) for read, end in zip(reads.tolist(), ends.tolist(), strict=True)]
