"""Recovery: reset a device, and release what it held only when the reset is confirmed.

Closing a handle or ending a process does not prove that the hardware stopped; a confirmed reset does. Records that
are in place are honoured, when the reset starts and again when it is confirmed. Every other job on the device ends as
recovered: it may have written some of its output, so none of it counts.
"""

import attrs

from tessbed.runtime.jobs.job import Job
from tessbed.runtime.jobs.states import State, Transition
from tessbed.runtime.scheduling.device_link import Link
from tessbed.runtime.scheduling.scheduler import Scheduler


@attrs.define(eq=False, repr=False)
class Recovery:
    """Resets the devices of `scheduler`; `automatic` does so as soon as a job is quarantined."""

    scheduler: Scheduler
    automatic: bool
    resets: int = attrs.field(default=0, init=False)

    def quarantined(self, link: Link, job: Job) -> None:
        """The watchdog has given a job up."""
        if link.resetting and job.state is State.QUARANTINED:
            job.move(Transition.RESET, self.scheduler.now)
        elif self.automatic:
            self.reset(link)

    def reset(self, link: Link) -> None:
        """Start a reset; a second one while it lasts does nothing. No job starts there until it is confirmed."""
        if link.resetting:
            return
        link.resetting = True
        self.resets += 1
        self._poll(link)
        for job in tuple(link.jobs):
            job.move(Transition.RESET, self.scheduler.now)
        callbacks = link.device.reset().callbacks
        assert callbacks is not None
        callbacks.append(lambda _: self._confirmed(link))

    def _poll(self, link: Link) -> None:
        for job in tuple(link.jobs):
            self.scheduler.poll(link, job)

    def _confirmed(self, link: Link) -> None:
        """The device touches nothing any more: the jobs end, the queues go on."""
        self._poll(link)
        for job in tuple(link.jobs):
            link.jobs.remove(job)
            job.outcome, job.reason = job.outcome or "recovered", job.reason or "the device was reset"
            job.move(Transition.RECOVER, self.scheduler.now)
        link.resetting = False
        for queue in tuple(self.scheduler.queues):
            queue.retire(self.scheduler.now)
        self.scheduler.start_jobs()
