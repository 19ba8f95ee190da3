"""Untimed engine: runs one job without time, its actions in any order that the device's rules allow.

A tick engine shows one order. Here nothing has a duration, and a chooser says which thread's next action comes. What
the rules say is all that holds: a transfer begins when it is asked for, a wait ends when its transfers are over, a
chain goes in sequence, a core runs its workers one after the other. Channels, credits and arbitration only choose among
these orders, so they are left out. When every core has ended, the host reads: what is still under way comes too late.

Bytes move through the same `Movement` as in the tick engine, and the firmware runs unchanged.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import attrs
import numpy as np

from tessbed.sim.checkers.hazards import JobCheck
from tessbed.sim.errors import DeviceFault, MemoryFault
from tessbed.sim.interleavings.actions import (
    EVERYTHING,
    HOST,
    MEMORY,
    Action,
    ByteAccess,
    ByteAccesses,
    Halves,
    Name,
    Thread,
    Transfer,
)
from tessbed.sim.interleavings.untimed_worker import Pause, Steps, UntimedWorker
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.transfer.cost import cost_table
from tessbed.sim.transfer.descriptor import Descriptor
from tessbed.sim.transfer.memory import SCRATCH_FILL, DeviceMemory, MemoryProbe
from tessbed.sim.transfer.movement import Movement, Place, locate
from tessbed.sim.user_code.guarded_body import guarded
from tessbed.sim.user_code.user_code import UserCode

Choose = Callable[[Sequence[Thread]], int]
"""The index of the thread whose action comes next, among those that can go on."""


class ExecutedAction(NamedTuple):
    """An action that happened: whose, what it touched, and the numbers of the actions that it had to follow."""

    name: Name
    touches: ByteAccesses
    causes: tuple[int, ...]


@attrs.define(eq=False)
class UntimedEngine:
    """One job in one order. With `recording`, `executed` says what happened; it costs more than the run itself."""

    spec: DeviceSpec
    memory: DeviceMemory
    choose: Choose
    check: JobCheck
    recording: bool = False
    executed: list[ExecutedAction] = attrs.field(factory=list, init=False)
    actions: int = attrs.field(default=0, init=False)
    transfers: int = attrs.field(default=0, init=False)
    counts: Counter[str] = attrs.field(factory=Counter, init=False)
    _ready: list[Thread] = attrs.field(factory=list, init=False)
    _held: list[Thread] = attrs.field(factory=list, init=False)
    _cores: int = attrs.field(default=0, init=False)
    _ends: list[int] = attrs.field(factory=list, init=False)
    _over: bool = attrs.field(default=False, init=False)

    def run(self, body: Callable[[Any], Any], workers: int) -> None:
        """Run `body` on a grid of `workers` until the host reads. Raises DeviceFault for an access that faults."""
        self._cores = min(self.spec.cores, workers)
        for core in range(self._cores):
            self._start(Thread((core, 0, 0), self._core(core, workers, body)))
        while not self._over:
            self._step()
        self.check.end(0)

    def _step(self) -> None:
        """Let one action happen, then see who can go on."""
        index = self.choose(self._ready)
        thread = self._ready[index]
        action = thread.next
        assert action is not None
        if self.recording:
            self.executed.append(ExecutedAction(thread.name, action.touches, tuple(thread.causes)))
        action.happen()
        thread.causes.clear()
        thread.next = next(thread.actions, None)
        if thread.next is None or thread.next.after:
            self._ready.pop(index)
            if thread.next is not None:
                self._held.append(thread)
        self.actions += 1
        self._wake()

    def _wake(self) -> None:
        for thread in [s for s in self._held if s.next and not any(transfer.halves for transfer in s.next.after)]:
            self._held.remove(thread)
            if thread.next:
                thread.causes += [number for transfer in thread.next.after for number in transfer.ended]
            self._ready.append(thread)

    def _start(self, thread: Thread) -> None:
        thread.next = next(thread.actions)
        self._ready.append(thread)

    def _core(self, core: int, workers: int, body: Callable[[Any], Any]) -> Iterator[Action]:
        """A core's actions: each goes from one pause of its workers to the next."""
        steps = self._workers(core, workers, body)
        pause: Pause | None = Pause()

        def go() -> None:
            nonlocal pause
            pause = next(steps, None)

        while pause is not None:
            yield Action(pause.touches, go, pause.transfers)
        self._cores -= 1
        self._ends.append(self.actions)
        if not self._cores:
            self._start(Thread(HOST, iter([Action((ByteAccess(MEMORY, *EVERYTHING, False),), self._end)]), self._ends))

    def _workers(self, core: int, workers: int, body: Callable[[Any], Any]) -> Steps:
        scratch = np.empty(self.spec.usable_scratch_bytes, np.uint8)
        for worker in range(core, workers, self.spec.cores):
            if worker != core:
                yield Pause((), (ByteAccess(core, *EVERYTHING, True),))
            scratch.fill(SCRATCH_FILL)
            staging = self.check.worker(worker, core)
            yield from body(UntimedWorker(worker, workers, self.spec, scratch, self.counts, staging, self._begin))
            if staging:
                staging.end()

    def _end(self) -> None:
        self._over = True

    def _begin(self, worker: UntimedWorker, seq: int, kind: str, chain: tuple[Descriptor, ...]) -> Transfer:
        """A transfer is asked for: from now on its halves may go."""
        self.transfers += 1
        costs = cost_table(self.spec)
        cost = costs.chain(chain) if kind == "write" else costs.read(chain[0])
        partial = [segment.partial_granules > 0 for segment in cost.segments]
        places = self._places(worker.scratch, kind, chain)
        movement = Movement(kind, chain, places, worker.scratch.data, self.spec.write_granule_bytes, partial, None)
        halves, transfer = Halves(movement, worker.core, self.spec, self.recording), Transfer(seq)
        for half in (halves.data(lambda: self.actions), halves.partials())[: 1 + any(partial)]:
            name = (worker.worker, seq + 1, transfer.halves)
            transfer.halves += 1
            self._start(Thread(name, self._half(half, transfer), [self.actions]))
        return transfer

    def _places(self, scratch: np.ndarray, kind: str, chain: Sequence[Descriptor]) -> list[Place]:
        try:
            return [locate(self.memory, descriptor, scratch, kind == "write") for descriptor in chain]
        except MemoryFault as fault:
            raise DeviceFault(fault.code, fault.address) from fault

    def _half(self, actions: Iterator[Action], transfer: Transfer) -> Iterator[Action]:
        """A half's actions; after the last one its transfer has one half less to go."""
        yield from actions
        transfer.halves -= 1
        transfer.ended.append(self.actions)


@attrs.define(eq=False)
class UntimedJob:
    """What firmware entry sees of a job: see `JobContext`."""

    packet: bytes
    workers: int
    spec: DeviceSpec
    memory: MemoryProbe
    stage: UntimedEngine
    cookie: int = 0

    @property
    def check(self) -> JobCheck:
        """The watch over the job."""
        return self.stage.check

    def wait(self, ticks: int, part: str = "other") -> Iterator[Any]:
        """No time passes."""
        return iter(())

    def launch(self, body: Callable[[Any], Any], *, user: UserCode | None = None) -> Iterator[Any]:
        """Run the grid to its end, in the stage's order; see `JobContext`."""
        if user is not None:
            body = guarded(body, user, self.stage.check)
        self.stage.run(body, self.workers)
        return iter(())
