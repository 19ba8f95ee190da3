"""The watchdog: what the host does when no interrupt comes.

Each job has until its deadline, `timeout_ticks` after its submission. There the host looks at the record itself:
one that is in place ends the job, and its interrupt, on its way or lost, does not matter any more. Without a record
the job is timed out and gets its queue's grace, none by default, in which a late record still ends it. Then it is
lost, whatever comes later, and its buffers are quarantined: nobody knows what the device does with them. A job that
still waits for a device at its deadline is lost without a grace, and without a quarantine.
"""

from collections.abc import Callable

import attrs

from tessbed.runtime.jobs.job import LOST, Job
from tessbed.runtime.jobs.states import State, Transition
from tessbed.runtime.scheduling.device_link import Link
from tessbed.runtime.scheduling.scheduler import Scheduler
from tessbed.sim.events import event_queue

WATCHED = (State.RUNNING, State.TIMED_OUT, State.RECOVERING)


@attrs.define(eq=False, repr=False)
class Watchdog:
    """Watches the jobs of `scheduler`; `on_quarantine` hears of each job given up, with its device."""

    scheduler: Scheduler
    on_quarantine: Callable[[Link, Job], None]

    def watch(self, job: Job) -> None:
        """The job is submitted."""
        if job.deadline is not None:
            self._at(job.deadline, self._expire, job)

    def _at(self, tick: int, call: Callable[[Job], None], job: Job) -> None:
        event_queue.at(self.scheduler.env, tick, event_queue.TIMEOUT, lambda _: call(job), None)

    def _expire(self, job: Job) -> None:
        if job.state is State.SUBMITTED:
            self.scheduler.expire(job)
        elif job.state in WATCHED and not self.scheduler.poll(self.scheduler.link_of(job), job):
            if job.state is State.RUNNING:
                job.move(Transition.EXPIRE, self.scheduler.now)
            self._at(self.scheduler.now + job.queue.grace_ticks, self._give_up, job)

    def _give_up(self, job: Job) -> None:
        if job.state not in WATCHED or self.scheduler.poll(link := self.scheduler.link_of(job), job):
            return
        grace = f" + {job.queue.grace_ticks}" if job.queue.grace_ticks else ""
        job.outcome = LOST
        job.reason = f"no completion within {job.timeout_ticks}{grace} ticks; its buffers are still held"
        job.move(Transition.LOSE, self.scheduler.now)
        job.move(Transition.QUARANTINE, self.scheduler.now)
        self.on_quarantine(link, job)
