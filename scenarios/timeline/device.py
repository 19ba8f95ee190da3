"""A device in a timeline: it listens to the device as its tracer, and makes spans of what it hears."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from tessbed.firmware_models.geometry import PacketGeometry
from tessbed.kernels.ev74.codec import PacketFault, decode
from tessbed.kernels.ev74.rules import check_rules
from tessbed.scenarios.timeline.cores import CoreSpans
from tessbed.scenarios.timeline.family import Family
from tessbed.scenarios.timeline.flows import Flows
from tessbed.scenarios.timeline.spans import Fields, Sink, TimelineSpan, Value, argument_fields, joined
from tessbed.scenarios.timeline.transfers import RESET, UNFINISHED, TransferSpans
from tessbed.sim.spec.device_spec import DeviceSpec

JOB = argument_fields("cookie", "job:text")
STATUS = argument_fields("status")
FAULT = argument_fields("job:text", "text:text")
LOST = "the host never learns of it"


@attrs.define(eq=False)
class RunningJob:
    """The job that the device works on: when it was dispatched, and its parts so far."""

    cookie: int
    begin: int
    parts: list[tuple[str, int, int]] = attrs.Factory(list)
    launch: int | None = None


@attrs.define(eq=False)
class DeviceSpans:
    """One device; a `Tracer`. `name_of` gives a job's name by its cookie."""

    sink: Sink
    spec: DeviceSpec
    flows: Flows
    name_of: Callable[[int], str]
    marks: int
    cores: CoreSpans = attrs.field(init=False)
    transfers: TransferSpans = attrs.field(init=False)
    _lane: int = attrs.field(init=False)
    _queue: Family = attrs.field(init=False)
    _records: Family = attrs.field(init=False)
    _queued: dict[int, int] = attrs.field(factory=dict, init=False)
    _written: dict[int, tuple[int, list[int]]] = attrs.field(factory=dict, init=False)
    _last_drains: dict[int, list[int]] = attrs.field(factory=dict, init=False)
    _job: RunningJob | None = attrs.field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self._lane = self.sink.lane(("device", "device job"), "the job that the device works on, and the parts of it")
        self._queue = Family(self.sink, ("device", "device queue"), "jobs that wait for the device")
        about = "from the completion record to the tick at which the host knows of it"
        self._records = Family(self.sink, ("device", "completion"), about)
        self.transfers = TransferSpans(self.sink, self.spec)
        self.cores = CoreSpans(self.sink, self.flows, self.transfers, self.spec.slots)

    def queued(self, cookie: int, tick: int) -> None:
        """The doorbell rang."""
        self._queued[cookie] = tick

    def dispatched(self, cookie: int, tick: int) -> None:
        """The job leaves the device's queue."""
        since = self._queued.pop(cookie)
        if since < tick:
            self.sink.span(TimelineSpan(self._queue.take(since, tick), *self._span(cookie, since, tick)))
        self._job = RunningJob(cookie, tick)
        if self.spec.dispatch_ticks:
            self._job.parts.append(("dispatch", tick, tick + self.spec.dispatch_ticks))

    def _span(self, cookie: int, begin: int, end: int) -> tuple[str, int, int, Fields, tuple[Value, ...]]:
        name = self.name_of(cookie)
        return name, begin, end, JOB, (cookie, name)

    def spent_by_job(self, part: str, begin: int, end: int) -> None:
        """A part of the job outside of its launch."""
        if self._job is not None:
            self._job.parts.append((part, begin, end))

    def launched(self, packet: bytes, dma: Any, tick: int) -> None:
        """The job launches its grid."""
        assert self._job is not None
        self._job.launch = tick
        self.transfers.launched(dma)
        self.cores.launched(self.name_of(self._job.cookie), packet_geometry(packet), self.spec.cores)

    def launch_ended(self, tick: int) -> None:
        """All workers have ended."""
        if self._job is None or self._job.launch is None:
            return
        self._job.parts.append(("launch", self._job.launch, tick))
        self._job.launch = None
        self.transfers.end(tick)

    def ended(self, cookie: int, status: int, tick: int) -> None:
        """The job has ended on the device."""
        self._write_job(tick, STATUS, (status,))
        self._last_drains[cookie] = self.cores.last_drains
        self.cores.last_drains = []

    def _write_job(self, tick: int, more: Fields, values: tuple[Value, ...]) -> None:
        job, self._job = self._job, None
        if job is None or job.begin >= tick:
            return
        name, begin, end, fields, known = self._span(job.cookie, job.begin, tick)
        self.sink.span(TimelineSpan(self._lane, name, begin, end, joined(fields, more), (*known, *values)))
        for part, low, high in job.parts:
            if low < min(high, tick):
                self.sink.span(TimelineSpan(self._lane, part, low, min(high, tick)))

    def recorded(self, cookie: int, tick: int) -> None:
        """The record is in memory."""
        self._written[cookie] = tick, self._last_drains.pop(cookie, [])

    def known(self, cookie: int, tick: int) -> None:
        """The host knows of the end."""
        if cookie in self._written:
            begin, drains = self._written.pop(cookie)
            self._write_record(cookie, begin, tick, drains, "")

    def _write_record(self, cookie: int, begin: int, end: int, drains: Sequence[int], unfinished: str) -> None:
        name, begin, end, fields, values = self._span(cookie, begin, end)
        if unfinished:
            fields, values = joined(fields, UNFINISHED), (*values, unfinished)
        lane = self._records.take(begin, end)
        self.sink.span(TimelineSpan(lane, name, begin, end, fields, values, (self.flows.from_record(cookie),), drains))

    def struck(self, cookie: int, kind: str, words: str, tick: int) -> None:
        """A planned fault takes effect."""
        self.sink.span(TimelineSpan(self.marks, f"fault {kind}", tick, tick, FAULT, (self.name_of(cookie), words)))

    def found(self, cookie: int, kind: str, text: str, tick: int) -> None:
        """A hazard or an error of a user's kernel."""
        self.sink.span(TimelineSpan(self.marks, kind, tick, tick, FAULT, (self.name_of(cookie), text)))

    def stopped(self, tick: int) -> None:
        """A reset takes effect: what is under way is cut off."""
        self.cores.stop(tick, self.transfers.stop(tick))
        if self._job is not None and self._job.launch is not None:
            self._job.parts.append(("launch", self._job.launch, tick))
        self._write_job(tick, UNFINISHED, (RESET,))
        for cookie, since in self._queued.items():
            if since < tick:
                self.sink.span(TimelineSpan(self._queue.take(since, tick), *self._span(cookie, since, tick)))
        self._queued.clear()
        self._close_records(tick)

    def _close_records(self, tick: int) -> None:
        for cookie, (begin, drains) in self._written.items():
            self._write_record(cookie, begin, max(begin, tick), drains, LOST)
        self._written.clear()

    def core_paused(self, core: int, reason: str, begin: int, end: int) -> None:
        """A core waits to start a worker."""
        self.cores.paused(core, reason, begin, end)

    def worker_started(self, worker: int, core: int, tick: int) -> None:
        """A worker begins."""
        self.cores.started(worker, core, tick)

    def worker_ended(self, worker: int, tick: int) -> None:
        """A worker has ended."""
        self.cores.ended(worker, tick)

    def spent(self, worker: int, reason: str, begin: int, end: int) -> None:
        """A worker issues or computes."""
        self.cores.spent(worker, reason, begin, end)

    def waited(self, worker: int, reason: str, seqs: Sequence[int], begin: int, end: int) -> None:
        """A worker has waited."""
        self.cores.waited(worker, reason, seqs, begin, end)

    def waits(self, worker: int, reason: str, seqs: Sequence[int], begin: int, end: int) -> None:
        """A worker waits, and never goes on."""
        if begin < end:
            self.cores.waited(worker, reason, seqs, begin, end, over=False)

    def gathered(self, worker: int, first: int, descriptors: Sequence[Any], tick: int) -> None:
        """Reads are requested."""
        self.cores.gathered(worker, descriptors)

    def drained(self, worker: int, seq: int, slot: int, chain: Sequence[Any], tick: int) -> None:
        """A drain is requested."""
        self.cores.drained(worker, seq, slot, chain, tick)

    def noted(self, worker: int, words: Mapping[str, int | str]) -> None:
        """A worker's own words for what comes."""
        self.cores.noted(worker, words)

    def landed(self, transfer: Any, tick: int) -> None:
        """A transfer is done."""
        self.transfers.landed(transfer, self.cores.landed(transfer, tick), tick)
        if transfer.fault is not None:
            text = f"worker {transfer.worker} transfer {transfer.seq}: {transfer.fault}"
            name = self.name_of(self._job.cookie) if self._job else ""
            self.sink.span(TimelineSpan(self.marks, f"fault {transfer.fault.code}", tick, tick, FAULT, (name, text)))


def packet_geometry(packet: bytes) -> PacketGeometry | None:
    """The geometry of a packet; None where it is none that the firmware's operations know."""
    try:
        values = decode(packet)
        check_rules(values)
    except PacketFault:
        return None
    return PacketGeometry.of(values)
