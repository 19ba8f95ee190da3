"""A station: a worker as its transfers see it, who land in its scratch and wake it."""

from collections import deque
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
from simpy import Environment, Event

from tessbed.sim import clock
from tessbed.sim.errors import DeviceFault


@attrs.define(eq=False)
class Station:
    """The scratch of a worker, and the `bell` that it waits for. `view` is of the scratch.

    `flying` has what is not done, by its first sequence: Flights and Groups. The worker waits for `awaited`, sequences.
    `packing` are computations that have a tick and still have to act. `fault` is the first that landed.
    """

    env: Environment
    worker: int
    scratch: np.ndarray
    bell: Event = attrs.field(init=False)
    view: memoryview = attrs.field(init=False)
    flying: dict[int, Any] = attrs.field(factory=dict, init=False)
    awaited: set[int] = attrs.field(factory=set, init=False)
    packing: deque[tuple[int, Callable[[], None]]] = attrs.field(factory=deque, init=False)
    fault: DeviceFault | None = attrs.field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self.bell, self.view = clock.bell(self.env), self.scratch.data

    @property
    def in_flight(self) -> int:
        """Transfers that are not done."""
        now = clock.now(self.env)
        return sum(flight.in_flight(now) for flight in self.flying.values())

    def pack_before(self, tick: int) -> None:
        """Let the computations act that end before `tick`: something looks at the scratch then."""
        packing = self.packing
        while packing and packing[0][0] < tick:
            packing.popleft()[1]()

    def landed(self, flight: Any) -> None:
        """A Flight or Group is done: note its fault, and wake the worker when it was the last one awaited."""
        if flight.fault is not None and self.fault is None:
            self.fault = flight.fault
        awaited, first = self.awaited, flight.seq
        if first in awaited:
            if flight.transfers == 1:
                awaited.remove(first)
            else:
                awaited.difference_update(range(first, first + flight.transfers))
            if not awaited:
                clock.ring(self.env, self.bell)
