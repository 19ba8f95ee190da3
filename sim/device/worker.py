"""WorkerContext: gather, compute, pack, drain and wait, in ticks, as the body of a firmware worker calls them.

A body is a generator function of one WorkerContext, which has its place in the grid and its scratch. It waits only by
`yield from` its methods, so that each tick of the worker has a reason. For a band: gather in groups, wait for the slot,
compute, drain; `pack` does the last three as one step, and then need not wait for a tick of which it knows what happens
in it: the worker is ahead of the clock. Nothing sees that, since a request has its arrival and a computation its end.
"""

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import partial
from typing import Any

import attrs
import numpy as np
from simpy import Environment, Event

from tessbed.sim.checkers.scratch_hazards import Staging
from tessbed.sim.dma.engine import Dma
from tessbed.sim.dma.transfer_stream import TransferStream
from tessbed.sim.dma.wait_state import WaitState
from tessbed.sim.errors import DeviceFault, HazardError
from tessbed.sim.events import event_queue
from tessbed.sim.events.wait_graph import Waiting
from tessbed.sim.hash_random import draw
from tessbed.sim.pack_steps import pack_by_steps
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.stats import STALLS
from tessbed.sim.tracer import Tracer
from tessbed.sim.transfer.descriptor import Descriptor

Steps = Generator[Event, Any, None]
Waits = Iterable[Event]
"""Steps that may be none: then what they do is done already."""
COMPUTE = 1 << 32  # keeps the chances of computes apart from those of transfers


@attrs.define(eq=False)
class WorkerContext:
    """One logical worker of `workers`. `wait_state` has its number, its scratch, and what its transfers share with it.

    `counts`: the firmware's own statistics.
    """

    wait_state: WaitState
    workers: int
    spec: DeviceSpec
    counts: Counter[str]
    _dma: Dma
    staging: Staging | None = None
    stalls: dict[str, int] = attrs.field(factory=lambda: dict.fromkeys(STALLS, 0), init=False)
    _reads: TransferStream = attrs.field(init=False)
    _writes: TransferStream = attrs.field(init=False)
    _seq: int = attrs.field(default=0, init=False)
    _computes: int = attrs.field(default=0, init=False)
    _ahead_to: int = attrs.field(default=0, init=False)
    _slots: dict[int, int] = attrs.field(factory=dict, init=False)
    _timer: event_queue.Alarm = attrs.field(factory=event_queue.Alarm, init=False)
    _on_issued: event_queue.Calls = attrs.field(init=False)
    _group: Sequence[Descriptor] = attrs.field(default=(), init=False)
    _death: DeviceFault | None = attrs.field(default=None, init=False)
    _pending: tuple[str, int | Sequence[int], int] = attrs.field(default=("", 0, 0), init=False)
    _tracer: Tracer | None = attrs.field(init=False)
    _env: Environment = attrs.field(init=False)
    _issue_ticks: int = attrs.field(init=False)
    _wait_group: int = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._env, dma = self.wait_state.env, self.spec.dma
        self._issue_ticks, self._wait_group = dma.issue_ticks, dma.wait_group
        self._reads, self._writes = (
            self._dma.stream(self.wait_state, "read"),
            self._dma.stream(self.wait_state, "write"),
        )
        self._on_issued = (self._request_group,)
        self._tracer = self._dma.tracer

    @property
    def worker(self) -> int:
        """Its number in the grid."""
        return self.wait_state.worker

    @property
    def scratch(self) -> np.ndarray:
        """1-D uint8, dirty at the start."""
        return self.wait_state.scratch

    @property
    def tick(self) -> int:
        """Ticks since the launch."""
        return event_queue.now(self._env) - self._dma.origin

    @property
    def faulty(self) -> int:
        """The sequence of the first transfer that met a fault, -1 where none has."""
        return self.wait_state.faulty

    def owns(self, event: object) -> bool:
        """Whether a body that waits by this worker's methods yields that event."""
        return event is self.wait_state.wakeup

    def leave(self) -> None:
        """Give the scratch back when the worker has ended; all that a device remembers of it would keep it.

        Where transfers still fly, which nobody waited for, they need it.
        """
        self._writes.land_over(event_queue.now(self._env))
        if not self.wait_state.unfinished:
            self.wait_state.hold(np.empty(0, np.uint8))

    def gather(self, descriptors: Sequence[Descriptor], *, oversized: bool = False) -> Steps:
        """Read one wait group into scratch and wait for all of it; raises DeviceFault when a read failed.

        `oversized` says that the group is rows of a pitch that no field holds.
        """
        number, wait_state = len(descriptors), self.wait_state
        if oversized or not 1 <= number <= self._wait_group:
            self._check_group(descriptors, oversized)
        wakeup = wait_state.wakeup
        self._group, wakeup.callbacks = descriptors, []
        ticks = self._issue_ticks * number
        if self._dma.ahead or not ticks:
            self._request_group_at(self._advance("issue", ticks))
        else:
            self._timer.callbacks = self._on_issued
            self._pass("issue", ticks, self._timer)
        if self._death is None:
            yield wakeup
            self._resumed()
            if self.staging and self._death is None:
                self.staging.gathered(self._seq - len(self._group))
        if fault := self._death or wait_state.fault:
            raise fault

    def prefetch(self, descriptors: Sequence[Descriptor], *, oversized: bool = False) -> Steps:
        """Read one wait group into scratch, and go on; `wait_drains` waits for it too."""
        self._check_group(descriptors, oversized)
        if ticks := self._issue_ticks * len(descriptors):
            yield from self._spend("issue", ticks)
        first = self._seq
        if self.staging:
            self.staging.gather(first, descriptors)
        self._seq += len(descriptors)
        if self._tracer is not None:
            self._tracer.gathered(self.worker, first, descriptors, self._tick())
        try:
            self._dma.read(self._reads, first, descriptors, self._tick())
        finally:
            self._dma.arbitrate_at_end()

    def wait_slot(self, slot: int) -> Waits:
        """Wait until the earlier drain of `slot` has completed; raises DeviceFault when a drain failed."""
        self._check_slot(slot)
        return self._wait_for("slot", (self._slots.get(slot, -1),))

    def compute(self, ticks: int, action: Callable[[], None]) -> Steps:
        """Spend `ticks` computing; `action` moves the bytes, at the tick that `data_movement` says."""
        yield from self.catch_up()
        if self.staging:
            self.staging.pack(action)
        early = self._acts_early()
        if early and self._dma.moves:
            action()
        if ticks:
            yield from self._spend("compute", ticks)
        if self._dma.moves and not early:
            action()

    def drain(self, slot: int, descriptors: Sequence[Descriptor]) -> Steps:
        """Issue the chain that empties `slot`, and go on."""
        self._check_slot(slot)
        if ticks := self._issue_ticks * len(descriptors):
            yield from self._spend("issue", ticks)
        self._request_drain(slot, descriptors, self._tick())
        self._dma.arbitrate_at_end()

    def pack(
        self, slot: int, ticks: int, action: Callable[[], None], descriptors: Sequence[Descriptor], *, ordered: bool
    ) -> Waits:
        """Wait for `slot`, compute for `ticks`, drain the slot; if `ordered`, wait for all earlier drains before that.

        `action` looks at the worker's scratch and at nothing else, for it may act later than it seems to.
        """
        if not self._dma.ahead:
            return pack_by_steps(self, slot, ticks, action, descriptors, ordered=ordered)
        if not self._can_take(slot):
            go_on = partial(self._pack_ahead, slot, ticks, action, descriptors, ordered)
            return _first(self.wait_slot(slot), go_on)
        if self.staging:
            self.staging.retire((self._slots.get(slot, -1),))
        return self._pack_ahead(slot, ticks, action, descriptors, ordered)

    def wait_drains(self, reason: str = "end") -> Waits:
        """Wait for every earlier drain; `reason` is "order" between bands, "end" at the end."""
        return self._wait_for(reason, self.staging.issued if self.staging else tuple(self.wait_state.unfinished))

    def catch_up(self) -> Steps:
        """Wait for the tick up to which the worker is ahead, with all its computations done."""
        if self._ahead_to > event_queue.now(self._env):
            self._pending = ("ahead", 0, self._ahead_to)
            self.wait_state.wakeup.callbacks = []
            event_queue.post(self._env, self._ahead_to, event_queue.WORKER, self.wait_state.wakeup)
            self._dma.arbitrate()
            yield self.wait_state.wakeup
        self.wait_state.pack_before(event_queue.now(self._env) + 1)

    def count(self, name: str, n: int = 1) -> None:
        """Add `n` to one of the firmware's statistics."""
        self.counts[name] += n

    @property
    def traced(self) -> bool:
        """Whether anybody hears what `note` says."""
        return self._tracer is not None

    def note(self, **words: int | str) -> None:
        """Say what the worker does from here on, for timelines: `source` for a line of a kernel, for one."""
        if self._tracer is not None:
            self._tracer.noted(self.worker, words)

    def stop(self, tick: int) -> None:
        """The worker never goes on: let a timeline show what it waits for."""
        reason, what, since = self._pending
        if self._tracer is not None and self.wait_state.wakeup.callbacks is not None and not isinstance(what, int):
            self._tracer.waits(self.worker, reason, what, since, tick)

    def settle(self) -> Steps:
        """Wait for what flies without raising; for the device, after a fault."""
        try:
            yield from self.wait_drains()
        except DeviceFault as fault:
            self.wait_state.fault = self.wait_state.fault or fault

    @property
    def waiting(self) -> Waiting | None:
        """What it waits for, if it does."""
        if self.wait_state.wakeup.callbacks is None:
            return None
        reason, what, since = self._pending
        text = f"{what} ticks to pass" if isinstance(what, int) else f"transfers {[*what]} of its own"
        on = () if isinstance(what, int) else tuple(f"transfer {seq} of worker {self.worker}" for seq in what)
        return Waiting(f"worker {self.worker}", f"{text} ({reason})", since, on)

    def _tick(self) -> int:
        """The tick it is for the worker."""
        now = event_queue.now(self._env)
        return now if now > self._ahead_to else self._ahead_to

    def _can_take(self, slot: int) -> bool:
        """Whether a wait for the slot would be none, nor raise anything."""
        wait_state, now = self.wait_state, event_queue.now(self._env)
        drain = wait_state.unfinished.get(self._slots.get(slot, -1))
        there = 0 <= slot < self.spec.slots and (drain is None or drain.over_by(now))
        return there and wait_state.fault is None and self._ahead_to <= now

    def _advance(self, reason: str, ticks: int) -> int:
        """Spend `ticks` ahead of the clock; returns the tick that it is then for the worker."""
        if ticks < 0:
            raise HazardError(f"worker {self.worker}: {reason} of {ticks} ticks")
        self.stalls[reason] += ticks
        now, begin = event_queue.now(self._env), self._ahead_to
        if now > begin:
            begin = now
        self._ahead_to = end = begin + ticks
        if self._tracer is not None:
            self._tracer.spent(self.worker, reason, begin, end)
        return end

    def _spend(self, reason: str, ticks: int) -> Steps:
        """Let `ticks` pass."""
        yield from self.catch_up()
        yield self._pass(reason, ticks, self.wait_state.wakeup)

    def _check_slot(self, slot: int) -> None:
        if not 0 <= slot < self.spec.slots:
            raise HazardError(f"worker {self.worker}: slot {slot}, wanted 0 to {self.spec.slots - 1}")

    def _check_group(self, descriptors: Sequence[Descriptor], oversized: bool) -> None:
        if not 1 <= len(descriptors) <= self._wait_group:
            got, wanted = len(descriptors), f"wanted 1 to {self._wait_group}"
            raise HazardError(f"worker {self.worker}: a wait group of {got}, {wanted}")
        if self.staging and oversized:
            self.staging.check_oversized(len(descriptors))

    def _acts_early(self) -> bool:
        self._computes += 1
        policy = self.spec.data_movement
        if policy == "seeded":
            return draw(self._dma.seed, self.worker, COMPUTE + self._computes) & 1 == 1
        return policy == "at_issue"

    def _pack_ahead(
        self, slot: int, ticks: int, action: Callable[[], None], chain: Sequence[Descriptor], ordered: bool
    ) -> Waits:
        """The slot is free: compute and drain without waiting for the ticks between."""
        if self.staging:
            self.staging.pack(action)
        packed_at = self._advance("compute", ticks)
        if self._dma.moves:
            self.wait_state.packing.append((packed_at, action))
        if ordered and (waits := self.wait_drains("order")):
            return _first(waits, partial(self._drain_ahead, slot, chain))
        return self._drain_ahead(slot, chain)

    def _drain_ahead(self, slot: int, chain: Sequence[Descriptor]) -> Waits:
        arrival = self._advance("issue", self._issue_ticks * len(chain))
        self._request_drain(slot, chain, arrival)
        if arrival <= event_queue.now(self._env):
            self._dma.arbitrate_at_end()
        return ()

    def _pass(self, reason: str, ticks: int, event: Any) -> Event:
        """Let `ticks` pass before `event`; returns the wake-up event, set for whatever rings it then."""
        if ticks < 0:
            raise HazardError(f"worker {self.worker}: {reason} of {ticks} ticks")
        now = event_queue.now(self._env)
        self._pending = (reason, ticks, now)
        self.stalls[reason] += ticks
        if self._tracer is not None:
            self._tracer.spent(self.worker, reason, now, now + ticks)
        self.wait_state.wakeup.callbacks = []
        event_queue.post(self._env, now + ticks, event_queue.WORKER, event)
        return self.wait_state.wakeup

    def _request_group(self, _: event_queue.Alarm) -> None:
        """The registers of the gathers are written, at the tick that it is."""
        self._request_group_at(event_queue.now(self._env))
        if self._death is not None:
            event_queue.run_callbacks(self.wait_state.wakeup)

    def _request_group_at(self, tick: int) -> None:
        """The gathers arrive at `tick`, and the wake-up event is for the last of them."""
        group, first = self._group, self._seq
        if self.staging:
            self.staging.gather(first, group)
        self._seq = first + len(group)
        seqs = range(first, self._seq)
        if self._tracer is not None:
            self._tracer.gathered(self.worker, first, group, tick)
        dma, awaited = self._dma, self.wait_state.awaited
        awaited.update(seqs)
        self._pending = ("gather", seqs, tick)
        try:
            dma.read(self._reads, first, group, tick)
        except DeviceFault as death:
            self._death = death
            awaited.clear()
        dma.arbitrate()

    def _request_drain(self, slot: int, descriptors: Sequence[Descriptor], arrival: int) -> None:
        seq = self._slots[slot] = self._seq
        self._seq += 1
        chain = tuple(descriptors)
        if self.staging:
            self.staging.drain(seq, slot, chain)
        if self._tracer is not None:
            self._tracer.drained(self.worker, seq, slot, chain, arrival)
        self._dma.write(self._writes, seq, chain, arrival)

    def _resumed(self) -> None:
        """The wait for transfers is over; perhaps before the tick up to which the worker is ahead."""
        reason, what, since = self._pending
        now = event_queue.now(self._env)
        if now > since:
            self.stalls[reason] += now - since
            if self._tracer is not None and not isinstance(what, int):
                self._tracer.waited(self.worker, reason, what, since, now)

    def _wait_for(self, reason: str, seqs: Sequence[int]) -> Waits:
        unfinished, now, tick, awaited = self.wait_state.unfinished, event_queue.now(self._env), self._ahead_to, []
        if tick < now:
            tick = now
        for seq in seqs:
            inflight = unfinished.get(seq)
            if inflight is not None and not inflight.over_by(tick):
                awaited.append(seq)
        if awaited or (tick > now and self._may_meet_a_fault()):
            return self._wait(reason, awaited, seqs)
        self._learn(seqs)
        return ()

    def _wait(self, reason: str, awaited: Sequence[int], seqs: Sequence[int]) -> Steps:
        if awaited:
            self.wait_state.wakeup.callbacks = []
            self.wait_state.awaited.update(awaited)
            self._writes.expect(awaited)
            self._pending = (reason, awaited, self._tick())
            self._dma.arbitrate()
            yield self.wait_state.wakeup
            self._resumed()
        if self._ahead_to > event_queue.now(self._env) and self._may_meet_a_fault():
            yield from self.catch_up()
        self._learn(seqs)

    def _learn(self, seqs: Sequence[int]) -> None:
        """The worker has waited for these transfers; raises the fault of one."""
        if self.staging:
            self.staging.retire(seqs)
        if self.wait_state.fault is not None:
            raise self.wait_state.fault

    def _may_meet_a_fault(self) -> bool:
        """Whether a transfer has a fault, or is still to arrive, when its mapping may be another."""
        now = event_queue.now(self._env)
        for inflight in self.wait_state.unfinished.values():
            if inflight.fault is not None or inflight.arrival >= now:
                return True
        return False


def _first(waits: Waits, go_on: Callable[[], Waits]) -> Steps:
    yield from waits
    yield from go_on()
