"""Tracer: who hears of everything that a device does, at the tick at which it is certain; timelines are made of it.

A device without a tracer calls nothing. One with a tracer takes the same ticks and moves the same bytes: a tracer looks
and never acts. All ticks are absolute, on the clock that all devices share. A worker may be ahead of the clock, so what
it spends may lie in the future; what it waited for, and every transfer that landed, lies in the past.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class Tracer(Protocol):
    """One device's. `worker` is the number in the grid; spans of ticks are [begin, end)."""

    def queued(self, cookie: int, tick: int) -> None:
        """The doorbell rang for the job of this cookie."""
        ...

    def dispatched(self, cookie: int, tick: int) -> None:
        """The job leaves the queue of the device: its dispatch begins."""
        ...

    def spent_by_job(self, part: str, begin: int, end: int) -> None:
        """The running job spends ticks outside of its launch."""
        ...

    def launched(self, packet: bytes, dma: Any, tick: int) -> None:
        """The running job launches its grid, whose transfers are those of `dma`."""
        ...

    def launch_ended(self, tick: int) -> None:
        """Every worker has ended."""
        ...

    def ended(self, cookie: int, status: int, tick: int) -> None:
        """The job has ended on the device, with the status of its record."""
        ...

    def recorded(self, cookie: int, tick: int) -> None:
        """The completion record is in memory."""
        ...

    def known(self, cookie: int, tick: int) -> None:
        """The host learns of the end, by the interrupt or by looking at the record."""
        ...

    def struck(self, cookie: int, kind: str, words: str, tick: int) -> None:
        """A planned fault takes effect."""
        ...

    def found(self, cookie: int, kind: str, text: str, tick: int) -> None:
        """The job has ended, and this is wrong with the user's kernel that it ran: a hazard or an error, in words."""
        ...

    def stopped(self, tick: int) -> None:
        """A reset takes effect: nothing of what was under way goes on."""
        ...

    def core_paused(self, core: int, reason: str, begin: int, end: int) -> None:
        """A core waits to start its next worker: "stagger" or "relaunch"."""
        ...

    def worker_started(self, worker: int, core: int, tick: int) -> None:
        """A worker begins."""
        ...

    def worker_ended(self, worker: int, tick: int) -> None:
        """A worker has ended."""
        ...

    def spent(self, worker: int, reason: str, begin: int, end: int) -> None:
        """A worker issues or computes."""
        ...

    def waited(self, worker: int, reason: str, seqs: Sequence[int], begin: int, end: int) -> None:
        """A worker has waited for these transfers of its own; `end` is now."""
        ...

    def waits(self, worker: int, reason: str, seqs: Sequence[int], begin: int, end: int) -> None:
        """As `waited`, of a wait that has no end: at `end` it was stopped."""
        ...

    def gathered(self, worker: int, first: int, descriptors: Sequence[Any], tick: int) -> None:
        """A wait group of reads is requested, numbered from `first`."""
        ...

    def drained(self, worker: int, seq: int, slot: int, chain: Sequence[Any], tick: int) -> None:
        """The drain of a slot is requested."""
        ...

    def noted(self, worker: int, words: Mapping[str, int | str]) -> None:
        """What a worker does from here on, in its own words: a kernel's source line, for one."""
        ...

    def landed(self, transfer: Any, tick: int) -> None:
        """A transfer is done: an InFlightTransfer with all its timestamps."""
        ...
