"""A grant memo: what granting a whole read batch led to, for the next time that a pool is in the same state.

## Theory

Granting all of a batch, read by read, is a function of the costs of its reads and of what the pool and the port are in:
until when each channel is busy, which credits are out until when, until when the port is reserved. None of the rules
has a tick of its own in it, so all of that moved by some ticks gives the same grants, moved by as many. A long launch
of equal bands comes to few such states: 150 for 13,000 batches of tiny tiles.

So a state is written down as what it is after the tick at which granting begins, and with it what came of it. Channels
and credits are kept as they are, stale entries among them, hence every number that is in the pool afterwards is the
one that granting read by read leaves there. The port alone is clipped: what is over at the tick has no effect.

What a memo can not know is up to when the arbiter may grant. The last grant has to lie before that, or be of the very
tick; else the batch is granted read by read. So it is where it is partly granted, or its costs are not those of a run,
the same tuple for all equal runs, which the memo keeps: so its id is that of no other.

A memo is full at MOST_KEPT. Where it then has not helped more often than it has learnt, states do not repeat, and it
learns no more.
"""

from collections.abc import Sequence

import attrs

from tessbed.sim.transfer.cost import TransferCost

MOST_KEPT = 1024
State = tuple[int, int, tuple[int, ...], tuple[int, ...]]
"""The id of the costs; the port, the channels and the credits, in ticks after the one at which granting begins."""


def ticks_after(tick: int, ticks: Sequence[int]) -> tuple[int, ...]:
    """Absolute ticks as ticks after one of them."""
    return tuple([each - tick for each in ticks])


@attrs.frozen(eq=False)
class Granting:
    """What granting a batch led to, in ticks after the one at which it began.

    How many credits were out at once is known: it was as many when the pool was in that state before.
    """

    costs: tuple[TransferCost, ...]
    grants: tuple[int, ...]
    dones: tuple[int, ...]
    free_at: tuple[int, ...]
    in_flight: tuple[int, ...]
    port_free: int
    ready_at: int


@attrs.define(eq=False)
class GrantMemo:
    """The grantings of one pool, whose credits and latency never change."""

    known: dict[State, Granting] = attrs.field(factory=dict, init=False)
    helped: int = attrs.field(default=0, init=False)
    learns: bool = attrs.field(default=True, init=False)

    def find(self, state: State, before: int) -> Granting | None:
        """The granting of that state where all is granted `before` so many ticks, or at once."""
        granting = self.known.get(state)
        if granting is None or (granting.grants[-1] >= before and granting.grants[-1]):
            return None
        self.helped += 1
        return granting

    def learn(self, state: State, granting: Granting) -> None:
        """Keep a granting, while that may help."""
        if len(self.known) >= MOST_KEPT:
            self.learns = self.helped > len(self.known)
            self.known.clear()
            self.helped = 0
        if self.learns:
            self.known[state] = granting
