"""The link to one device: rings its doorbell, and passes its interrupts on.

The runtime keeps at most `depth` jobs on a device, so that what waits in a queue can still be cancelled. What an
interrupt brings is a cookie and nothing else; whether a job has ended is for its completion record to say.
"""

from collections.abc import Callable

import attrs
from simpy import Event

from tessbed.runtime.jobs import Job
from tessbed.sim.device import Device, Submission
from tessbed.sim.stats import JobStats


@attrs.define(eq=False)
class Link:
    """One device and the jobs that it has, the oldest first."""

    index: int
    device: Device
    interrupt: Callable[["Link", int], None]
    depth: int = 1
    jobs: list[Job] = attrs.field(factory=list, init=False)
    resetting: bool = attrs.field(default=False, init=False)
    stats: dict[int, JobStats] = attrs.field(factory=dict, init=False)

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
        event = self.device.submit(submission)
        assert event.callbacks is not None
        event.callbacks.append(self._raised)

    def _raised(self, event: Event) -> None:
        stats: JobStats = event.value  # pyright: ignore[reportAssignmentType]
        self.stats[stats.cookie] = stats
        self.interrupt(self, stats.cookie)
