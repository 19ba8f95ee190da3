"""Untimed worker: gather, compute, pack, drain and wait without a duration; the interface of WorkerContext.

Every wait is a place where other threads may go on, and so is the start of each computation. Issuing is not: a transfer
that has just been asked for may begin at any action afterwards anyhow.
"""

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, ClassVar, NamedTuple

import attrs
import numpy as np

from tessbed.sim.checkers.scratch_hazards import Staging
from tessbed.sim.errors import HazardError
from tessbed.sim.interleavings.actions import EVERYTHING, ByteAccess, ByteAccesses, Transfer
from tessbed.sim.pack_steps import pack_by_steps
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.transfer.descriptor import Descriptor

Begin = Callable[["UntimedWorker", int, str, tuple[Descriptor, ...]], Transfer]


class Pause(NamedTuple):
    """A core goes on when these transfers are over; what it then does touches these bytes."""

    transfers: Sequence[Transfer] = ()
    touches: ByteAccesses = ()


Steps = Generator[Pause, None, None]


@attrs.define(eq=False)
class UntimedWorker:
    """One logical worker; see `WorkerContext` for what each method means."""

    worker: int
    workers: int
    spec: DeviceSpec
    scratch: np.ndarray
    counts: Counter[str]
    staging: Staging | None
    _begin: Begin
    _unfinished: dict[int, Transfer] = attrs.field(factory=dict, init=False)
    _slots: dict[int, int] = attrs.field(factory=dict, init=False)
    _seq: int = attrs.field(default=0, init=False)

    tick: ClassVar[int] = -1
    traced: ClassVar[bool] = False
    faulty: ClassVar[int] = -1

    @property
    def core(self) -> int:
        """The logical core that it runs on."""
        return self.worker % self.spec.cores

    def owns(self, event: object) -> bool:
        """Whether a body that waits by a worker's methods yields that event."""
        return isinstance(event, Pause)

    def catch_up(self) -> Steps:
        """Nothing is ahead where nothing has a duration."""
        yield from ()

    def gather(self, descriptors: Sequence[Descriptor], *, oversized: bool = False) -> Steps:
        """Read one wait group and wait for it."""
        yield from self._wait(self._read(descriptors, oversized))

    def prefetch(self, descriptors: Sequence[Descriptor], *, oversized: bool = False) -> Steps:
        """Read one wait group, and go on."""
        self._read(descriptors, oversized)
        yield from ()

    def wait_slot(self, slot: int) -> Steps:
        """Wait for the earlier drain of `slot`."""
        yield from self._wait([self._slots[slot]] if slot in self._slots else [])

    def compute(self, ticks: int, action: Callable[[], None]) -> Steps:
        """Act, as an action of its own."""
        if self.staging:
            self.staging.pack(action)
        yield Pause((), self._packing(action))
        action()

    def drain(self, slot: int, descriptors: Sequence[Descriptor]) -> Steps:
        """Issue the chain that empties `slot`, and go on."""
        chain = tuple(descriptors)
        if self.staging:
            self.staging.drain(self._seq, slot, chain)
        self._slots[slot] = self._seq
        self._ask("write", chain)
        yield from ()

    def pack(
        self, slot: int, ticks: int, action: Callable[[], None], descriptors: Sequence[Descriptor], *, ordered: bool
    ) -> Steps:
        """Wait for `slot`, compute, and drain it, after all earlier drains if `ordered`."""
        return pack_by_steps(self, slot, ticks, action, descriptors, ordered=ordered)

    def wait_drains(self, reason: str = "end") -> Steps:
        """Wait for everything that was issued."""
        yield from self._wait(list(self._unfinished))

    def count(self, name: str, n: int = 1) -> None:
        """Add `n` to one of the firmware's statistics."""
        self.counts[name] += n

    def note(self, **words: int | str) -> None:
        """Nothing: there is no time to show it in."""

    def _read(self, group: Sequence[Descriptor], oversized: bool) -> range:
        limit = self.spec.dma.wait_group
        if not 1 <= len(group) <= limit:
            raise HazardError(f"worker {self.worker}: a wait group of {len(group)}, wanted 1 to {limit}")
        if self.staging:
            if oversized:
                self.staging.check_oversized(len(group))
            self.staging.gather(self._seq, group)
        first = self._seq
        for descriptor in group:
            self._ask("read", (descriptor,))
        return range(first, self._seq)

    def _ask(self, kind: str, chain: tuple[Descriptor, ...]) -> None:
        self._unfinished[self._seq] = self._begin(self, self._seq, kind, chain)
        self._seq += 1

    def _wait(self, seqs: Iterable[int]) -> Steps:
        seqs = list(seqs)
        waited = [self._unfinished.pop(seq) for seq in seqs if seq in self._unfinished]
        if waited:
            yield Pause(waited)
        if self.staging:
            self.staging.retire(seqs)

    def _packing(self, action: Any) -> ByteAccesses:
        touches = getattr(action, "touches", None)
        if touches is None:
            return (ByteAccess(self.core, *EVERYTHING, True),)
        reads, writes = touches()
        read = [ByteAccess(self.core, low, high, False) for low, high in reads]
        return (*read, *(ByteAccess(self.core, low, high, True) for low, high in writes))
