"""The watchdog: what the host does when no interrupt comes.

Patience counts from the moment a job is the oldest on its device. When it is over, the host reads the record itself:
a lost interrupt costs time, not the job. Without a record the job is timed out and gets its queue's grace, in which
a late record still ends it. After that it is lost, and its buffers are quarantined: nobody knows what the device
does with them.
"""

from collections.abc import Callable

import attrs
from simpy import Event

from tessbed.runtime.jobs import Job
from tessbed.runtime.link import Link
from tessbed.runtime.scheduler import Scheduler
from tessbed.runtime.states import Move, State


@attrs.define(eq=False, repr=False)
class Watchdog:
    """Watches the jobs of `scheduler`; `on_quarantine` hears of each job given up, with its device."""

    scheduler: Scheduler
    on_quarantine: Callable[[Link, Job], None]

    def watch(self, link: Link, job: Job) -> None:
        """The job is now the oldest on its device."""
        if job.timeout_ticks is not None:
            self._after(job.timeout_ticks, lambda _: self._expire(link, job))

    def _after(self, ticks: int, call: Callable[[Event], None]) -> None:
        callbacks = self.scheduler.env.timeout(ticks).callbacks
        assert callbacks is not None
        callbacks.append(call)

    def _expire(self, link: Link, job: Job) -> None:
        if job.state is not State.RUNNING or self._poll(link, job):
            return
        job.move(Move.EXPIRE, self.scheduler.now)
        self._after(job.queue.grace_ticks, lambda _: self._give_up(link, job))

    def _give_up(self, link: Link, job: Job) -> None:
        if job.state is not State.TIMED_OUT or self._poll(link, job):
            return
        job.reason = (
            f"no completion within {job.timeout_ticks} + {job.queue.grace_ticks} ticks; its buffers are on loan"
        )
        job.move(Move.LOSE, self.scheduler.now)
        job.move(Move.QUARANTINE, self.scheduler.now)
        self.on_quarantine(link, job)

    def _poll(self, link: Link, job: Job) -> bool:
        """Whether the record is there although no interrupt came."""
        found = self.scheduler.confirm(link, job)
        if found:
            self.scheduler.note("polled", job.cookie)
        return found
