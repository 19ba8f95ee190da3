"""The device: takes submissions, runs the firmware on each, writes a completion record, raises an interrupt.

Jobs run one after the other in submission order. A job's way: queue, dispatch (then the packet is fetched),
firmware entry, record, and after `completion_ticks` the host knows; meanwhile the next job may start.
"""

from collections import deque
from collections.abc import Generator, Mapping, Sequence
from typing import Any, Protocol

import attrs
from simpy import Environment, Event, Process

from tessbed.sim.checkers.hazards import Checker, JobCheck
from tessbed.sim.checkers.job_invariants import check_job_stats
from tessbed.sim.completion_record import RECORD_BYTES, Completion, Record, encode_record, from_fault
from tessbed.sim.device.interrupt import CompletionInterrupt, Ending
from tessbed.sim.device.job import JobContext
from tessbed.sim.device.job_stats import job_stats
from tessbed.sim.device.worker import Steps
from tessbed.sim.dma.engine import Dma
from tessbed.sim.dma.inflight import InFlightTransfer
from tessbed.sim.errors import DeviceFault, HazardError, MemoryFault
from tessbed.sim.events import event_queue
from tessbed.sim.events.deadlock import run_until
from tessbed.sim.events.wait_graph import Waiting
from tessbed.sim.fault_injection import FAULT_KINDS, Fault, FaultPlan, Strike, injections, no_faults, struck_transfer
from tessbed.sim.kernel_report import KernelReport
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.stats import JobStats
from tessbed.sim.tracer import Tracer
from tessbed.sim.transfer.memory import DeviceMemory, MemoryProbe

Injections = Mapping[tuple[int, int, int], str]


class Firmware(Protocol):
    """A firmware image."""

    def entry(self, job: JobContext) -> Generator[Event, Any, Completion]:
        """Run one job; may raise DeviceFault, which becomes the job's status."""
        ...


@attrs.frozen
class Submission:
    """What the host rings the doorbell with. `workers`: the grid asked for, None for the device's own."""

    packet_address: int
    packet_bytes: int
    record_address: int
    cookie: int
    workers: int | None = None


@attrs.define(eq=False)
class Ticket:
    """A submission in the queue or running: its number, when it came, and the event the host waits for."""

    number: int
    submission: Submission
    tick: int
    woken: Event
    check: JobCheck
    job: JobContext | None = None


@attrs.define(eq=False)
class Device:
    """One device on `env`. Attributes to use: `spec`, `memory`, `env`, `now`.

    `inject` maps (number of the job, worker, sequence) to "dma_error", "stall" or "worker_died", see `Dma`;
    `faults` plans those and all others by the number of the job, `struck` has (number, fault) of each that took effect.
    `delivery.listeners` hear of every interrupt. `reset_ticks` is the spec's where nothing else is given.
    `tracer` hears of all that happens, `trace` keeps every transfer in the JobStats; neither changes a tick.
    Without `moves` no transfer moves a byte and no worker packs one, while every tick stays as it was.
    """

    spec: DeviceSpec
    firmware: Firmware
    seed: int = attrs.field(default=0, kw_only=True)
    env: Environment = attrs.field(factory=Environment, kw_only=True)
    trace: bool = attrs.field(default=False, kw_only=True)
    inject: Injections = attrs.field(factory=dict, kw_only=True)
    faults: FaultPlan = attrs.field(default=no_faults, kw_only=True)
    moves: bool = attrs.field(default=True, kw_only=True)
    reset_ticks: int = attrs.field(
        default=attrs.Factory(lambda self: self.spec.reset_ticks, takes_self=True), kw_only=True
    )
    checker: Checker = attrs.field(factory=Checker, kw_only=True)
    tracer: Tracer | None = attrs.field(default=None, kw_only=True)
    memory: DeviceMemory = attrs.field(init=False)
    delivery: CompletionInterrupt = attrs.field(init=False)
    struck: list[tuple[int, Fault]] = attrs.field(factory=list, init=False)
    _queue: deque[Ticket] = attrs.field(factory=deque, init=False)
    _running: Ticket | None = attrs.field(default=None, init=False)
    _submitted: int = attrs.field(default=0, init=False)
    _server: Process | None = attrs.field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self.memory = DeviceMemory(self.spec.memory)
        self.delivery = CompletionInterrupt(self.env, self.memory, self.spec.completion_ticks, self.tracer)

    @property
    def now(self) -> int:
        """The tick it is."""
        return event_queue.now(self.env)

    def submit(self, submission: Submission) -> Event:
        """Queue a job. The event succeeds with its JobStats when the host learns of the end.

        Raises MemoryFault at once when the record cannot be written: such a job could never report.
        """
        self.memory.view(submission.record_address, RECORD_BYTES, write=True)
        if submission.workers is not None and submission.workers < 1:
            raise HazardError(f"a grid of {submission.workers} workers")
        check = self.checker.job(self, self._submitted, self.spec.write_unit_bytes)
        ticket = Ticket(self._submitted, submission, self.now, self.env.event(), check)
        self._submitted += 1
        self._queue.append(ticket)
        if self.tracer is not None:
            self.tracer.queued(submission.cookie, self.now)
        if self._running is None and len(self._queue) == 1:
            self._server = self.env.process(self._serve())
        return ticket.woken

    def collect(self, cookie: int) -> JobStats | None:
        """The host has read the record of that job, and so knows of its end; its JobStats, None where it knew before.

        For whoever polls records: an interrupt says as much by itself.
        """
        return self.delivery.collect(cookie)

    def reset(self) -> Event:
        """Stop everything and forget every job. The event succeeds when that is confirmed, `reset_ticks` later.

        Until then the device goes on as before, so what it uses must not be released before the confirmation.
        """
        confirmed = self.env.event()
        event_queue.at(self.env, self.now + self.reset_ticks, event_queue.WORKER, lambda _: self._stop(confirmed), None)
        return confirmed

    def _stop(self, confirmed: Event) -> None:
        if self._server is not None:
            event_queue.abandon(self._server)
        if self._running and self._running.job and self._running.job.launched:
            self._running.job.launched.stop()
        if self.tracer is not None:
            self.tracer.stopped(self.now)
        self.memory.on_change = None
        self.delivery.reset()
        self.checker.forget(self)
        self._queue.clear()
        self._running = self._server = None
        assert confirmed.callbacks is not None
        confirmed.callbacks.append(lambda _: self.delivery.written.clear())  # whoever waits looks at the records first
        confirmed.succeed()

    def run(self, event: Event) -> Any:
        """Run until `event`; raises HangError when nothing can happen any more."""
        return run_until(self.env, event, (self,))

    def waiting(self) -> list[Waiting]:
        """Who waits in this device: the running job, its workers, their transfers, then the queue."""
        running = self._running
        ahead = f"job {running.number} to end" if running else "dispatch"
        on = (f"job {running.number}",) if running else ()
        queued = [Waiting(f"job {ticket.number}", ahead, ticket.tick, on) for ticket in self._queue]
        return [*(_waiting_in(running) if running else []), *queued]

    def show_waits(self) -> None:
        """Let the tracer see what each running worker waits for, where no time will pass any more."""
        launch = self._running.job.launched if self._running and self._running.job else None
        for ctx in launch.running if launch else ():
            ctx.stop(self.now)

    def _serve(self) -> Steps:
        while self._queue:
            ticket = self._running = self._queue.popleft()
            yield from self._run(ticket)
            self._running = None

    def _run(self, ticket: Ticket) -> Steps:
        queued, tracer = self.now - ticket.tick, self.tracer
        if tracer is not None:
            tracer.dispatched(ticket.submission.cookie, self.now)
        if self.spec.dispatch_ticks:
            yield self.env.timeout(self.spec.dispatch_ticks)
        planned = self.faults(ticket.number)

        def strike(fault: Fault) -> None:
            self.struck.append((ticket.number, fault))
            if tracer is not None:
                tracer.struck(ticket.submission.cookie, fault.kind, FAULT_KINDS[fault.kind], self.now)

        self.delivery.announce(ticket.submission.cookie, planned, strike)
        job = ticket.job = self._make_job(ticket, planned, strike)
        done = yield from self._enter(job, ticket.submission)
        self.memory.on_change = None
        ticket.check.end(job.launched.in_flight if job.launched else 0)
        report = ticket.check.report()
        done = self._judged(done, report)
        if tracer is not None and report is not None:
            for kind, text in report.by_kind():
                tracer.found(ticket.submission.cookie, kind, text, self.now)
        stats = job_stats(job, done, ticket.tick, queued, self.now, report)
        check_job_stats(stats)
        record = encode_record(Record(ticket.submission.cookie, done, job.parts["device"], job.workers))
        if tracer is not None:
            tracer.ended(ticket.submission.cookie, done.status, self.now)
        ending = Ending(ticket.submission.record_address, record, stats, ticket.woken, ticket.check.learned)
        self.delivery.report(ending, planned, strike)

    def _judged(self, done: Completion, report: KernelReport | None) -> Completion:
        """How a user's kernel ended: findings make a failure of a success, where the checker is to stop at them."""
        if report is None or done.status or not report.findings or self.checker.mode != "raise":
            return done
        line = report.line.line if report.line else 0
        return from_fault(DeviceFault("kernel_hazard", report.worker, line))

    def _make_job(self, ticket: Ticket, planned: Sequence[Fault], strike: Strike) -> JobContext:
        wanted = ticket.submission.workers
        workers = self.spec.workers if wanted is None else min(wanted, self.spec.workers)
        inject = {key[1:]: what for key, what in self.inject.items() if key[0] == ticket.number}
        inject |= injections(planned)

        def on_strike(kind: str, worker: int, transfer: int) -> None:
            for fault in struck_transfer(planned, kind, worker, transfer):
                strike(fault)

        def start_dma() -> Dma:
            options = inject, self.trace, self.moves, on_strike, self.tracer
            dma = Dma(self.env, self.spec, self.memory, self.seed, self.now, *options)
            self.memory.on_change = dma.look_up_again
            return dma

        probe = MemoryProbe(self.memory)
        options = start_dma, ticket.check, self.tracer
        return JobContext(b"", ticket.submission.cookie, workers, self.spec, probe, self.env, *options)

    def _enter(self, job: JobContext, submission: Submission) -> Generator[Event, Any, Completion]:
        try:
            job.packet = self._fetch(submission)
            return (yield from self.firmware.entry(job))
        except DeviceFault as fault:
            return from_fault(fault)

    def _fetch(self, submission: Submission) -> bytes:
        try:
            view = self.memory.view(submission.packet_address, submission.packet_bytes, write=False)
        except MemoryFault as fault:
            raise DeviceFault("packet_fetch", fault.address) from fault
        return view.tobytes()


def _waiting_in(ticket: Ticket) -> list[Waiting]:
    launch = ticket.job.launched if ticket.job else None
    if launch is None:
        return [Waiting(f"job {ticket.number}", "its firmware", ticket.tick)]
    workers = [ctx.waiting for ctx in launch.running if ctx.waiting is not None]
    transfers = [_waiting_transfer(inflight, launch.dma.stalled) for inflight in launch.dma.waiting()]
    what = f"workers {[ctx.worker for ctx in launch.running]}" if workers else "its firmware"
    job = Waiting(f"job {ticket.number}", what, ticket.tick, tuple(worker.who for worker in workers))
    return [job, *workers, *transfers]


def _name(inflight: InFlightTransfer) -> str:
    return f"transfer {inflight.seq} of worker {inflight.stream.worker}"


def _waiting_transfer(inflight: InFlightTransfer, stalled: Sequence[InFlightTransfer]) -> Waiting:
    """Who never got a channel or a credit of his pool waits for those that never gave theirs back."""
    if inflight.grant >= 0:
        what = f"{inflight.cost.d} channel {inflight.channel}, which stalled"
        return Waiting(_name(inflight), what, inflight.grant)
    holders = tuple(_name(other) for other in stalled if other.stream.pool is inflight.stream.pool)
    what = f"a {inflight.cost.d} channel and a credit"
    return Waiting(_name(inflight), what, inflight.arrival, holders, bool(holders))
