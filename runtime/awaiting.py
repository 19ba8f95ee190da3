"""Awaiting: waits for coroutines. Time passes while at least one of them waits.

    waits = Awaiting(runtime)
    result = await waits.finished(job)

One driver steps the simulation for all who wait, up to the next job that is over; then it gives way, so that whoever
waited for that job runs before time goes on. No wall time is involved, so a program of coroutines gives the same ticks
every time.
"""

import asyncio

import attrs

from tessbed.runtime.jobs import Job, JobResult
from tessbed.runtime.queues import Queue
from tessbed.runtime.runtime import Runtime, verdict


@attrs.define(eq=False, repr=False)
class Awaiting:
    """The coroutines that wait on a runtime."""

    runtime: Runtime
    _waiting: list[asyncio.Future[None]] = attrs.field(factory=list, init=False)
    _driver: asyncio.Task[None] | None = attrs.field(default=None, init=False)

    async def finished(self, job: Job) -> JobResult:
        """As `Runtime.wait`."""
        await self.over(job)
        return verdict(job)

    async def over(self, job: Job) -> JobResult:
        """As `Runtime.settle`."""
        if not job.over:
            future = asyncio.get_running_loop().create_future()
            job.on_over(lambda _: self._wake(future))
            await self._until(future)
        return job.result()

    async def room(self, queue: Queue) -> None:
        """Until the queue takes another job."""
        while queue.room < 1:
            await self.over(queue.unretired[0])

    async def _until(self, future: asyncio.Future[None]) -> None:
        self._waiting.append(future)
        if self._driver is None or self._driver.done():
            self._driver = asyncio.create_task(self._drive())
        try:
            await future
        finally:
            if future in self._waiting:
                self._waiting.remove(future)

    def _wake(self, future: asyncio.Future[None]) -> None:
        if future in self._waiting:
            self._waiting.remove(future)
            future.set_result(None)

    async def _drive(self) -> None:
        """Step until a job is over, give way, and again while anybody waits; an error goes to all who wait."""
        try:
            while self._waiting:
                before = len(self._waiting)
                while len(self._waiting) == before:
                    self.runtime.step()
                await asyncio.sleep(0)
        except Exception as error:
            waiting, self._waiting = self._waiting, []
            for future in waiting:
                future.set_exception(error)
