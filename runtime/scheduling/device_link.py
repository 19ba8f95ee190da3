"""The link to one device: rings its doorbell, and forwards its interrupts.

The runtime keeps at most `depth` jobs on a device, so that what waits in a queue can still be cancelled. What an
interrupt brings is a cookie and nothing else; whether a job has ended is for its completion record to say.
"""

from collections.abc import Callable

import attrs

from tessbed.runtime.jobs.job import Job
from tessbed.sim.device.device import Device, Submission
from tessbed.sim.stats import JobStats


@attrs.define(eq=False, repr=False)
class Link:
    """One device and the jobs that it has, the oldest first.

    A job whose record was found before its interrupt came is *owed* that interrupt, for as long as one takes.
    """

    index: int
    device: Device
    interrupt: Callable[["Link", int], None]
    depth: int = 1
    jobs: list[Job] = attrs.field(factory=list, init=False)
    resetting: bool = attrs.field(default=False, init=False)
    _owed: dict[int, int] = attrs.field(factory=dict, init=False)

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

    def owe(self, cookie: int, now: int) -> None:
        """The record of this job is in place and its interrupt has not come: it is on its way, or lost."""
        self._owed = {other: until for other, until in self._owed.items() if until >= now}
        self._owed[cookie] = now + self.device.spec.completion_ticks

    def owes(self, cookie: int, now: int) -> bool:
        """Whether an interrupt with this cookie is the one that is owed; it is owed no more."""
        return self._owed.pop(cookie, -1) >= now

    def detach(self) -> None:
        """Hear no interrupt of the device any more."""
        self.device.delivery.listeners.remove(self._raised)

    def _raised(self, cookie: int, _: JobStats | None) -> None:
        self.interrupt(self, cookie)
