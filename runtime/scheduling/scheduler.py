"""The scheduler: which job starts next, and what an interrupt means.

It alone moves submitted jobs. An interrupt is a hint with a cookie; the job has ended when its own record says so.
Hence the answers to an interrupt: the record is there (the job ends, late or not); the record was found before, and
this is the interrupt that was owed (nothing); the job has ended already (a repeated interrupt, ignored and noted); the
record is not there (noted, the job runs on); nobody knows the cookie (a device fault).
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable

import attrs
from simpy import Environment

from tessbed.runtime.errors import StateError
from tessbed.runtime.jobs.job import LOST, OK, Job
from tessbed.runtime.jobs.outcome import status_name
from tessbed.runtime.jobs.states import ON_DEVICE, State, Transition
from tessbed.runtime.scheduling.device_link import Link
from tessbed.runtime.scheduling.queues import Queue, deadline, failed_dependency
from tessbed.sim.completion_record import Record
from tessbed.sim.stats import JobStats

NOTED = 256


@attrs.frozen
class Notice:
    """Something odd that the runtime saw: a key of NOTICES, the cookie, the tick."""

    kind: str
    cookie: int
    tick: int


NOTICES = {
    "late": "a record arrived after the job had timed out; the device has finished it",
    "repeated": "an interrupt for a job that had already ended; ignored",
    "unconfirmed": "an interrupt without a valid record; the job continues",
    "unknown": "an interrupt for a job that this runtime never started; the device is at fault",
    "polled": "the host found the record before the interrupt; the record ended the job",
}
DEVICE_FAULTS = ("unknown",)


@attrs.define(eq=False, repr=False)
class Scheduler:
    """The queues, the links to the devices, and the jobs that are not final.

    `workers` holds the grid asked for, by cookie; `listeners` hear of each job that is submitted.
    """

    env: Environment
    links: tuple[Link, ...] = ()
    listeners: list[Callable[[Job], None]] = attrs.field(factory=list, init=False)
    queues: list[Queue] = attrs.field(factory=list, init=False)
    live: dict[int, Job] = attrs.field(factory=dict, init=False)
    workers: dict[int, int | None] = attrs.field(factory=dict, init=False)
    starts: int = attrs.field(default=0, init=False)
    issued: int = attrs.field(default=0, init=False)
    notices: deque[Notice] = attrs.field(factory=lambda: deque(maxlen=NOTED), init=False)
    noted: Counter[str] = attrs.field(factory=Counter, init=False)

    @property
    def now(self) -> int:
        """The tick it is."""
        return int(self.env.now)

    def next_cookie(self) -> int:
        """A number that no job of this runtime has had; never 0."""
        self.issued += 1
        return self.issued

    def submit(self, job: Job, workers: int | None = None) -> None:
        """Put a bound job into its queue and start what can start. Raises QueueFull."""
        job.queue.put(job)
        job.mark, job.submit_tick = self.starts, self.now
        self.live[job.cookie] = job
        self.workers[job.cookie] = workers
        job.on_final(self._forget)
        job.move(Transition.SUBMIT, self.now)
        for listener in self.listeners:
            listener(job)
        self.start_jobs()

    def cancel(self, job: Job, reason: str = "cancelled by its client") -> None:
        """End a job that has not started. Raises StateError for one that has."""
        if job.state is State.SUBMITTED:
            job.queue.withdraw(job)
        elif job.state not in (State.PREPARED, State.BOUND):
            raise StateError(f"{job}: cancel is illegal while {job.state.value}; only a reset ends a started job")
        job.outcome, job.reason = "cancelled", reason
        job.move(Transition.CANCEL, self.now)
        job.queue.retire(self.now)

    def expire(self, job: Job) -> None:
        """The time of a job is over before it has started: it is lost, and no device has touched its buffers."""
        job.queue.withdraw(job)
        text = f"not started within {job.timeout_ticks} ticks of its submission; no device has touched its buffers"
        job.outcome, job.reason = LOST, text
        job.move(Transition.EXPIRE, self.now)
        job.queue.retire(self.now)
        self.start_jobs()

    def start_jobs(self) -> None:
        """Start jobs while a device has room and a queue has a job that may start."""
        for link in self.links:
            while link.room > 0 and (job := self._next()) is not None:
                self._start(job, link)
        self._prune()

    def interrupt(self, link: Link, cookie: int) -> None:
        """What a device's interrupt with this cookie means."""
        if link.owes(cookie, self.now):
            return
        job = self.live.get(cookie)
        if job is None or job not in link.jobs:
            ended = job is not None and job.state in (State.COMPLETED, State.FAULTED)
            known = ended or (job is None and 0 < cookie <= self.issued)
            self.note("repeated" if known else "unknown", cookie)
        elif not self.confirm(link, job):
            self.note("unconfirmed", cookie)

    def confirm(self, link: Link, job: Job) -> bool:
        """End the job if its record is there and names it; False, and nothing has changed, otherwise.

        A lost job stays lost: its record only proves that the device is done with it.
        """
        assert job.control is not None
        record = job.control.read_record(job.cookie)
        if record is None:
            return False
        stats = link.device.collect(job.cookie)
        job.late = job.state is State.TIMED_OUT or (job.deadline is not None and self.now > job.deadline)
        if job.late:
            self.note("late", job.cookie)
        link.jobs.remove(job)
        if job.lost_tick is None:
            self._end(job, record, stats)
        else:
            job.move(Transition.RECOVER, self.now)
        job.queue.retire(self.now)
        self.start_jobs()
        return True

    def poll(self, link: Link, job: Job) -> bool:
        """As `confirm`, for a host that looks of itself: the interrupt, if it comes yet, is of no interest."""
        found = self.confirm(link, job)
        if found:
            self.note("polled", job.cookie)
            link.owe(job.cookie, self.now)
        return found

    def link_of(self, job: Job) -> Link:
        """The link to the device that has the job."""
        return next(link for link in self.links if job in link.jobs)

    def note(self, kind: str, cookie: int) -> None:
        """Keep a notice; the latest ones stay, all are counted."""
        self.notices.append(Notice(kind, cookie, self.now))
        self.noted[kind] += 1

    def on_device(self) -> tuple[Job, ...]:
        """The jobs that a device may still be touching buffers of."""
        return tuple(job for job in self.live.values() if job.state in ON_DEVICE)

    def _next(self) -> Job | None:
        """The queue head that may start now, by deadline; heads whose dependencies failed are cancelled on the way."""
        for queue in tuple(self.queues):
            self._cancel_orphans(queue)
        return min(self._heads(), key=deadline, default=None)

    def _cancel_orphans(self, queue: Queue) -> None:
        while (job := queue.head()) is not None and (cause := failed_dependency(job)) is not None:
            self.cancel(job, f"it depends on {cause}, which ended {cause.outcome}")

    def _heads(self) -> Iterable[Job]:
        return (job for queue in self.queues if (job := queue.head()) is not None)

    def _start(self, job: Job, link: Link) -> None:
        job.queue.waiting.popleft()
        job.move(Transition.START, self.now)
        self.starts += 1
        link.ring(job, self.workers[job.cookie])

    def _end(self, job: Job, record: Record, stats: JobStats | None) -> None:
        job.record, job.stats = record, stats
        good = record.completion.status == 0
        job.outcome = OK if good else status_name(record.completion.status)
        job.move(Transition.COMPLETE if good else Transition.FAULT, self.now)

    def _forget(self, job: Job) -> None:
        del self.live[job.cookie], self.workers[job.cookie]

    def remove(self, queue: Queue) -> None:
        """Close a queue to new jobs, and forget it once it is empty."""
        queue.closed = True
        self._prune()

    def _prune(self) -> None:
        self.queues = [queue for queue in self.queues if queue.unretired or not queue.closed]
