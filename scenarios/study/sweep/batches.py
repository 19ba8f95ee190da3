"""Batches: points through any `concurrent.futures.Executor`, a chunk at a time; a worker that ends costs one retry.

A chunk is so large as to take about CHUNK_S, by what the points of its scenario have cost so far: slow points go one by
one, to all processes and into the file as soon as each is done, and quick ones together. A worker hands over what it
has when the time is up, and the rest of its chunk waits again.

A pool of processes is broken as a whole when one of them dies, and does not say whose fault it was. So all points that
were under way become suspects: each is tried once more, alone, in a new pool. One that breaks that as well is recorded
as failed, and the sweep goes on. An exception of the work is no death: it would come again, and is recorded at once.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from itertools import islice
from time import perf_counter
from typing import Any

import attrs

from tessbed.scenarios.study.sweep.executors import end_executor
from tessbed.scenarios.study.sweep.point import CHUNK_S, Batch, Result, failed, run_batch

MOST = 256
"""Points of a chunk."""
Timed = tuple[float, list[Result]]


def timed(work: Callable[[Batch], list[Result]], batch: Batch) -> Timed:
    """What a worker does: the results, and the seconds that they took."""
    began = perf_counter()
    results = work(batch)
    return perf_counter() - began, results


@attrs.define(eq=False)
class BatchQueue:
    """The points of one scenario that wait, and what one costs as far as is known."""

    batch: Batch
    waiting: deque[Any]
    point_s: float | None = None

    def take(self, width: int) -> Batch:
        """The next chunk; it leaves the others of `width` something to do."""
        share = -(-len(self.waiting) // (2 * width))
        size = 1 if self.point_s is None else max(1, min(MOST, share, int(CHUNK_S / max(1e-6, self.point_s))))
        points = tuple(islice(self.waiting, size))
        for _ in points:
            self.waiting.popleft()
        return attrs.evolve(self.batch, points=points)

    def learn(self, seconds: float, count: int) -> None:
        """The mean of what was known and of what `count` points took now."""
        cost = seconds / max(1, count)
        self.point_s = cost if self.point_s is None else (self.point_s + cost) / 2


@attrs.frozen
class Chunk:
    """Points that are under way. A suspect is alone."""

    batch: Batch
    queue: BatchQueue
    suspect: bool = False


@attrs.define(eq=False)
class BatchRunner:
    """`make_executor` makes a fresh executor; `width` batches are under way at a time; `work` does one.

    `deaths` are the exceptions by which the executor reports that a worker is gone. With `keeps` a run leaves the
    executor to the next one, until `close`.
    """

    make_executor: Callable[[], Executor]
    width: int
    deaths: tuple[type[BaseException], ...] = (BrokenExecutor,)
    work: Callable[[Batch], list[Result]] = run_batch
    keeps: bool = False
    _executor: Executor | None = attrs.field(default=None, init=False)
    _waiting: deque[BatchQueue] = attrs.field(factory=deque, init=False)
    _suspects: deque[Chunk] = attrs.field(factory=deque, init=False)
    _running: dict[Future[Timed], Chunk] = attrs.field(factory=dict, init=False)

    def run(self, batches: Iterable[Batch]) -> Iterator[list[Result]]:
        """The results, a chunk at a time, in the order in which they are done; a batch is all points of one scenario.

        Raises OSError if the executor goes.
        """
        self._waiting.extend(BatchQueue(batch, deque(batch.points)) for batch in batches if batch.points)
        try:
            while self._submit():
                done, _ = wait(self._running, return_when=FIRST_COMPLETED)
                for future in done:
                    if future in self._running:
                        yield from self._settle(future)
        finally:
            if self._running or not self.keeps:
                self.close()

    def close(self) -> None:
        """End the executor, at once."""
        if self._executor is not None:
            for future in self._running:
                future.cancel()
            end_executor(self._executor, busy=bool(self._running))
        self._executor = None

    def finished(self) -> list[Result]:
        """After an interrupt: results that were done and not handed over yet."""
        over = [future for future in self._running if future.done() and not future.cancelled()]
        return [result for future in over if not future.exception() for result in future.result()[1]]

    def _submit(self) -> bool:
        """Keep the executor busy: suspects one at a time, when nothing else is under way."""
        if self._executor is None:
            self._executor = self.make_executor()
        try:
            while self._waiting and not self._suspects and len(self._running) < self.width:
                self._start(self._next())
            if self._suspects and not self._running:
                self._start(self._suspects[0])
                self._suspects.popleft()
        except BrokenExecutor:
            if not self._running:
                self.close()
                return self._submit()
        return bool(self._running)

    def _next(self) -> Chunk:
        queue = self._waiting[0]
        chunk = Chunk(queue.take(self.width), queue)
        if not queue.waiting:
            self._waiting.popleft()
        return chunk

    def _start(self, chunk: Chunk) -> None:
        """Raises BrokenExecutor where a worker has died; then the points wait as before."""
        assert self._executor is not None
        try:
            self._running[self._executor.submit(timed, self.work, chunk.batch)] = chunk
        except BrokenExecutor:
            if not chunk.suspect:
                self._wait_again(chunk, chunk.batch.points)
            raise

    def _wait_again(self, chunk: Chunk, points: Sequence[Any]) -> None:
        """Put the points in front again."""
        if points and not chunk.queue.waiting:
            self._waiting.appendleft(chunk.queue)
        chunk.queue.waiting.extendleft(reversed(points))

    def _done(self, chunk: Chunk, future: Future[Timed]) -> list[Result]:
        """The results of a chunk; those of its points that the worker had no time for wait again."""
        seconds, results = future.result()
        chunk.queue.learn(seconds, len(results))
        self._wait_again(chunk, chunk.batch.points[len(results) :])
        return results

    def _settle(self, future: Future[Timed]) -> Iterator[list[Result]]:
        chunk = self._running.pop(future)
        if future.cancelled():  # nobody here did so
            raise ConnectionError(
                "the executor has gone; what is done is kept, and the same command resumes from there"
            )
        error = future.exception()
        if error is None:
            yield self._done(chunk, future)
        elif not isinstance(error, self.deaths):
            yield _all_failed(chunk.batch, f"{type(error).__name__}: {error}", bug=True)
        elif chunk.suspect:
            yield _all_failed(chunk.batch, f"its worker died twice: {error or type(error).__name__}")
            self.close()
        else:
            self._suspect(chunk)
            if getattr(self._executor, "_broken", False):
                for other, lost in list(self._running.items()):
                    wait([other])
                    if other.exception() is None:
                        yield self._done(lost, other)
                    else:
                        self._suspect(lost)
                self._running.clear()
                self.close()

    def _suspect(self, chunk: Chunk) -> None:
        points = chunk.batch.points
        self._suspects.extend(Chunk(attrs.evolve(chunk.batch, points=(p,)), chunk.queue, suspect=True) for p in points)


def _all_failed(batch: Batch, text: str, *, bug: bool = False) -> list[Result]:
    return [(key, failed(text, passing=True, bug=bug)) for key, _ in batch.points]
