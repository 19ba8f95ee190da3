"""Dynamic partial-order reduction: runs a small job once for each of its distinguishable orders.

Two orders differ only if two actions that touch a common byte (one writing) change places. So one order is run, and
for each pair of such actions that nothing orders, another in which they are swapped is run too, and so on until nothing
is left (Flanagan and Godefroid, "Dynamic Partial-Order Reduction for Model Checking Software", 2005, with sleep sets).
It is independent of the checker: it knows actions and bytes, not what firmware must wait for.
"""

from collections.abc import Callable, Iterator, Sequence

import attrs

from tessbed.sim.interleavings.actions import ByteAccesses, Name, Thread, actions_conflict
from tessbed.sim.interleavings.untimed_engine import Choose, TakenAction

Run = Callable[[Choose], Sequence[TakenAction]]
"""Runs the job with a chooser and says what happened, in order."""


class Pruned(Exception):
    """Every order from here on has been run."""


@attrs.define(eq=False)
class Fork:
    """A state of the job: who could go on, who was released, who is still to be tried; `asleep` need not be tried."""

    enabled: dict[Name, ByteAccesses]
    chosen: Name
    asleep: dict[Name, ByteAccesses]
    wanted: list[Name] = attrs.field(factory=list)
    tried: list[Name] = attrs.field(factory=list)

    def untried(self) -> Name | None:
        """Somebody who is still to be tried."""
        return next((n for n in self.wanted if n not in self.tried and n != self.chosen and n not in self.asleep), None)


@attrs.define(eq=False)
class Search:
    """Depth-first over the forks. `runs` counts complete orders; `complete` says that none is left."""

    run: Run
    most: int
    forks: list[Fork] = attrs.field(factory=list, init=False)
    runs: int = attrs.field(default=0, init=False)
    complete: bool = attrs.field(default=False, init=False)
    _depth: int = attrs.field(default=0, init=False)

    def orders(self) -> Iterator[tuple[Name, ...]]:
        """Run order after order; yields each as the names of its threads, after it has run."""
        while self.runs < self.most:
            self._depth = 0
            try:
                taken = self.run(self._choose)
            except Pruned:
                pass
            else:
                self.runs += 1
                self._swap(taken)
                yield tuple(action.name for action in taken)
            if not self._back():
                self.complete = True
                return

    def _choose(self, ready: Sequence[Thread]) -> int:
        names = [thread.name for thread in ready]
        if self._depth == len(self.forks):
            self._fork({thread.name: thread.next.touches for thread in ready if thread.next})
        self._depth += 1
        return names.index(self.forks[self._depth - 1].chosen)

    def _fork(self, enabled: dict[Name, ByteAccesses]) -> None:
        """A new state: whoever slept, or was tried, in the one before sleeps here too unless it conflicts."""
        asleep: dict[Name, ByteAccesses] = {}
        if self.forks:
            last = self.forks[-1]
            moved = last.enabled[last.chosen]
            slept = {**last.asleep, **{name: last.enabled[name] for name in last.tried}}
            asleep = {
                n: touches for n, touches in slept.items() if n != last.chosen and not actions_conflict(touches, moved)
            }
        awake = [name for name in enabled if name not in asleep]
        if not awake:
            raise Pruned
        self.forks.append(Fork(enabled, awake[0], asleep, [awake[0]]))

    def _swap(self, taken: Sequence[TakenAction]) -> None:
        """For each two conflicting actions that nothing orders, want the later one tried before the earlier one."""
        before: list[int] = []
        latest: dict[Name, int] = {}
        for number, action in enumerate(taken):
            follows = 0
            for cause in (*action.causes, *([latest[action.name]] if action.name in latest else [])):
                follows |= before[cause] | 1 << cause
            for earlier in range(number - 1, -1, -1):
                if follows >> earlier & 1 or not actions_conflict(taken[earlier].touches, action.touches):
                    continue
                self._want(earlier, number, follows, taken)
                follows |= before[earlier] | 1 << earlier
            before.append(follows)
            latest[action.name] = number

    def _want(self, earlier: int, later: int, follows: int, taken: Sequence[TakenAction]) -> None:
        """At the state before `earlier`, try whoever leads to `later`."""
        fork = self.forks[earlier]
        leads = [taken[n].name for n in range(earlier + 1, later) if follows >> n & 1] + [taken[later].name]
        able = [name for name in leads if name in fork.enabled]
        for name in able[:1] or list(fork.enabled):
            if name not in fork.wanted:
                fork.wanted.append(name)

    def _back(self) -> bool:
        """Go back to the last state where somebody is still to be tried; False where there is none."""
        while self.forks:
            fork = self.forks[-1]
            if (name := fork.untried()) is not None:
                fork.tried.append(fork.chosen)
                fork.chosen = name
                return True
            self.forks.pop()
        return False
