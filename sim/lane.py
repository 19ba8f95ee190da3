"""A lane: one worker's transfers of one direction; where they queue, and the account of those that have landed.

Landed transfers are booked in batches, a column at a time, since that costs a fraction of booking each by itself.
"""

from collections.abc import Callable
from operator import mul
from typing import Any

import attrs
import numpy as np

from tessbed.sim.errors import HazardError
from tessbed.sim.pool import Pool
from tessbed.sim.stats import WORD, Digest, Traffic

BATCH = 256


@attrs.define(eq=False)
class Port:
    """A memory port, reserved until `free`; busy while reserved."""

    name: str
    free: int = 0
    busy_ticks: int = 0


@attrs.define(eq=False)
class Lane:
    """`notify` hears of each transfer that is done, and `flying` has the others by sequence.

    `zero` is the tick of the launch; `moves` is False where ticks are counted and no byte moves.
    """

    worker: int
    kind: str
    pool: Pool
    port: Port
    scratch: np.ndarray
    flying: dict[int, Any]
    notify: Callable[[Any], None]
    zero: int
    moves: bool
    requests: int = attrs.field(default=0, init=False)
    landed: list[Any] = attrs.field(factory=list, init=False)
    busy_ticks: int = attrs.field(default=0, init=False)
    traffic: Traffic = attrs.field(factory=Traffic, init=False)
    digest: Digest = attrs.field(factory=Digest, init=False)

    def land(self, flight: Any) -> None:
        """A transfer is done."""
        del self.flying[flight.seq]
        self.landed.append(flight)
        if len(self.landed) == BATCH:
            self.book()
        self.notify(flight)

    def book(self) -> None:
        """Bring the account up to date."""
        landed = self.landed
        if landed:
            _check_moments(landed)
            self._book_times(landed)
            self._book_traffic(landed)
            landed.clear()

    def _book_times(self, landed: list[Any]) -> None:
        digest, zero = self.digest, self.zero
        grants, ends, dones = (sum(column) for column in zip(*[(f.grant, f.end, f.done) for f in landed], strict=True))
        weights = [f.number for f in landed]
        weighted = sum(map(mul, weights, [f.done - zero for f in landed]))
        digest.transfers += len(landed)
        digest.sum_grant += grants - zero * len(landed)
        digest.sum_end += ends - zero * len(landed)
        digest.sum_done += dones - zero * len(landed)
        digest.weighted_done = (digest.weighted_done + weighted) & WORD
        self.busy_ticks += ends - grants

    def _book_traffic(self, landed: list[Any]) -> None:
        traffic = self.traffic
        columns = zip(*[f.fold.counts for f in landed], strict=True)
        port_ticks, descriptors, payload, port, bursts, pages, partial = map(sum, columns)
        self.port.busy_ticks += port_ticks
        traffic.transfers += len(landed)
        traffic.descriptors += descriptors
        traffic.payload_bytes += payload
        traffic.port_bytes += port
        traffic.bursts += bursts
        traffic.pages += pages
        traffic.rmw_granules += partial
        traffic.moved_bytes += sum([f.moved_bytes for f in landed])
        if self.moves:
            traffic.due_bytes += payload - sum([f.withheld_bytes for f in landed if f.fault is not None])


def _check_moments(landed: list[Any]) -> None:
    """No effect before its cause."""
    for f in landed:
        move = f.movement
        if not f.arrival <= f.grant <= f.start < f.end <= f.done:
            moments = (f.arrival, f.grant, f.start, f.end, f.done)
            raise HazardError(f"transfer {f.key}: moments {moments} are out of order")
        if move is not None and not f.arrival <= move.sampled_at <= move.delivered_at <= f.done:
            moments = (f.arrival, move.sampled_at, move.delivered_at, f.done)
            raise HazardError(f"transfer {f.key}: data moments {moments} are out of order")
