"""Schedules: seeded orders, and recorded orders.

Half of the seeded orders let any thread go on that can. The others rank the threads at random and always let the first
in rank go on, so that some transfer is as late as the rules allow: the bugs that hide from fair dice. Both depend on
the seed and the order's number alone.
"""

import hashlib
from collections.abc import Sequence
from random import Random

from tessbed.sim.interleavings.actions import Name, Thread
from tessbed.sim.interleavings.untimed_engine import Choose


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


def written(names: Sequence[Name]) -> Choose:
    """The order that names its threads one after the other."""
    left = iter(names)

    def choose(ready: Sequence[Thread]) -> int:
        wanted = next(left, None)
        found = (index for index, thread in enumerate(ready) if thread.name == wanted)
        index = next(found, None)
        if index is None:
            raise OrderDiverged(f"wanted {wanted}, which can not go on")
        return index

    return choose


def fingerprint(names: Sequence[Name]) -> str:
    """Twelve digits that tell one order from another."""
    return hashlib.sha256(repr(tuple(map(tuple, names))).encode()).hexdigest()[:12]
