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
from tessbed.sim.diagnosis import Waiting
from tessbed.sim.dma import Dma
from tessbed.sim.errors import DeviceFault, HazardError
from tessbed.sim.flight import Flight
from tessbed.sim.lane import Lane
from tessbed.sim.spec import DeviceSpec
from tessbed.sim.staging import Staging
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
    staging: Staging | None = None
    stalls: dict[str, int] = attrs.field(factory=lambda: dict.fromkeys(STALLS, 0), init=False)
    fault: DeviceFault | None = attrs.field(default=None, init=False)
    _reads: Lane = attrs.field(init=False)
    _writes: Lane = attrs.field(init=False)
    _seq: int = attrs.field(default=0, init=False)
    _computes: int = attrs.field(default=0, init=False)
    _flying: dict[int, Flight] = attrs.field(factory=dict, init=False)
    _slots: dict[int, int] = attrs.field(factory=dict, init=False)
    _bell: Event = attrs.field(init=False)
    _timer: clock.Alarm = attrs.field(factory=clock.Alarm, init=False)
    _on_issued: clock.Calls = attrs.field(init=False)
    _group: Sequence[Descriptor] = attrs.field(default=(), init=False)
    _awaited: set[int] = attrs.field(factory=set, init=False)
    _death: DeviceFault | None = attrs.field(default=None, init=False)
    _pending: tuple[str, int | Sequence[int], int] = attrs.field(default=("", 0, 0), init=False)

    def __attrs_post_init__(self) -> None:
        self._reads = self._dma.lane(self.worker, "read", self.scratch, self._flying, self._landed)
        self._writes = self._dma.lane(self.worker, "write", self.scratch, self._flying, self._landed)
        self._bell, self._on_issued = clock.bell(self._env), (self._request_group,)

    def gather(self, descriptors: Sequence[Descriptor], *, oversized: bool = False) -> Steps:
        """Read one wait group into scratch and wait for all of it; raises DeviceFault when a read failed.

        `oversized` says that the group is rows of a pitch that no field holds.
        """
        self._check_group(descriptors, oversized)
        self._group, self._bell.callbacks = descriptors, []
        if ticks := self.spec.dma.issue_ticks * len(descriptors):
            self._timer.callbacks = self._on_issued
            self._pass("issue", ticks, self._timer)
        else:
            self._request_group(None)
        if self._death is None:
            yield self._bell
            self._resumed()
            if self.staging and self._death is None:
                self.staging.retire(range(self._seq - len(self._group), self._seq))
        if fault := self._death or self.fault:
            raise fault

    def prefetch(self, descriptors: Sequence[Descriptor], *, oversized: bool = False) -> Steps:
        """Read one wait group into scratch, and go on; `wait_drains` waits for it too."""
        self._check_group(descriptors, oversized)
        if ticks := self.spec.dma.issue_ticks * len(descriptors):
            yield self._pass("issue", ticks, self._bell)
        self._note_group(descriptors)
        first = self._seq
        self._seq += len(descriptors)
        self._dma.read(self._reads, first, descriptors)

    def wait_slot(self, slot: int) -> Steps:
        """Wait until the earlier drain of `slot` has completed; raises DeviceFault when a drain failed."""
        self._check_slot(slot)
        return self._wait_for("slot", (self._slots.get(slot, -1),))

    def compute(self, ticks: int, action: Callable[[], None]) -> Steps:
        """Spend `ticks` computing; `action` moves the bytes, at the moment that `data_movement` says."""
        if self.staging:
            self.staging.pack(action)
        early = self._acts_early()
        if early and self._dma.moves:
            action()
        if ticks:
            yield self._pass("compute", ticks, self._bell)
        if self._dma.moves and not early:
            action()

    def drain(self, slot: int, descriptors: Sequence[Descriptor]) -> Steps:
        """Issue the chain that empties `slot`, and go on."""
        self._check_slot(slot)
        if ticks := self.spec.dma.issue_ticks * len(descriptors):
            yield self._pass("issue", ticks, self._bell)
        seq = self._slots[slot] = self._seq
        self._seq += 1
        chain = tuple(descriptors)
        if self.staging:
            self.staging.drain(seq, slot, chain)
        self._dma.write(self._writes, seq, chain)

    def wait_drains(self, reason: str = "end") -> Steps:
        """Wait for every earlier drain; `reason` is "order" between bands, "end" at the end."""
        return self._wait_for(reason, self.staging.issued if self.staging else tuple(self._flying))

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

    @property
    def waiting(self) -> Waiting | None:
        """What it waits for, if it does."""
        if self._bell.callbacks is None:
            return None
        reason, what, since = self._pending
        text = f"{what} ticks to pass" if isinstance(what, int) else f"transfers {[*what]} of its own"
        on = () if isinstance(what, int) else tuple(f"transfer {seq} of worker {self.worker}" for seq in what)
        return Waiting(f"worker {self.worker}", f"{text} ({reason})", since, on)

    def _check_slot(self, slot: int) -> None:
        if not 0 <= slot < self.spec.slots:
            raise HazardError(f"worker {self.worker}: slot {slot}, wanted 0 to {self.spec.slots - 1}")

    def _check_group(self, descriptors: Sequence[Descriptor], oversized: bool) -> None:
        limit = self.spec.dma.wait_group
        if not 1 <= len(descriptors) <= limit:
            raise HazardError(f"worker {self.worker}: a wait group of {len(descriptors)}, wanted 1 to {limit}")
        if self.staging and oversized:
            self.staging.check_oversized(len(descriptors))

    def _note_group(self, descriptors: Sequence[Descriptor]) -> None:
        if self.staging:
            self.staging.gather(self._seq, descriptors)

    def _acts_early(self) -> bool:
        self._computes += 1
        policy = self.spec.data_movement
        if policy == "seeded":
            return draw(self._dma.seed, self.worker, COMPUTE + self._computes) & 1 == 1
        return policy == "at_issue"

    def _pass(self, reason: str, ticks: int, occasion: Any) -> Event:
        """Let `ticks` pass before `occasion`; returns the bell, set for whatever rings it then."""
        if ticks < 0:
            raise HazardError(f"worker {self.worker}: {reason} of {ticks} ticks")
        now = clock.now(self._env)
        self._pending = (reason, ticks, now)
        self.stalls[reason] += ticks
        self._bell.callbacks = []
        clock.post(self._env, now + ticks, clock.WORKER, occasion)
        return self._bell

    def _request_group(self, alarm: clock.Alarm | None) -> None:
        """The registers of the gathers are written: they arrive, and the bell is for the last of them."""
        self._note_group(self._group)
        first = self._seq
        self._seq += len(self._group)
        seqs = range(first, self._seq)
        self._await("gather", seqs)
        try:
            self._dma.read(self._reads, first, self._group, last=alarm is not None)
        except DeviceFault as death:
            self._death = death
            self._awaited.clear()
            clock.call(self._bell)

    def _await(self, reason: str, seqs: Sequence[int]) -> Event:
        """Have the bell rung when all of `seqs` are done."""
        self._awaited.update(seqs)
        self._pending = (reason, seqs, clock.now(self._env))
        return self._bell

    def _resumed(self) -> None:
        """The wait for transfers is over."""
        reason, _, since = self._pending
        self.stalls[reason] += clock.now(self._env) - since

    def _landed(self, flight: Flight) -> None:
        """A transfer is done: note its fault, and wake the worker when it was the last one awaited."""
        if flight.fault is not None and self.fault is None:
            self.fault = flight.fault
        if flight.seq in self._awaited:
            self._awaited.remove(flight.seq)
            if not self._awaited:
                self._ring()

    def _ring(self) -> None:
        """Wake the worker in this tick; at once when it is next anyway."""
        if clock.comes_next(self._env, clock.WORKER):
            clock.call(self._bell)
        else:
            clock.post(self._env, clock.now(self._env), clock.WORKER, self._bell)

    def _wait_for(self, reason: str, seqs: Sequence[int]) -> Steps:
        flying = [seq for seq in seqs if seq in self._flying]
        if flying:
            self._bell.callbacks = []
            yield self._await(reason, flying)
            self._resumed()
        if self.staging:
            self.staging.retire(seqs)
        if self.fault is not None:
            raise self.fault
