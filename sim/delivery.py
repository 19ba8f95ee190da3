"""Delivery: how the end of a job reaches the host. The record is written first, then the interrupt is raised.

An interrupt carries a cookie. Whoever listens must look at the record to know whether that job has ended: an interrupt
can come early, twice, late, for nobody, or never (see `faults`). A reset drops everything that is still on its way.
"""

from collections.abc import Callable, Sequence

import attrs
from simpy import Environment, Event

from tessbed.sim import clock, completion
from tessbed.sim.faults import STRANGE, Fault
from tessbed.sim.memory import DeviceMemory
from tessbed.sim.stats import JobStats

Listener = Callable[[int, JobStats | None], None]


@attrs.define(eq=False)
class Delivery:
    """The record writer and interrupt line of one device. `listeners` get (cookie, stats of the ended job or None)."""

    env: Environment
    memory: DeviceMemory
    completion_ticks: int
    listeners: list[Listener] = attrs.field(factory=list, init=False)
    _epoch: int = attrs.field(default=0, init=False)

    def announce(self, cookie: int, faults: Sequence[Fault]) -> None:
        """The job is about to start: what must not come yet, comes now."""
        for fault in faults:
            if fault.kind == "early":
                self._later(fault.ticks, lambda: self._raise(cookie, None))

    def report(self, address: int, record: bytes, stats: JobStats, woken: Event, faults: Sequence[Fault]) -> None:
        """The job has ended: write its record at `address` and raise the interrupt that wakes the host."""
        kinds = {fault.kind: fault.ticks for fault in faults}
        if "lost" in kinds:
            return
        delay = kinds.get("late", 0)
        data = _torn(record) if "torn_record" in kinds else record
        if delay:
            self._later(delay, lambda: self._write(address, data))
        else:
            self._write(address, data)
        if "lost_interrupt" not in kinds:
            self._interrupts(stats, woken, delay + self.completion_ticks, kinds)

    def reset(self) -> None:
        """Nothing that is on its way arrives any more."""
        self._epoch += 1

    def _interrupts(self, stats: JobStats, woken: Event, delay: int, kinds: dict[str, int]) -> None:
        self._later(delay, lambda: self._wake(woken, stats))
        if "repeated" in kinds:
            self._later(delay + kinds["repeated"], lambda: self._raise(stats.cookie, None))
        if "stranger" in kinds:
            self._later(delay + kinds["stranger"], lambda: self._raise(stats.cookie ^ STRANGE, None))

    def _wake(self, woken: Event, stats: JobStats) -> None:
        woken.succeed(stats)
        self._raise(stats.cookie, stats)

    def _raise(self, cookie: int, stats: JobStats | None) -> None:
        for listener in self.listeners:
            listener(cookie, stats)

    def _write(self, address: int, record: bytes) -> None:
        self.memory.view(address, completion.RECORD_BYTES, write=True)[:] = bytearray(record)

    def _later(self, ticks: int, call: Callable[[], None]) -> None:
        epoch = self._epoch

        def arrive(_: Event) -> None:
            if epoch == self._epoch:
                call()

        clock.at(self.env, clock.now(self.env) + ticks, clock.WORKER, arrive, None)


def _torn(record: bytes) -> bytes:
    """The record with its last bit turned."""
    return record[:-1] + bytes([record[-1] ^ 0x80])
