"""What the body of a firmware worker sees: its place in the grid, its scratch, and the few things it may do.

A body is a generator function of one WorkerContext and waits only by `yield from` its methods, so that each
tick of the worker has a reason. For a band: gather in groups, wait for the slot, compute, drain.
"""

from collections.abc import Callable, Generator, Sequence
from typing import Any

import attrs
import numpy as np
from simpy import Environment, Event

from tessbed.sim import clock
from tessbed.sim.chance import draw
from tessbed.sim.dma import Dma
from tessbed.sim.errors import DeviceFault, HazardError
from tessbed.sim.flight import Flight
from tessbed.sim.hang import Waiting
from tessbed.sim.spec import DeviceSpec
from tessbed.sim.stats import STALLS
from tessbed.sim.transfer import Descriptor

Steps = Generator[Event, Any, None]
COMPUTE = 1 << 32  # keeps the chances of computes apart from those of transfers


@attrs.define(eq=False)
class WorkerContext:
    """One logical worker. `scratch`: 1-D uint8, dirty at the start; `counts`: the firmware's own statistics."""

    worker: int
    workers: int
    spec: DeviceSpec
    scratch: np.ndarray
    counts: dict[str, int]
    _env: Environment
    _dma: Dma
    stalls: dict[str, int] = attrs.field(factory=lambda: dict.fromkeys(STALLS, 0), init=False)
    fault: DeviceFault | None = attrs.field(default=None, init=False)
    waiting: Waiting | None = attrs.field(default=None, init=False)
    _seq: int = attrs.field(default=0, init=False)
    _computes: int = attrs.field(default=0, init=False)
    _flying: dict[int, Flight] = attrs.field(factory=dict, init=False)
    _slots: dict[int, int] = attrs.field(factory=dict, init=False)
    _awaited: set[int] = attrs.field(factory=set, init=False)
    _wake: Event | None = attrs.field(default=None, init=False)

    def gather(self, descriptors: Sequence[Descriptor]) -> Steps:
        """Read one wait group into scratch and wait for all of it; raises DeviceFault when a read failed."""
        limit = self.spec.dma.wait_group
        if not 1 <= len(descriptors) <= limit:
            raise HazardError(f"worker {self.worker}: a wait group of {len(descriptors)}, wanted 1 to {limit}")
        yield from self._spend("issue", self.spec.dma.issue_ticks * len(descriptors))
        seqs = [self._launch_read(descriptor) for descriptor in descriptors]
        yield from self._wait_for("gather", seqs)

    def wait_slot(self, slot: int) -> Steps:
        """Wait until the earlier drain of `slot` has completed; raises DeviceFault when a drain failed."""
        self._check_slot(slot)
        yield from self._wait_for("slot", [self._slots.get(slot, -1)])

    def compute(self, ticks: int, action: Callable[[], None]) -> Steps:
        """Spend `ticks` computing; `action` moves the bytes, at the moment that `data_movement` says."""
        early = self._acts_early()
        if early:
            action()
        yield from self._spend("compute", ticks)
        if not early:
            action()

    def drain(self, slot: int, descriptors: Sequence[Descriptor]) -> Steps:
        """Issue the chain that empties `slot`, and go on."""
        self._check_slot(slot)
        if self._slots.get(slot, -1) in self._flying:
            raise HazardError(f"worker {self.worker}: slot {slot} drains again before its earlier drain is done")
        yield from self._spend("issue", self.spec.dma.issue_ticks * len(descriptors))
        seq = self._slots[slot] = self._next()
        chain = tuple(descriptors)
        self._flying[seq] = self._dma.write(self.worker, seq, chain, self.scratch, self._landed)

    def wait_drains(self, reason: str = "end") -> Steps:
        """Wait for every earlier drain; `reason` is "order" between bands, "end" at the end."""
        yield from self._wait_for(reason, list(self._flying))

    def count(self, name: str, n: int = 1) -> None:
        """Add `n` to one of the firmware's statistics."""
        self.counts[name] = self.counts.get(name, 0) + n

    def settle(self) -> Steps:
        """Wait for what flies without raising; for the device, after a fault."""
        try:
            yield from self.wait_drains()
        except DeviceFault as fault:
            self.fault = self.fault or fault

    @property
    def flying(self) -> int:
        """Transfers that are not done."""
        return len(self._flying)

    def _launch_read(self, descriptor: Descriptor) -> int:
        seq = self._next()
        self._flying[seq] = self._dma.read(self.worker, seq, descriptor, self.scratch, self._landed)
        return seq

    def _next(self) -> int:
        self._seq += 1
        return self._seq - 1

    def _check_slot(self, slot: int) -> None:
        if not 0 <= slot < self.spec.slots:
            raise HazardError(f"worker {self.worker}: slot {slot}, wanted 0 to {self.spec.slots - 1}")

    def _acts_early(self) -> bool:
        self._computes += 1
        if self.spec.data_movement == "seeded":
            return draw(self._dma.seed, self.worker, COMPUTE + self._computes) & 1 == 1
        return self.spec.data_movement == "at_issue"

    def _landed(self, flight: Flight) -> None:
        """A transfer is done: note its fault, and wake the worker when it was the last one awaited."""
        del self._flying[flight.seq]
        self.fault = self.fault or flight.fault
        self._awaited.discard(flight.seq)
        if self._wake is not None and not self._awaited:
            self._wake.succeed()
            self._wake = None

    def _wait_for(self, reason: str, seqs: Sequence[int]) -> Steps:
        flying = [seq for seq in seqs if seq in self._flying]
        if flying:
            self._awaited = set(flying)
            self._wake = self._env.event()
            yield from self._stall(reason, f"transfers {flying} of its own", self._wake)
        if self.fault is not None:
            raise self.fault

    def _spend(self, reason: str, ticks: int) -> Steps:
        if ticks < 0:
            raise HazardError(f"worker {self.worker}: {reason} of {ticks} ticks")
        if ticks:
            yield from self._stall(reason, f"{ticks} ticks to pass", self._env.timeout(ticks))

    def _stall(self, reason: str, what: str, event: Event) -> Steps:
        since = clock.now(self._env)
        self.waiting = Waiting(f"worker {self.worker}", f"{what} ({reason})", since)
        yield event
        self.waiting = None
        self.stalls[reason] += clock.now(self._env) - since
