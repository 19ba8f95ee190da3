"""A transfer in flight: who asked, when each of its moments is, and when its data moves.

Arrival a, grant G, data start P, data end E, done C. The data of a gather, and of a drain's full granules, is
sampled at t1 and delivered at t2, a <= t1 <= t2 <= C, by the policy `data_movement`. Between arrival and grant
nothing can move, so the `seeded` policy picks a itself or ticks of [G, C].
"""

from collections.abc import Callable
from typing import Any

import attrs

from tessbed.sim.chance import draw
from tessbed.sim.errors import DeviceFault
from tessbed.sim.movement import Movement
from tessbed.sim.transfer import Fold

AT_ARRIVAL, AT_DONE = -1, -2  # moments that are known before their ticks are
Moments = tuple[int, int]
ENDPOINTS: tuple[Moments, ...] = ((AT_ARRIVAL, AT_ARRIVAL), (AT_ARRIVAL, AT_DONE), (AT_DONE, AT_DONE))
FIXED: dict[str, Moments] = {"at_issue": ENDPOINTS[0], "at_completion": ENDPOINTS[2]}


@attrs.define(eq=False)
class Flight:
    """One transfer's run state; ticks are absolute, -1 until known. `notify` hears of its completion.

    `seq` counts all transfers of the worker from 0, `number` those of the direction from 1.
    """

    worker: int
    seq: int
    number: int
    arrival: int
    fold: Fold
    movement: Movement
    notify: Callable[["Flight"], None]
    key: tuple[int, int, int] = attrs.field(init=False)
    pool: Any = attrs.field(default=None, init=False)
    channel: int = attrs.field(default=-1, init=False)
    grant: int = attrs.field(default=-1, init=False)
    start: int = attrs.field(default=-1, init=False)
    end: int = attrs.field(default=-1, init=False)
    done: int = attrs.field(default=-1, init=False)
    moments: Moments | None = attrs.field(default=None, init=False)
    fault: DeviceFault | None = attrs.field(default=None, init=False)
    stalled: bool = attrs.field(default=False, init=False)
    sampled_at: int = attrs.field(default=-1, init=False)
    delivered_at: int = attrs.field(default=-1, init=False)

    def __attrs_post_init__(self) -> None:
        self.key = (self.arrival, self.worker, self.seq)

    def sample(self, tick: int) -> None:
        """The source bytes are taken at `tick`."""
        self.sampled_at = tick
        self.movement.sample()

    def deliver(self, tick: int) -> None:
        """The bytes arrive at `tick`, sampled then if they were not before."""
        self.delivered_at = tick
        if self.sampled_at < 0:
            self.sampled_at = tick
        self.movement.deliver()


def early(policy: str, seed: int, worker: int, seq: int) -> Moments | None:
    """(t1, t2) when both are endpoints, as AT_ARRIVAL or AT_DONE; None when they lie between G and C."""
    if policy != "seeded":
        return FIXED[policy]
    chance = draw(seed, worker, seq)
    return ENDPOINTS[(chance >> 1) % len(ENDPOINTS)] if chance & 1 else None


def between(seed: int, flight: Flight) -> Moments:
    """(t1, t2) drawn from the ticks of [G, C]."""
    span = flight.done - flight.grant + 1
    picks = [flight.grant + draw(seed, flight.worker, flight.seq, n) % span for n in (1, 2)]
    return min(picks), max(picks)
