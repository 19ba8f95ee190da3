"""Dynamic partial-order reduction: runs a small job once for each of its distinguishable orders.

## What is explored

A job is threads (`actions.py`): cores, and the halves of transfers. Each is a sequence of atomic actions, of which at
most one is enabled at a time. An order is a choice of thread at every state until the host has read. Two orders can be
distinguished only if two actions that *conflict*, which touch a common byte where one of them writes, come in another
order. All orders that agree on the order of conflicting actions are one class, and one of them is enough: the bytes at
the end are the same in all.

## How

One order is run. Looking back at it (`_swap`), an action *follows* another if it comes later and is ordered after it by
causes (its thread's own earlier action, what a wait waited for) or by a chain of conflicts. For each action, and each
earlier one that conflicts with it and that it does not follow by anything between, there may be a class in which the
two are swapped. So at the state before the earlier one, the thread that leads to the later one is added to the
*backtrack set*, `wanted`: the later action's own thread if it was enabled there, else one that was and that it follows;
if there is none, everybody who was enabled. Depth first, the latest state with somebody untried is changed, and the job
runs again from its start. (Flanagan and Godefroid, "Dynamic Partial-Order Reduction for Model Checking Software",
2005.)

*Sleep sets* keep one class from being run twice: a thread whose action was tried at a state sleeps in the states below
the alternatives, until something that conflicts with it has moved. A state in which all that is enabled is asleep has
been explored from elsewhere: `Pruned`, and no order counts.

## Invariants

| of a Fork, a state on the path | |
|---|---|
| `enabled` | each thread that could go on, with what its next action touches |
| `chosen` | who goes on in the order that is being run |
| `tried` | who was chosen before; everything below them has been explored |
| `wanted` | the backtrack set; it only grows, by orders that ran through this state |
| `asleep` | need not be chosen here: explored from a sibling |

1. `forks` is the path from the start to where the run is; `_depth` is how far the present run has followed it. A run
   repeats its choices exactly, since a job without time depends on nothing else.
2. When a fork is dropped, everything that can be distinguished below it has run, but for what sleeps in it.
3. Causes and conflicts are taken from what happened, not from the program: hence dynamic. It knows actions and bytes,
   not what firmware must wait for, and so is independent of the checker.

It ends, since every order of a job is finite; `most` bounds how many are run, and `complete` says that none is left.
"""

from collections.abc import Callable, Iterator, Sequence

import attrs

from tessbed.sim.interleavings.actions import ByteAccesses, Name, Thread, actions_conflict
from tessbed.sim.interleavings.untimed_engine import Choose, ExecutedAction

Run = Callable[[Choose], Sequence[ExecutedAction]]
"""Runs the job with a chooser and says what happened, in order."""


class Pruned(Exception):
    """Every order from here on has been run."""


@attrs.define(eq=False)
class Fork:
    """A state of the job: who could go on, who was chosen, who is still to be tried; `asleep` need not be tried."""

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
                executed = self.run(self._choose)
            except Pruned:
                pass
            else:
                self.runs += 1
                self._swap(executed)
                yield tuple(action.name for action in executed)
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

    def _swap(self, executed: Sequence[ExecutedAction]) -> None:
        """For each two conflicting actions that nothing orders, want the later one tried before the earlier one."""
        before: list[int] = []  # of each action a set, as bits, of the actions that it follows
        latest: dict[Name, int] = {}
        for number, action in enumerate(executed):
            follows = 0
            for cause in (*action.causes, *([latest[action.name]] if action.name in latest else [])):
                follows |= before[cause] | 1 << cause
            for earlier in range(number - 1, -1, -1):
                if follows >> earlier & 1 or not actions_conflict(executed[earlier].touches, action.touches):
                    continue
                self._want(earlier, number, follows, executed)
                follows |= before[earlier] | 1 << earlier
            before.append(follows)
            latest[action.name] = number

    def _want(self, earlier: int, later: int, follows: int, executed: Sequence[ExecutedAction]) -> None:
        """At the state before `earlier`, try whoever leads to `later`."""
        fork = self.forks[earlier]
        leads = [executed[n].name for n in range(earlier + 1, later) if follows >> n & 1] + [executed[later].name]
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
