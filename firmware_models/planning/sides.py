"""Sides: what the descriptors of a band in one direction touch, by how far ahead of their place they are.

## Theory

What a descriptor touches depends on its shape and its *phase*, its address modulo 4096. So what all descriptors of a
side touch is an *answer*: a number for each descriptor. Where all move together an answer depends on one phase, and
there are at most 4096. Where some move apart from others, each *mover* has such a number, its kind, and an answer is a
tuple of kinds.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from tessbed.firmware_models.nests.planned_band import DescriptorArray
from tessbed.sim.spec.limits import PAGE_BYTES
from tessbed.sim.transfer.phase_counts import PhaseCounts, distinct

IN_PAGE = PAGE_BYTES - 1
"""The bits of a place in a page: a bitwise and takes a fifth of a division."""
FEW_PLACES = 32
"""So many places are looked at one by one in no more time."""
MOST_FOLDED = 256
"""Descriptors, and answers, that are looked at in one array."""

Array = Any


@attrs.frozen(eq=False)
class _Group:
    """Descriptors of one shape that move together: their different places, how many are at each, and which those
    are."""

    counts: PhaseCounts
    places: Array
    many: Array
    members: Array
    which: Array

    def numbers(self, ahead: Array) -> Array:
        """What is touched from each place, in a row, where that is so far ahead."""
        return self.counts.numbers(self.places[:, None] + ahead & IN_PAGE)


@attrs.define(eq=False)
class Mover:
    """Descriptors that move together: what they touch at each place, as a kind; `places` has one place of each kind."""

    groups: list[_Group]
    places: list[int] = attrs.field(factory=list, init=False)
    _known: Array = attrs.field(factory=lambda: np.full(PAGE_BYTES, -1, np.int32), init=False)
    _kinds: dict[bytes, int] = attrs.field(factory=dict, init=False)

    def kinds(self, ahead: Array) -> Array:
        """The kind at each of these places."""
        found = self._known[ahead]
        if found.size and found.min() < 0:
            wanted = np.zeros(PAGE_BYTES, bool)
            wanted[ahead] = True
            missing = np.flatnonzero(wanted & (self._known < 0))
            self._known[missing] = self._kinds_of(missing)
            found = self._known[ahead]
        return found

    def _kinds_of(self, places: Array) -> Array:
        """New places, each first one of its kind listed. Few are not searched for equal ones first."""
        firsts = which = np.arange(len(places))
        if len(places) > FEW_PLACES:
            which = np.zeros(len(places), np.int64)
            for part in self._parts():
                which = distinct(np.vstack((which, part.numbers(places))))[1]
            firsts = np.unique(which, return_index=True)[1]
        none = np.zeros((0, len(firsts)), np.int32)
        rows = np.concatenate([none, *[group.numbers(places[firsts]) for group in self.groups]])
        kinds = np.asarray([self._kind(*pair) for pair in zip(rows.T, places[firsts].tolist(), strict=True)], np.int32)
        return kinds[which]

    def _kind(self, row: Array, place: int) -> int:
        known = self._kinds.setdefault(row.tobytes(), len(self.places))
        if known == len(self.places):
            self.places.append(place)
        return known

    def _parts(self) -> Iterator[_Group]:
        for group in self.groups:
            for first in range(0, len(group.places), MOST_FOLDED):
                yield attrs.evolve(group, places=group.places[first : first + MOST_FOLDED])


@attrs.define(eq=False)
class Sides:
    """The descriptors of a band in one direction.

    `answers` are the different answers so far: what each descriptor touches, by its number in `PhaseCounts.counts`.
    """

    descriptors: DescriptorArray
    counts: Sequence[PhaseCounts]
    """By shape."""
    answers: list[Array] = attrs.field(factory=list, init=False)
    _movers: dict[bytes, list[Mover]] = attrs.field(factory=dict, init=False)
    _known: dict[tuple[bytes, tuple[int, ...]], int] = attrs.field(factory=dict, init=False)
    _by_kind: dict[bytes, Array] = attrs.field(factory=dict, init=False)

    def movers(self, moves_with: Array) -> list[Mover]:
        """The descriptors by those that move together."""
        key = moves_with.tobytes()
        known = self._movers.get(key)
        if known is None:
            known = self._movers[key] = [
                Mover(self._groups(moves_with == number)) for number in range(1 + int(max(moves_with, default=0)))
            ]
        return known

    def _groups(self, moving: Array) -> list[_Group]:
        found = []
        for kind, counts in enumerate(self.counts):
            members = np.flatnonzero(moving & (self.descriptors.kinds == kind))
            if len(members):
                at = self.descriptors.addresses[members] % PAGE_BYTES
                places, which, many = np.unique(at, return_inverse=True, return_counts=True)
                found.append(_Group(counts, places, many, members, which.reshape(-1)))
        return found

    def answered(self, moves_with: Array, ahead: Sequence[Array]) -> Array:
        """The answers where the descriptors of each mover are as far ahead as the array of that mover says."""
        movers = self.movers(moves_with)
        kinds = [mover.kinds(places) for mover, places in zip(movers, ahead, strict=True)]
        if len(movers) == 1:
            return self._of_kinds(moves_with, movers[0])[kinds[0]]
        firsts, which = distinct(np.stack(kinds))
        return self.answers_of(moves_with, np.stack(kinds)[:, firsts])[which]

    def _of_kinds(self, moves_with: Array, mover: Mover) -> Array:
        """The answer of each kind, where all descriptors move together."""
        key = moves_with.tobytes()
        known = self._by_kind.get(key, np.zeros(0, np.int32))
        if len(known) < len(mover.places):
            new = self.answers_of(moves_with, np.arange(len(known), len(mover.places))[None])
            known = self._by_kind[key] = np.concatenate((known, new))
        return known

    def together(self, ahead: Array) -> Array:
        """The answers where all descriptors are as far ahead."""
        return self.answered(np.zeros(len(self.descriptors), np.int64), [ahead])

    def answers_of(self, moves_with: Array, kinds: Array) -> Array:
        """The answers of tuples of kinds, one in each column, all of them different."""
        key, movers = moves_with.tobytes(), self.movers(moves_with)
        wanted = [*zip(*kinds.tolist(), strict=True)]
        new = np.asarray([number for number, each in enumerate(wanted) if (key, each) not in self._known], np.int64)
        for first in range(0, len(new), MOST_FOLDED):
            chosen = new[first : first + MOST_FOLDED]
            for number, row in zip(chosen.tolist(), self._rows(movers, kinds[:, chosen]), strict=True):
                self._known[key, wanted[number]] = len(self.answers)
                self.answers.append(row)
        return np.asarray([self._known[key, each] for each in wanted], np.int32)

    def _rows(self, movers: list[Mover], kinds: Array) -> Array:
        """What each descriptor touches, a row for each tuple of kinds."""
        rows = np.empty((kinds.shape[1], len(self.descriptors)), np.int32)
        for mover, of in zip(movers, kinds, strict=True):
            ahead = np.asarray(mover.places, np.int64)[of]
            for group in mover.groups:
                rows[:, group.members] = group.numbers(ahead)[group.which].T
        return rows
