"""A lane: one worker's transfers of one direction; where they queue, and the account of those that have landed.

Times are summed as each transfer lands. What its fold counts is summed in batches, once for all transfers of one fold.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from tessbed.sim.errors import HazardError
from tessbed.sim.pool import Pool
from tessbed.sim.stats import WORD, Digest, Traffic
from tessbed.sim.transfer import Fold

BATCH = 1024


@attrs.define(eq=False)
class Port:
    """A memory port, reserved until `free`; busy while reserved."""

    name: str
    free: int = 0
    busy_ticks: int = 0


@attrs.define(eq=False)
class Lane:
    """`notify` hears of each transfer that is done, and `flying` has the others by sequence.

    `latency` is from data end to done, the same for all. `moves` is False where ticks are counted and no byte moves.
    `zero` is the tick of the launch; the sums are of absolute ticks.
    """

    worker: int
    kind: str
    pool: Pool
    port: Port
    scratch: np.ndarray
    flying: dict[int, Any]
    notify: Callable[[Any], None]
    latency: int
    zero: int
    moves: bool
    write: bool = attrs.field(init=False)
    requests: int = attrs.field(default=0, init=False)
    landed: int = attrs.field(default=0, init=False)
    traffic: Traffic = attrs.field(factory=Traffic, init=False)
    _sum_grant: int = attrs.field(default=0, init=False)
    _sum_done: int = attrs.field(default=0, init=False)
    _weighted_done: int = attrs.field(default=0, init=False)
    _folds: list[Fold] = attrs.field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self.write = self.kind == "write"

    def land(self, flight: Any) -> None:
        """A transfer is done."""
        grant, done = flight.grant, flight.done
        if not flight.arrival <= grant <= flight.start < flight.end <= done:
            raise HazardError(f"transfer {flight.key}: an effect before its cause")
        del self.flying[flight.seq]
        self.landed += 1
        self._sum_grant += grant
        self._sum_done += done
        self._weighted_done += flight.number * (done - self.zero)
        self._folds.append(flight.fold)
        if flight.fault is not None and self.moves:
            self.traffic.due_bytes -= flight.withheld_bytes
        if len(self._folds) == BATCH:
            self.book()
        self.notify(flight)

    def book(self) -> None:
        """Bring `traffic` and the port up to date."""
        traffic, folds = self.traffic, {id(fold): fold for fold in self._folds}
        for number, transfers in Counter(map(id, self._folds)).items():
            fold = folds[number]
            self.port.busy_ticks += transfers * fold.m
            traffic.transfers += transfers
            traffic.descriptors += transfers * len(fold.segments)
            traffic.payload_bytes += transfers * fold.payload_bytes
            traffic.port_bytes += transfers * fold.port_bytes
            traffic.bursts += transfers * fold.bursts
            traffic.pages += transfers * fold.pages
            traffic.rmw_granules += transfers * fold.partial_granules
            traffic.due_bytes += transfers * fold.payload_bytes if self.moves else 0
        self._folds.clear()

    @property
    def busy_ticks(self) -> int:
        """Channel ticks, from grant to data end."""
        return self._sum_done - self.latency * self.landed - self._sum_grant

    @property
    def digest(self) -> Digest:
        """The times of the landed, from the launch."""
        start, done = self.zero * self.landed, self._sum_done - self.zero * self.landed
        sums = (self._sum_grant - start, done - self.latency * self.landed, done)
        return Digest(self.landed, *sums, self._weighted_done & WORD)
