"""Queues: bounded, in order, with priorities that never starve a job; retirement of the jobs that have ended.

A queue belongs to one client. Its jobs start in the order of submission and retire in that order, whatever the
order in which several devices complete them. Between queues the scheduler picks the smallest *deadline*: the number of
starts at the tick of submission, less `priority * PATIENCE`. A waiting job's deadline is paused while those
of new submissions grow with every start, so a job of the lowest priority is overtaken at most
`(highest - its own priority) * PATIENCE` times plus once for each job that was before it.
"""

from collections import deque

import attrs

from tessbed.runtime.errors import QueueFull, SubmitError
from tessbed.runtime.identity import Identity
from tessbed.runtime.jobs.job import OK, Job
from tessbed.runtime.jobs.states import State, Transition

PATIENCE = 4
ENDED = (State.COMPLETED, State.FAULTED)


@attrs.define(eq=False, repr=False)
class Queue:
    """One client's jobs. `capacity` bounds the jobs that are not final yet; None timeouts never expire.

    `owner` is the runtime's that serves it.
    """

    name: str
    capacity: int = 16
    priority: int = 0
    timeout_ticks: int | None = None
    grace_ticks: int = 0
    owner: Identity | None = None
    closed: bool = attrs.field(default=False, init=False)
    waiting: deque[Job] = attrs.field(factory=deque, init=False)
    unretired: deque[Job] = attrs.field(factory=deque, init=False)

    def __attrs_post_init__(self) -> None:
        check_ticks("timeout_ticks", self.timeout_ticks, 1)
        check_ticks("grace_ticks", self.grace_ticks, 0)
        if self.capacity < 1:
            raise SubmitError("capacity", f"queue {self.name}", f"got a capacity of {self.capacity}, wanted at least 1")

    @property
    def room(self) -> int:
        """How many jobs may still be submitted."""
        return 0 if self.closed else self.capacity - len(self.unretired)

    def check_open(self) -> None:
        """Raise SubmitError where the queue takes no job ever again."""
        if self.closed:
            raise SubmitError("closed", f"queue {self.name}", "this queue is closed, as its client is gone")

    def check_room(self) -> None:
        """Raise QueueFull where there is none, SubmitError where there never will be."""
        self.check_open()
        if self.room < 1:
            text = f"{len(self.unretired)} jobs are not retired yet and the capacity is {self.capacity}; wait for one"
            raise QueueFull("queue_full", f"queue {self.name}", text)

    def put(self, job: Job) -> None:
        """The job is the last in line."""
        self.check_room()
        self.waiting.append(job)
        self.unretired.append(job)

    def head(self) -> Job | None:
        """The next job to start: the oldest waiting one, when all that it depends on is final."""
        job = self.waiting[0] if self.waiting else None
        return job if job and all(other.final for other in job.after) else None

    def withdraw(self, job: Job) -> None:
        """Take a waiting job out."""
        self.waiting.remove(job)
        self.unretired.remove(job)

    def retire(self, tick: int) -> None:
        """Retire ended jobs from the front, as far as the order allows."""
        while self.unretired:
            job = self.unretired[0]
            if job.state in ENDED:
                self.unretired.popleft()
                job.move(Transition.RETIRE, tick)
            elif job.final:
                self.unretired.popleft()
            else:
                return


def check_ticks(name: str, ticks: int | None, low: int) -> None:
    """Raise SubmitError where `ticks` is neither None nor an integer from `low` on."""
    whole = isinstance(ticks, int) and not isinstance(ticks, bool)
    if ticks is not None and not (whole and ticks >= low):
        raise SubmitError(name, name, f"got {ticks!r}, wanted an integer of {low} ticks at least, or None for no limit")


def deadline(job: Job) -> tuple[int, int]:
    """The scheduler's order between the heads of queues: smallest first."""
    return job.mark - job.queue.priority * PATIENCE, job.cookie


def failed_dependency(job: Job) -> Job | None:
    """The first job before it that did not end well."""
    return next((other for other in job.after if other.outcome != OK), None)
