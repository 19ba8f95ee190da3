"""Farm: batches through any `concurrent.futures.Executor`; a worker that dies costs its point one retry.

A pool of processes is broken as a whole when one of them dies, and does not say whose fault it was. So all points that
were under way become suspects: each is tried once more, alone, in a new pool. One that breaks that as well is recorded
as failed, and the sweep goes on. An exception of the work is no death: it would come again, and is recorded at once.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait

import attrs

from tessbed.scenarios.study.sweep.point import Batch, Result, failed, run_batch


@attrs.define(eq=False)
class Farm:
    """`hire` makes a fresh executor; `width` batches are under way at a time; `work` does one.

    `deaths` are the exceptions by which the executor tells that a worker is gone.
    """

    hire: Callable[[], Executor]
    width: int
    deaths: tuple[type[BaseException], ...] = (BrokenExecutor,)
    work: Callable[[Batch], list[Result]] = run_batch
    _executor: Executor | None = attrs.field(default=None, init=False)
    _waiting: deque[Batch] = attrs.field(factory=deque, init=False)
    _suspects: deque[Batch] = attrs.field(factory=deque, init=False)
    _running: dict[Future[list[Result]], tuple[Batch, bool]] = attrs.field(factory=dict, init=False)

    def run(self, batches: Iterable[Batch]) -> Iterator[list[Result]]:
        """The results, a batch at a time, in the order in which they are done. Raises OSError if the executor goes."""
        self._waiting.extend(batches)
        try:
            while self._submit():
                done, _ = wait(self._running, return_when=FIRST_COMPLETED)
                for future in done:
                    if future in self._running:
                        yield from self._settle(future)
        finally:
            self._dismiss()

    def _submit(self) -> bool:
        """Keep the executor busy: suspects one at a time, when nothing else is under way."""
        if self._executor is None:
            self._executor = self.hire()
        try:
            while self._waiting and not self._suspects and len(self._running) < self.width:
                self._start(self._waiting, suspect=False)
            if self._suspects and not self._running:
                self._start(self._suspects, suspect=True)
        except BrokenExecutor:
            if not self._running:
                self._dismiss()
                return self._submit()
        return bool(self._running)

    def _start(self, queue: deque[Batch], *, suspect: bool) -> None:
        assert self._executor is not None
        future = self._executor.submit(self.work, queue[0])
        self._running[future] = (queue.popleft(), suspect)

    def _settle(self, future: Future[list[Result]]) -> Iterator[list[Result]]:
        batch, suspect = self._running.pop(future)
        if future.cancelled():  # nobody here did so
            raise ConnectionError(
                "the executor has gone; what is done is kept, and the same command goes on from there"
            )
        error = future.exception()
        if error is None:
            yield future.result()
        elif not isinstance(error, self.deaths):
            yield _all_failed(batch, f"{type(error).__name__}: {error}")
        elif suspect:
            yield _all_failed(batch, f"its worker died twice: {error or type(error).__name__}")
            self._dismiss()
        else:
            self._suspect(batch)
            if getattr(self._executor, "_broken", False):
                for other, (lost, _) in list(self._running.items()):
                    wait([other])
                    if other.exception() is None:
                        yield other.result()
                    else:
                        self._suspect(lost)
                self._running.clear()
                self._dismiss()

    def _suspect(self, batch: Batch) -> None:
        self._suspects.extend(attrs.evolve(batch, points=(point,)) for point in batch.points)

    def _dismiss(self) -> None:
        if self._executor is not None:
            for future in self._running:
                future.cancel()
            self._executor.shutdown(wait=False)
        self._executor = None


def _all_failed(batch: Batch, text: str) -> list[Result]:
    return [(key, failed(text, passing=True)) for key, _ in batch.points]
