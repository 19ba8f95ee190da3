"""In flight: which bytes of a storage unfinished jobs access, and the one rule for concurrent accesses.

Every storage has one register, shared by all runtimes that map it, cached or not. A job is in it from its submission
until it is final; at no tick between the two does anybody know how far the device is. The rule is
`address_ranges.conflicts`: nobody reads what a job writes, nobody writes what a job reads, and nobody writes into a
unit that a job rewrites. A job of a device, a node of a graph on either backend, and an access of the CPU all ask it
here.

What differs is the unit. A device without byte strobes rewrites whole write granules. A CPU moves whole lines where
the buffer is cached and single bytes where it is not.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import attrs

from tessbed.runtime.address_ranges import Clash, JobFootprint, Span, conflicts
from tessbed.runtime.memory.cpu_cache import LINE_BYTES


@attrs.define(eq=False, repr=False)
class JobsInFlight:
    """The jobs that touch one storage, each with its footprints in byte offsets."""

    jobs: dict[Any, list[JobFootprint]] = attrs.field(factory=dict, init=False)

    def enter(self, job: Any, footprint: JobFootprint) -> None:
        """The job touches these bytes from now on, until it is final."""
        if job not in self.jobs:
            self.jobs[job] = []
            job.on_final(self._leave)
        self.jobs[job].append(footprint)

    def conflicts(self, mine: JobFootprint) -> Iterator[tuple[Any, Clash]]:
        """Every job that `mine` may not run beside, once for each pair of spans in conflict."""
        return (
            (job, clash)
            for job, footprints in self.jobs.items()
            for theirs in footprints
            for clash in conflicts(mine, theirs)
        )

    def rewrites(self) -> Iterator[Span]:
        """What the jobs rewrite."""
        return (span for footprints in self.jobs.values() for theirs in footprints for span in theirs.rewrites)

    def _leave(self, job: Any) -> None:
        del self.jobs[job]


def device_footprint(span: Span, *, written: bool, cached: bool, granule_bytes: int) -> JobFootprint:
    """What a device touches that reads or writes `span`. On a cached buffer an output keeps whole lines to itself."""
    if not written:
        return JobFootprint((span,))
    unit = max(granule_bytes, LINE_BYTES) if cached else granule_bytes
    return JobFootprint((), (span,), (span.widened(unit),))


def cpu_footprint(span: Span, *, written: bool, cached: bool) -> JobFootprint:
    """What the CPU touches that reads or writes `span`: whole lines through its cache, else the bytes themselves."""
    touched = (span.widened(LINE_BYTES if cached else 1),)
    return JobFootprint((), touched, touched) if written else JobFootprint(touched)


def at_stake(clashes: Iterable[Clash], span: Span, *, cached: bool) -> Span:
    """From the first to the last byte of `span` in conflict, where the CPU touches what `cpu_footprint` says."""
    theirs = [clash.theirs.widened(LINE_BYTES if cached else 1) for clash in clashes]
    start, end = min(other.start for other in theirs), max(other.end for other in theirs)
    return Span(max(span.start, start), min(span.end, end))
