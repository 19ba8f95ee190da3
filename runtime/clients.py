"""Clients: processes that share the devices, each with its own queue and buffers, which may end abruptly.

When a process ends, its waiting jobs are cancelled and its handles are closed. What a device still works on is not:
those buffers stay held until the job has retired or a reset is confirmed, as they would in a kernel driver.
"""

from collections.abc import Sequence
from typing import Any

import attrs

from tessbed.runtime.errors import LifetimeError, SubmitError
from tessbed.runtime.jobs.job import Job
from tessbed.runtime.jobs.prepared import PreparedJob
from tessbed.runtime.jobs.states import State
from tessbed.runtime.memory.buffers import Buffer, View
from tessbed.runtime.memory.storage_entry import kind_of
from tessbed.runtime.runtime import Plan, Runtime
from tessbed.runtime.scheduling import job_entry
from tessbed.runtime.scheduling.queues import Queue


@attrs.define(eq=False, repr=False)
class Client:
    """One process on `runtime`. `queue` is its own.

    Raises SubmitError for a queue of another runtime, and on a closed runtime.
    """

    runtime: Runtime
    queue: Queue
    buffers: list[Buffer] = attrs.field(factory=list, init=False)
    gone: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.runtime, Runtime):
            raise SubmitError("type", "Client", f"got {kind_of(self.runtime)}, wanted a Runtime")
        job_entry.queue(self.runtime.identity, self.queue)
        self.runtime.identity.check_open("Client")

    def allocate(self, nbytes: int, **options: Any) -> Buffer:
        """A buffer that ends with the process, if not before. Options as of `Runtime.allocate`."""
        self._check()
        self.buffers = [buffer for buffer in self.buffers if not buffer.closed]
        self.buffers.append(self.runtime.allocate(nbytes, **options))
        return self.buffers[-1]

    def submit(
        self,
        plan: Plan | PreparedJob,
        inputs: Sequence[View | Buffer],
        outputs: Sequence[View | Buffer],
        **options: Any,
    ) -> Job:
        """As `Runtime.submit`, in this client's queue."""
        self._check()
        return self.runtime.submit(plan, inputs, outputs, queue=self.queue, **options)

    def exit(self) -> tuple[Job, ...]:
        """End the process, cleanly or killed; returns the jobs that a device still works on."""
        self.gone = True
        for job in tuple(self.queue.unretired):
            if job.state is State.SUBMITTED:
                self.runtime.scheduler.cancel(job, f"its client {self.queue.name} is gone")
        for buffer in self.buffers:
            if not buffer.closed:
                buffer.close()
        self.buffers.clear()
        self.runtime.scheduler.remove(self.queue)
        return tuple(self.queue.unretired)

    def _check(self) -> None:
        if self.gone:
            raise LifetimeError(f"client {self.queue.name} is gone")
