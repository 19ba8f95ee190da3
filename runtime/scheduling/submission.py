"""Submission: from checked storage and packet bytes to a job in its queue, all or nothing.

Every check comes first. Then the job's owners are held, its packet is in place, the buffers are handed over to the
device, and the scheduler has it. What fails on the way leaves no reference and no hand-over behind.
"""

from collections.abc import Mapping, Sequence

import attrs

from tessbed.runtime.address_ranges import Clash, JobFootprint, Span
from tessbed.runtime.errors import GranuleConflict
from tessbed.runtime.jobs.control_block import ControlPool
from tessbed.runtime.jobs.held_resources import OwnedResource
from tessbed.runtime.jobs.job import Job
from tessbed.runtime.jobs.states import Transition
from tessbed.runtime.memory.buffers import Allocation, View
from tessbed.runtime.memory.in_flight import cpu_footprint, device_footprint
from tessbed.runtime.scheduling.queues import Queue
from tessbed.runtime.scheduling.scheduler import Scheduler


@attrs.frozen
class BufferAccess:
    """Bytes that a job reads or writes: [start, end) of an allocation."""

    allocation: Allocation
    start: int
    end: int
    written: bool

    @classmethod
    def of(cls, view: View, nbytes: int, *, written: bool) -> "BufferAccess":
        """The first `nbytes` of a view."""
        return cls(view.buffer.live("submission"), view.offset, view.offset + nbytes, written)

    def at_address(self, span: Span) -> Span:
        """A span of byte offsets as device addresses."""
        return Span(self.allocation.address + span.start, self.allocation.address + span.end)

    @property
    def cached(self) -> bool:
        """Whether the CPU reaches the bytes through its cache."""
        return self.allocation.coherency is not None

    def by_device(self, granule_bytes: int) -> JobFootprint:
        """What a device touches, in byte offsets."""
        span = Span(self.start, self.end)
        return device_footprint(span, written=self.written, cached=self.cached, granule_bytes=granule_bytes)

    def by_cpu(self) -> JobFootprint:
        """What the CPU touches, in byte offsets."""
        return cpu_footprint(Span(self.start, self.end), written=self.written, cached=self.cached)

    def check(self, footprint: JobFootprint) -> None:
        """Raise CoherencyError where the CPU's cache is not ready for a device."""
        if self.allocation.coherency is not None:
            rewrites = footprint.rewrites[0] if self.written else None
            self.allocation.coherency.check_hand_over(Span(self.start, self.end), rewrites)

    def hand_over(self, job: Job, footprint: JobFootprint) -> None:
        """From here on it is the device's, until the job is final."""
        self.allocation.guard.in_flight.enter(job, footprint)
        coherency = self.allocation.coherency
        if coherency is not None and self.written:
            job.on_final(lambda _: coherency.device_wrote(Span(self.start, self.end)))


Touched = Sequence[tuple[BufferAccess, JobFootprint]]


@attrs.frozen
class Order:
    """What a client asks for beside the bytes: the queue, the jobs to come after, the grid, the patience, a name."""

    queue: Queue
    after: tuple[Job, ...] = ()
    workers: int | None = None
    timeout_ticks: int | None = None
    name: str = ""


@attrs.define(eq=False, repr=False)
class Submitter:
    """Makes jobs. `granule_bytes` is the widest write granule of the devices, 1 with byte strobes."""

    control: ControlPool
    scheduler: Scheduler
    granule_bytes: int

    def submit(
        self, raw: bytes, touches: Sequence[BufferAccess], owners: Mapping[str, Sequence[OwnedResource]], order: Order
    ) -> Job:
        """A job for packet bytes. Raises QueueFull, GranuleConflict, CoherencyError, SubmitError, HeapExhausted."""
        touched = [(touch, touch.by_device(self.granule_bytes)) for touch in touches]
        order.queue.check_room()
        check_conflicts(touched, order)
        for touch, footprint in touched:
            touch.check(footprint)
        job = self._bound(raw, _addresses(touched), owners, order)
        for touch, footprint in touched:
            touch.hand_over(job, footprint)
        self.scheduler.submit(job, order.workers)
        return job

    def _bound(
        self, raw: bytes, footprint: JobFootprint, owners: Mapping[str, Sequence[OwnedResource]], order: Order
    ) -> Job:
        control = self.control.take()
        job = Job(self.scheduler.next_cookie(), order.name, raw, footprint, order.queue, order.after, control=control)
        job.timeout_ticks = order.queue.timeout_ticks if order.timeout_ticks is None else order.timeout_ticks
        try:
            job.owners.hold("packet", (control,))
            control.load(raw)
            for role, things in owners.items():
                job.owners.hold(role, things)
        except BaseException:  # an interrupt, too, leaves nothing held
            job.owners.release()
            raise
        job.move(Transition.BIND, self.scheduler.now)
        return job


def blockers(touched: Touched) -> list[tuple[Job, Clash]]:
    """The jobs in flight that these bytes must not be touched beside, by cookie, each with a pair of addresses."""
    found: dict[Job, Clash] = {}
    for touch, footprint in sorted(touched, key=lambda pair: not pair[0].written):
        for job, (words, mine, theirs) in touch.allocation.guard.in_flight.conflicts(footprint):
            found.setdefault(job, Clash(words, touch.at_address(mine), touch.at_address(theirs)))
    return sorted(found.items(), key=lambda pair: pair[0].cookie)


def check_conflicts(touched: Touched, order: Order) -> None:
    """Raise GranuleConflict, naming both, for a job in flight in the way that is not in `order.after` or before it."""
    ordered: list[Job] | None = None
    for job, (words, mine, theirs) in blockers(touched):
        ordered = ancestors(order.after) if ordered is None else ordered
        if job not in ordered:
            # A job of another runtime shares storage, but no job of this one can come after it.
            here = job.queue.owner is order.queue.owner
            advice = "submit it with after=[that job]" if here else f"wait for that job of {job.queue.owner}"
            text = f"this job and {job} {words} {mine} and {theirs}; {advice}"
            raise GranuleConflict(f"job {order.name!r}", text, job)


def check_alone(node: str, touched: Touched) -> None:
    """Raise GranuleConflict, naming both, for any job in flight in the way of a graph's node."""
    for job, (words, mine, theirs) in blockers(touched):
        text = f"this node and {job} {words} {mine} and {theirs}; wait for that job first"
        raise GranuleConflict(f"node {node!r}", text, job)


def _addresses(touched: Touched) -> JobFootprint:
    """All that is touched, as device addresses."""
    reads, writes, rewrites = (
        tuple(touch.at_address(span) for touch, footprint in touched for span in footprint[which]) for which in range(3)
    )
    return JobFootprint(reads, writes, rewrites)


def ancestors(jobs: Sequence[Job]) -> list[Job]:
    """The jobs that are not final, and all such that they come after."""
    found: list[Job] = []
    todo = list(jobs)
    while todo:
        job = todo.pop()
        if not job.final and job not in found:
            found.append(job)
            todo.extend(job.after)
    return found
