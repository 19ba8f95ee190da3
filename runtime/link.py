"""The link to one device: rings its doorbell, and passes its interrupts on.

The runtime keeps at most `depth` jobs on a device, so that what waits in a queue can still be cancelled. What an
interrupt brings is a cookie and nothing else; whether a job has ended is for its completion record to say.
"""

from collections.abc import Callable

import attrs

from tessbed.runtime.jobs import Job
from tessbed.sim.device import Device, Submission
from tessbed.sim.stats import JobStats


@attrs.define(eq=False, repr=False)
class Link:
    """One device and the jobs that it has, the oldest first."""

    index: int
    device: Device
    interrupt: Callable[["Link", int], None]
    depth: int = 1
    jobs: list[Job] = attrs.field(factory=list, init=False)
    resetting: bool = attrs.field(default=False, init=False)
    stats: dict[int, JobStats] = attrs.field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        self.device.delivery.listeners.append(self._raised)

    @property
    def room(self) -> int:
        """How many more jobs it takes; none while it is reset."""
        return 0 if self.resetting else self.depth - len(self.jobs)

    def ring(self, job: Job, workers: int | None) -> None:
        """Hand the job to the device: from here on the device may touch its buffers."""
        assert job.control is not None
        control = job.control
        self.jobs.append(job)
        submission = Submission(control.packet.address, len(job.raw), control.record.address, job.cookie, workers)
        self.device.submit(submission)

    def _raised(self, cookie: int, stats: JobStats | None) -> None:
        if stats is not None:
            self.stats[cookie] = stats
        self.interrupt(self, cookie)
        self.stats.pop(cookie, None)
