"""Bodies as users write them, most of them with one bug; each line that a report must name ends in a comment."""

from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any

import attrs

from tessbed.sim.completion_record import Completion
from tessbed.sim.user_code.user_code import UserCode
from tests.sim.rig import OUT, read, write

Steps = Generator[Any, Any, None]
SHARED = {"number": 0}


@attrs.frozen
class UserFirmware:
    """Launches a user's body on the grid and reports success."""

    body: Callable[[Any], Any]
    code: UserCode = attrs.Factory(lambda: UserCode("mine", loop_seconds=0.5))

    def entry(self, job: Any) -> Generator[Any, Any, Completion]:
        """Launch and finish."""
        yield from job.launch(self.body, user=self.code)
        return Completion(0)


def line_of_mark(mark: str) -> int:
    """The line of this file that ends in a comment."""
    with open(__file__, encoding="utf-8") as file:
        (number,) = (number for number, line in enumerate(file, 1) if line.rstrip().endswith(f"# {mark}"))
    return number


def safe(w: Any) -> Steps:
    """Copies four bands with every wait that it needs."""
    for band in range(4):
        at, slot = 1024 * w.worker + 256 * band, band % 2
        low = 256 + 256 * slot
        yield from w.gather([read(at, 0, 256)])
        yield from w.wait_slot(slot)
        yield from w.compute(9, move(w, 0, low, 256), reads=[(0, 256)], writes=[(low, low + 256)])
        yield from w.drain(slot, [write(OUT + at, low, 256)])
    yield from w.wait_drains()


def safe_plain(w: Any) -> Steps:
    """The same on a worker that nobody guards."""
    for band in range(4):
        at, slot = 1024 * w.worker + 256 * band, band % 2
        yield from w.gather([read(at, 0, 256)])
        yield from w.wait_slot(slot)
        yield from w.compute(9, move(w, 0, 256 + 256 * slot, 256))
        yield from w.drain(slot, [write(OUT + at, 256 + 256 * slot, 256)])
    yield from w.wait_drains()


def move(w: Any, source: int, target: int, size: int) -> Callable[[], None]:
    """A computation that copies bytes of the scratch."""
    scratch = w.scratch

    def action() -> None:
        scratch[target : target + size] = scratch[source : source + size]

    return action


def no_wait_for_gather(w: Any) -> Steps:
    """Computes on what a prefetch brings."""
    yield from w.prefetch([read(0, 0, 256)])  # prefetched
    yield from w.compute(9, move(w, 0, 256, 256), reads=[(0, 256)], writes=[(256, 512)])  # used early
    yield from w.drain(0, [write(OUT, 256, 256)])
    yield from w.wait_drains()


def no_wait_for_slot(w: Any) -> Steps:
    """Computes into the slot that drains."""
    for band in range(2):
        yield from w.compute(9, move(w, 0, 256, 256), reads=[], writes=[(256, 512)])  # packed again
        yield from w.drain(band, [write(OUT + 256 * band, 256, 256)])  # drains the slot
    yield from w.wait_drains()


def no_wait_at_end(w: Any) -> Steps:
    """Ends while its drain is under way."""
    yield from w.drain(0, [write(OUT + 256 * w.worker, 0, 256)])  # never waited for


def one_granule(w: Any) -> Steps:
    """Every worker drains 40 bytes beside the next one's."""
    yield from w.drain(0, [write(OUT + 40 * w.worker, 0, 40)])  # 40 bytes
    yield from w.wait_drains()


def packed_twice(w: Any) -> Steps:
    """Computes over a result before it is drained."""
    yield from w.compute(9, move(w, 0, 256, 256), reads=[(0, 256)], writes=[(256, 512)])  # first result
    yield from w.compute(9, move(w, 64, 256, 192), reads=[(64, 256)], writes=[(256, 512)])  # second result
    yield from w.drain(0, [write(OUT, 256, 256)])
    yield from w.wait_drains()


def read_race(w: Any) -> Steps:
    """Gathers what its neighbour drains."""
    yield from w.gather([read(OUT + 256 * ((w.worker + 1) % w.workers), 0, 256)])  # the neighbour's
    yield from w.drain(0, [write(OUT + 256 * w.worker, 0, 256)])  # its own
    yield from w.wait_drains()


def read_after_own_write(w: Any) -> Steps:
    """Gathers what it has just drained."""
    yield from w.drain(0, [write(OUT, 0, 256)])  # drained
    yield from w.gather([read(OUT, 512, 256)])  # gathered at once
    yield from w.wait_drains()


def scratch_overrun(w: Any) -> Steps:
    """Gathers behind the end of the scratch."""
    with suppress(Exception):
        yield from w.gather([read(0, w.scratch.size - 10, 256)])  # overrun
    yield from w.wait_drains()


def group_of_nine(w: Any) -> Steps:
    """A wait group that the hardware does not have."""
    yield from w.gather([read(64 * n, 64 * n, 64) for n in range(17)])  # seventeen


def oversized_five(w: Any) -> Steps:
    """Five rows of an oversized pitch in one wait group."""
    yield from w.gather([read(64 * n, 64 * n, 64) for n in range(5)], oversized=True)  # five rows


def late_bound(w: Any) -> Steps:
    """The number that a computation takes is another worker's by then."""
    number = 0

    def action() -> None:
        w.scratch[256:512] = number

    step = w.compute(9, action, reads=[], writes=[(256, 512)])  # number
    number = 7
    yield from step
    yield from w.drain(0, [write(OUT, 256, 256)])
    yield from w.wait_drains()


def forgotten(w: Any) -> Steps:
    """Calls a wait and does not wait."""
    yield from w.drain(0, [write(OUT, 0, 256)])
    w.wait_slot(0)  # no yield from
    yield from w.drain(0, [write(OUT + 256, 0, 256)])
    yield from w.wait_drains()


def forgotten_at_end(w: Any) -> Steps:
    """Calls the last wait and does not wait."""
    yield from w.drain(0, [write(OUT, 0, 256)])
    w.wait_drains()  # no yield from at the end


def no_yield_at_all(w: Any) -> None:
    """A body that is no generator."""
    w.gather([read(0, 0, 64)])  # no generator


def without_from(w: Any) -> Steps:
    """Yields a step instead of what it yields."""
    yield w.gather([read(0, 0, 64)])  # no from
    yield from w.wait_drains()


def foreign(w: Any) -> Steps:
    """Yields something of its own."""
    yield from w.gather([read(0, 0, 64)])
    yield 42  # foreign


def raises(w: Any) -> Steps:
    """Divides by zero on the second worker."""
    yield from w.gather([read(0, 0, 64)])
    _divide(1, w.worker - 1)  # calls
    yield from w.wait_drains()


def _divide(a: int, b: int) -> float:
    return a / b  # divides


def raises_in_computation(w: Any) -> Steps:
    """A computation that raises, and a body that keeps everything to itself."""

    def action() -> None:
        raise ValueError("not this value")  # computation raises

    with suppress(Exception):
        yield from w.compute(9, action)
        yield from w.drain(0, [write(OUT, 0, 64)])
    yield from w.wait_drains()


def loops_for_ever(w: Any) -> Steps:
    """A loop that never comes back, and lets nothing out."""
    yield from w.gather([read(0, 0, 64)])
    while True:
        with suppress(Exception):
            w.count("turns")  # round and round


def waits_forever(w: Any) -> Steps:
    """A loop that comes back each time, and never ends."""
    while True:
        yield from w.compute(1, lambda: None)  # forever


def loops_in_computation(w: Any) -> Steps:
    """A computation that never ends."""

    def loops() -> None:
        while True:
            pass  # inside

    yield from w.compute(1, loops)


def unmapped(w: Any) -> Steps:
    """Drains to nowhere, waits later, and keeps the error to itself."""
    yield from w.drain(0, [write(1 << 24, 0, 64)])  # nowhere
    with suppress(Exception):
        yield from w.wait_slot(0)
    yield from w.wait_drains()
