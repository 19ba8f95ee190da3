"""asyncio adapter: waits for coroutines. Time passes while at least one of them waits.

    waits = Awaiting(runtime)
    result = await waits.finished(job)

One driver steps the simulation for all who wait, up to the next job that is over; then it gives way, so that whoever
waited for that job runs before time goes on. No wall time is involved, so a program of coroutines gives the same ticks
every time. Any wait can be cancelled, at any moment, and so can the driver: the others go on. While no job ends the
driver does not give way, so a `wait_for` on it is late, yet not for ever.
"""

import asyncio
from collections.abc import Callable

import attrs

from tessbed.runtime.errors import SubmitError
from tessbed.runtime.jobs.job import Job, JobResult
from tessbed.runtime.jobs.outcome import outcome_of
from tessbed.runtime.memory.storage_entry import kind_of
from tessbed.runtime.runtime import Runtime
from tessbed.runtime.scheduling import job_entry
from tessbed.runtime.scheduling.queues import Queue


@attrs.define(eq=False, repr=False)
class AsyncioAdapter:
    """The coroutines that wait on a runtime. Raises SubmitError for what is none."""

    runtime: Runtime
    _waiting: list[asyncio.Future[None]] = attrs.field(factory=list, init=False)
    _driver: asyncio.Task[None] | None = attrs.field(default=None, init=False)
    _woken: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.runtime, Runtime):
            raise SubmitError("type", "AsyncioAdapter", f"got {kind_of(self.runtime)}, wanted a Runtime")

    async def finished(self, job: Job) -> JobResult:
        """As `Runtime.wait`."""
        await self.over(job)
        return outcome_of(job)

    async def over(self, job: Job) -> JobResult:
        """As `Runtime.settle`."""
        if not self.runtime.own(job).over:
            await self._until(job.on_over)
        return job.result()

    async def room(self, queue: Queue) -> None:
        """Until the queue takes another job.

        Raises SubmitError when it is closed or of another runtime, and on a closed runtime; HangError.
        """
        job_entry.queue(self.runtime.identity, queue)
        self.runtime.identity.check_open("room")
        while queue.room < 1:
            queue.check_open()
            await self._until(queue.unretired[0].on_final)

    async def _until(self, subscribe: Callable[[Callable[[Job], None]], None]) -> None:
        """Wait for the callback that `subscribe` is given; see to it that somebody drives."""
        future = asyncio.get_running_loop().create_future()
        subscribe(lambda _: self._wake(future))
        self._waiting.append(future)
        self._see_to_driver()
        try:
            await future
        finally:
            if future in self._waiting:
                self._waiting.remove(future)

    def _see_to_driver(self) -> None:
        if self._driver is None or self._driver.done():
            self._driver = asyncio.create_task(self._drive())
            self._driver.add_done_callback(self._replace)

    def _replace(self, driver: asyncio.Task[None]) -> None:
        """A cancelled driver has a successor while anybody waits."""
        if driver.cancelled() and self._wanted():
            self._see_to_driver()

    def _wanted(self) -> bool:
        """Whether anybody waits: a cancelled wait is in the list until its coroutine has run."""
        return any(not future.done() for future in self._waiting)

    def _wake(self, future: asyncio.Future[None]) -> None:
        if not future.done():
            future.set_result(None)
            self._woken = True

    async def _drive(self) -> None:
        """Step until somebody is woken, give way, and again while anybody waits; an error goes to all who wait."""
        try:
            while self._wanted():
                self._woken = False
                while not self._woken:
                    self.runtime.step()
                await asyncio.sleep(0)
        except Exception as error:
            for future in self._waiting:
                if not future.done():
                    future.set_exception(error)
