"""Interrupt delivery: how the end of a job reaches the host. The record is written first, then the interrupt is raised.

An interrupt carries a cookie. Whoever listens must look at the record to know whether that job has ended: an interrupt
can come early, twice, late, for nobody, or never (see `faults`). Who finds the record by looking, before any interrupt,
says so with `collect`: from then on the host knows of the end. A reset drops everything that is still on its way.
"""

from collections.abc import Callable, Sequence

import attrs
from simpy import Environment, Event

from tessbed.sim.completion_record import RECORD_BYTES
from tessbed.sim.events import event_queue
from tessbed.sim.fault_injection import UNKNOWN_STATUS, Fault, Strike
from tessbed.sim.stats import JobStats
from tessbed.sim.tracer import Tracer
from tessbed.sim.transfer.memory import DeviceMemory

Listener = Callable[[int, JobStats | None], None]


@attrs.frozen(eq=False)
class Ending:
    """The end of a job: its record and where to write it, its account, and who must know when the host does."""

    address: int
    record: bytes
    stats: JobStats
    woken: Event
    learned: Callable[[], None]


@attrs.define(eq=False)
class CompletionInterrupt:
    """The record writer and interrupt line of one device. `listeners` get (cookie, stats of the ended job or None).

    `written` holds the jobs whose record is in place, by cookie, until the host knows of their end.
    """

    env: Environment
    memory: DeviceMemory
    completion_ticks: int
    tracer: Tracer | None = None
    listeners: list[Listener] = attrs.field(factory=list, init=False)
    written: dict[int, Ending] = attrs.field(factory=dict, init=False)
    _epoch: int = attrs.field(default=0, init=False)

    def announce(self, cookie: int, faults: Sequence[Fault], strike: Strike) -> None:
        """The job is about to start: what must not come yet, comes now."""
        for fault in faults:
            if fault.kind == "early":
                self._stray(fault.ticks, cookie, fault, strike)

    def report(self, ending: Ending, faults: Sequence[Fault], strike: Strike) -> None:
        """The job has ended: write its record and raise the interrupt that wakes the host.

        `strike` gets each fault at the tick at which it takes effect.
        """
        if lost := _all(faults, "lost"):
            _each(strike, lost)
        else:
            self._send(ending, faults, strike)

    def _send(self, ending: Ending, faults: Sequence[Fault], strike: Strike) -> None:
        late_faults = [fault for fault in _all(faults, "late") if fault.ticks]
        delay = sum(fault.ticks for fault in late_faults)
        _each(strike, late_faults)
        ending = attrs.evolve(ending, stats=_known_later(ending.stats, delay))
        if delay:
            self._later(delay, lambda: self._write(ending, faults, strike))
        else:
            self._write(ending, faults, strike)
        if silent := _all(faults, "lost_interrupt"):
            _each(strike, silent)
        else:
            self._interrupts(ending, delay + self.completion_ticks, faults, strike)

    def collect(self, cookie: int) -> JobStats | None:
        """The host has read this job's record: it knows of the end, and gets the account; None where it knew before."""
        ending = self.written.pop(cookie, None)
        if ending is None:
            return None
        ending.learned()
        if self.tracer is not None:
            self.tracer.known(cookie, event_queue.now(self.env))
        return ending.stats

    def reset(self) -> None:
        """Nothing that is on its way arrives any more."""
        self._epoch += 1

    def _interrupts(self, ending: Ending, delay: int, faults: Sequence[Fault], strike: Strike) -> None:
        cookie = ending.stats.cookie
        self._later(delay, lambda: self._wake(ending))
        for kind, other in (("repeated", cookie), ("stranger", cookie ^ UNKNOWN_STATUS)):
            for fault in _all(faults, kind):
                self._stray(delay + fault.ticks, other, fault, strike)

    def _stray(self, ticks: int, cookie: int, fault: Fault, strike: Strike) -> None:
        """An interrupt that should not come."""

        def arrive() -> None:
            strike(fault)
            self._raise(cookie, None)

        self._later(ticks, arrive)

    def _wake(self, ending: Ending) -> None:
        """The interrupt arrives; the host knows of the end before it does anything about it."""
        cookie = ending.stats.cookie
        ending.learned()
        if self.tracer is not None:
            self.tracer.known(cookie, event_queue.now(self.env))
        ending.woken.succeed(ending.stats)
        self._raise(cookie, ending.stats)
        if self.written.get(cookie) is ending:
            del self.written[cookie]

    def _raise(self, cookie: int, stats: JobStats | None) -> None:
        for listener in self.listeners:
            listener(cookie, stats)

    def _write(self, ending: Ending, faults: Sequence[Fault], strike: Strike) -> None:
        torn = _all(faults, "torn_record")
        _each(strike, torn)
        record = _torn(ending.record) if torn else ending.record
        self.memory.view(ending.address, RECORD_BYTES, write=True)[:] = bytearray(record)
        self.written[ending.stats.cookie] = ending
        if self.tracer is not None:
            self.tracer.recorded(ending.stats.cookie, event_queue.now(self.env))

    def _later(self, ticks: int, call: Callable[[], None]) -> None:
        epoch = self._epoch

        def arrive(_: Event) -> None:
            if epoch == self._epoch:
                call()

        event_queue.at(self.env, event_queue.now(self.env) + ticks, event_queue.WORKER, arrive, None)


def _all(faults: Sequence[Fault], kind: str) -> list[Fault]:
    return [fault for fault in faults if fault.kind == kind]


def _each(strike: Strike, faults: Sequence[Fault]) -> None:
    for fault in faults:
        strike(fault)


def _torn(record: bytes) -> bytes:
    """The record with its last bit turned."""
    return record[:-1] + bytes([record[-1] ^ 0x80])


def _known_later(stats: JobStats, delay: int) -> JobStats:
    """The account of a job of which the host learns later."""
    parts = {**stats.parts, "completion": stats.parts["completion"] + delay}
    return attrs.evolve(stats, job_ticks=stats.job_ticks + delay, parts=parts) if delay else stats
