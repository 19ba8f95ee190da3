"""Schedules: seeded orders, and recorded orders.

Half of the seeded orders let any thread go on that can. The others rank the threads at random and always let the first
in rank go on, so that some transfer is as late as the rules allow: the bugs that hide from fair dice. Both depend on
the seed and the order's number alone.
"""

import hashlib
from collections.abc import Sequence
from random import Random

import attrs

from tessbed.sim.interleavings.actions import Name, Thread
from tessbed.sim.interleavings.untimed_engine import Choose

MOST_ACTIONS = 200_000
"""An order without names ends after so many actions."""


class OrderDiverged(ValueError):
    """A written order that the job can not take."""


def seeded(seed: int, number: int) -> Choose:
    """Order `number` of a seed."""
    random = Random(f"order/{seed}/{number}")
    ranks: dict[Name, float] = {}

    def fair(ready: Sequence[Thread]) -> int:
        return int(random.random() * len(ready))

    def ranked(ready: Sequence[Thread]) -> int:
        best, lowest = 0, 2.0
        for index, thread in enumerate(ready):
            rank = ranks.get(thread.name)
            if rank is None:
                rank = ranks[thread.name] = random.random()
            if rank < lowest:
                best, lowest = index, rank
        return best

    return ranked if number % 2 else fair


def first(ready: Sequence[Thread]) -> int:
    """The plainest order: whoever could go on first."""
    return 0


@attrs.define(eq=False)
class RecordedOrder:
    """The order that names its threads one after the other; without names the plainest, of `most` actions at most."""

    names: Sequence[Name]
    most: int
    taken: int = attrs.field(default=0, init=False)

    def __call__(self, ready: Sequence[Thread]) -> int:
        """The thread that is named next. Raises OrderDiverged where it can not go on."""
        number = self.taken
        self.taken += 1
        if not self.names:
            if number >= self.most:
                raise OrderDiverged(f"the job has more than {self.most:,} actions")
            return 0
        wanted = self.names[number] if number < len(self.names) else None
        index = next((index for index, thread in enumerate(ready) if thread.name == wanted), None)
        if index is None:
            raise OrderDiverged(f"wanted {wanted}, which can not go on")
        return index

    def check_end(self) -> None:
        """The job is over. Raises OrderDiverged where the order goes on."""
        if self.taken < len(self.names):
            raise OrderDiverged(f"the job ends after {self.taken:,} of {len(self.names):,} actions")


def recorded_order(names: Sequence[Name]) -> RecordedOrder:
    """The order that names its threads, as a chooser."""
    return RecordedOrder(names, MOST_ACTIONS)


def fingerprint(names: Sequence[Name]) -> str:
    """Twelve digits that distinguish one order from another."""
    return hashlib.sha256(repr(tuple(map(tuple, names))).encode()).hexdigest()[:12]
