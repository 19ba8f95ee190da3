"""Submission: from checked storage and packet bytes to a job in its queue, all or nothing.

Every check comes first. Then the job's owners are held, its packet is in place, the buffers are handed over to the
device, and the scheduler has it. What fails on the way leaves no reference and no hand-over behind.
"""

from collections.abc import Mapping, Sequence

import attrs

from tessbed.runtime.buffers import Allocation, View
from tessbed.runtime.cache import LINE_BYTES
from tessbed.runtime.control import ControlPool
from tessbed.runtime.errors import GranuleConflict
from tessbed.runtime.jobs import Job
from tessbed.runtime.owners import Owned
from tessbed.runtime.queues import Queue, check_ticks
from tessbed.runtime.scheduler import Scheduler
from tessbed.runtime.spans import Footprint, Span, conflict
from tessbed.runtime.states import Move


@attrs.frozen
class Touch:
    """Bytes that a job reads or writes: [start, end) of an allocation."""

    allocation: Allocation
    start: int
    end: int
    written: bool

    @classmethod
    def of(cls, view: View, nbytes: int, *, written: bool) -> "Touch":
        """The first `nbytes` of a view."""
        return cls(view.buffer.live("submission"), view.offset, view.offset + nbytes, written)

    @property
    def span(self) -> Span:
        """As device addresses."""
        return Span(self.allocation.address + self.start, self.allocation.address + self.end)

    def check(self) -> None:
        """Raise CoherencyError where the CPU's cache is not ready for it."""
        if self.allocation.coherency is not None:
            self.allocation.coherency.check_hand_over(self.start, self.end, written=self.written)

    def hand_over(self) -> None:
        """From here on it is the device's."""
        if self.allocation.coherency is not None:
            self.allocation.coherency.hand_over(self.start, self.end, written=self.written)

    def hand_back(self) -> None:
        """The device is done with it."""
        if self.allocation.coherency is not None:
            self.allocation.coherency.hand_back(self.start, self.end, written=self.written)


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

    def submit(self, raw: bytes, touches: Sequence[Touch], owners: Mapping[str, Sequence[Owned]], order: Order) -> Job:
        """A job for packet bytes. Raises QueueFull, GranuleConflict, CoherencyError, SubmitError, HeapExhausted."""
        footprint = self._footprint(touches)
        check_ticks("timeout_ticks", order.timeout_ticks, 1)
        order.queue.check_room()
        check_conflicts(order, footprint, self.scheduler)
        for touch in touches:
            touch.check()
        job = self._bound(raw, footprint, owners, order)
        _hand_over(job, touches)
        self.scheduler.submit(job, order.workers)
        return job

    def _bound(self, raw: bytes, footprint: Footprint, owners: Mapping[str, Sequence[Owned]], order: Order) -> Job:
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
        job.move(Move.BIND, self.scheduler.now)
        return job

    def _footprint(self, touches: Sequence[Touch]) -> Footprint:
        reads = tuple(touch.span for touch in touches if not touch.written)
        writes = [touch for touch in touches if touch.written]
        rewrites = tuple(touch.span.widened(self._unit(touch)) for touch in writes)
        return Footprint(reads, tuple(touch.span for touch in writes), rewrites)

    def _unit(self, touch: Touch) -> int:
        """What is rewritten with a byte: a write granule, or a CPU line where that is wider."""
        return self.granule_bytes if touch.allocation.coherency is None else max(self.granule_bytes, LINE_BYTES)


def check_conflicts(order: Order, footprint: Footprint, scheduler: Scheduler) -> None:
    """Raise GranuleConflict, naming both, where a job in flight is in the way that this one does not come after."""
    ordered: list[Job] | None = None
    for other in scheduler.live.values():
        found = conflict(footprint, other.footprint)
        if found is None:
            continue
        ordered = ancestors(order.after) if ordered is None else ordered
        if other not in ordered:
            words, mine, theirs = found
            text = f"this job and {other} {words} {mine} and {theirs}; submit it with after=[that job]"
            raise GranuleConflict(f"job {order.name!r}", text, other)


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


def _hand_over(job: Job, touches: Sequence[Touch]) -> None:
    cached = [touch for touch in touches if touch.allocation.coherency is not None]
    for touch in cached:
        touch.hand_over()
        job.on_final(lambda _, touch=touch: touch.hand_back())
