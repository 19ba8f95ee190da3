"""Recovery: reset a device, and let go of what it held only when the reset is confirmed.

Closing a handle or ending a process does not prove that the hardware stopped; a confirmed reset does. Records that
are in place already are honoured first. Every other job on the device ends as recovered: it may have written some of
its output, so none of it counts.
"""

import attrs

from tessbed.runtime.jobs import Job
from tessbed.runtime.link import Link
from tessbed.runtime.scheduler import Scheduler
from tessbed.runtime.states import Move


@attrs.define(eq=False, repr=False)
class Recovery:
    """Resets the devices of `scheduler`; `automatic` does so as soon as a job is quarantined."""

    scheduler: Scheduler
    automatic: bool
    resets: int = attrs.field(default=0, init=False)

    def quarantined(self, link: Link, _: Job) -> None:
        """The watchdog has given a job up."""
        if self.automatic:
            self.reset(link)

    def reset(self, link: Link) -> None:
        """Start a reset; a second one while it lasts does nothing."""
        if link.resetting:
            return
        for job in tuple(link.jobs):
            if self.scheduler.confirm(link, job):
                self.scheduler.note("polled", job.cookie)
        link.resetting = True
        self.resets += 1
        for job in link.jobs:
            job.move(Move.RESET, self.scheduler.now)
        callbacks = link.device.reset().callbacks
        assert callbacks is not None
        callbacks.append(lambda _: self._confirmed(link))

    def _confirmed(self, link: Link) -> None:
        """The device touches nothing any more: the jobs end, the queues go on."""
        link.resetting = False
        for job in tuple(link.jobs):
            link.jobs.remove(job)
            job.outcome, job.reason = "recovered", job.reason or "the device was reset"
            job.move(Move.RECOVER, self.scheduler.now)
        for queue in tuple(self.scheduler.queues):
            queue.retire(self.scheduler.now)
        self.scheduler.pump()
