"""A worker's wait state: what its transfers need of it to write to its scratch and wake it."""

from collections import deque
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
from simpy import Environment, Event

from tessbed.sim.errors import DeviceFault
from tessbed.sim.events import event_queue


@attrs.define(eq=False)
class WaitState:
    """The scratch of a worker, and the `wake-up event` that it waits for. `view` is of the scratch.

    `unfinished` has what is not done, by its first sequence: transfers and read batches. The worker waits for the
    sequences in `awaited`. `packing` are computations that have a tick and still have to act. `fault` is the first that
    landed, of the transfer `faulty`.
    """

    env: Environment
    worker: int
    scratch: np.ndarray
    wakeup: Event = attrs.field(init=False)
    view: memoryview = attrs.field(init=False)
    unfinished: dict[int, Any] = attrs.field(factory=dict, init=False)
    awaited: set[int] = attrs.field(factory=set, init=False)
    packing: deque[tuple[int, Callable[[], None]]] = attrs.field(factory=deque, init=False)
    fault: DeviceFault | None = attrs.field(default=None, init=False)
    faulty: int = attrs.field(default=-1, init=False)

    def __attrs_post_init__(self) -> None:
        self.wakeup = event_queue.wakeup_event(self.env)
        self.hold(self.scratch)

    def hold(self, scratch: np.ndarray) -> None:
        """Make `scratch` the only one that the worker and its transfers know."""
        self.scratch, self.view = scratch, scratch.data

    @property
    def in_flight(self) -> int:
        """Transfers that are not done."""
        now = event_queue.now(self.env)
        return sum(inflight.in_flight(now) for inflight in self.unfinished.values())

    def pack_before(self, tick: int) -> None:
        """Let the computations act that end before `tick`: something looks at the scratch then."""
        packing = self.packing
        while packing and packing[0][0] < tick:
            packing.popleft()[1]()

    def landed(self, inflight: Any) -> None:
        """An InFlightTransfer or ReadBatch is done: note its fault, and wake the worker if it was the last awaited."""
        if inflight.fault is not None and self.fault is None:
            self.fault, self.faulty = inflight.fault, inflight.seq
        awaited, first = self.awaited, inflight.seq
        if first in awaited:
            if inflight.transfers == 1:
                awaited.remove(first)
            else:
                awaited.difference_update(range(first, first + inflight.transfers))
            if not awaited:
                event_queue.wake(self.env, self.wakeup)
