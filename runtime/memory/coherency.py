"""Coherency: whose turn it is to touch a buffer, and the checker that names a missing call.

A cached buffer is handed to the device at submission and handed back when its job is final. Before the hand-over the
CPU must have cleaned every line that it wrote, of inputs and of outputs: a dirty line of an output would fall over
the device's bytes later. After the hand-back the CPU must invalidate before it looks, because it may hold old lines.
In between it may only read what the device only reads.

The middle part holds for every buffer, cached or not (`in_flight` has the rule), and `CpuGuard` watches it.

The checker keeps its own facts, apart from the cache's flags: what the CPU wrote since its last clean, what a device
wrote since the last invalidate, what is in flight. So its verdict does not depend on which lines happened to be
evicted or held: a race that passes by luck is named all the same. Without the checker nothing is refused, and stale
bytes are really there.
"""

from collections.abc import Callable
from enum import Enum

import attrs
import numpy as np

from tessbed.runtime.address_ranges import Span
from tessbed.runtime.call_site import caller
from tessbed.runtime.memory.cpu_cache import LINE_BYTES, Cache, cache_lines
from tessbed.runtime.memory.in_flight import JobsInFlight, at_stake, cpu_footprint


class Policy(Enum):
    """How the CPU reaches a buffer: past its cache; through it, bracketed by begin and end; through it, by hand."""

    UNCACHED = "uncached"
    CACHED = "cached"
    CACHED_MANUAL = "cached_manual"


class Access(Enum):
    """What the CPU is about to do between begin and end."""

    READ = "read"
    WRITE = "write"
    READ_WRITE = "read_write"


FINDING_KINDS = {
    "missing_flush": "the device may see old bytes: flush (end CPU access) before submission",
    "missing_output_flush": "a dirty line will overwrite the device's output: flush (end CPU access) before submission",
    "missing_invalidate": "the CPU may hold old lines: invalidate (begin CPU access) after the job and before reading",
    "wrong_invalidate": "invalidate cleans first, so dirty lines overwrite the device's output; flush before the job",
    "wrong_flush": "cleaning now overwrites the device's output with dirty CPU lines; flush before the job",
    "access_in_flight": "a job is using these bytes: wait for it first",
    "missing_begin": "CPU access without a begin for that kind of access (read or write)",
    "missing_end": "CPU access is still open: end it first",
    "cache_bypassed": "`.host` is DRAM, past the CPU's cache: use `.cpu`, or allocate uncached",
}


@attrs.frozen
class CoherencyFinding:
    """One broken rule: a key of FINDINGS, the buffer, the bytes at stake [start, end) inside it, and where.

    `job` names the job in flight where there is one.
    """

    kind: str
    buffer: str
    start: int
    end: int
    at: str
    job: str = ""

    def __str__(self) -> str:
        stake = f"{self.end - self.start} bytes at stake, {self.start} to {self.end}"
        who = f" ({self.job})" if self.job else ""
        return f"{self.kind}: buffer {self.buffer!r}, {stake} (at {self.at}): {FINDING_KINDS[self.kind]}{who}"


class CoherencyError(RuntimeError):
    """A finding of the checker, raised before the wrong access has any effect."""

    def __init__(self, finding: CoherencyFinding) -> None:
        super().__init__(str(finding))
        self.finding = finding


def raise_finding(finding: CoherencyFinding) -> None:
    """The strict checker: every finding is an error."""
    raise CoherencyError(finding)


@attrs.frozen(eq=False)
class CpuGuard:
    """Watches the CPU's accesses to one allocation for jobs in flight. `report` is as in `Coherency`."""

    name: str
    in_flight: JobsInFlight
    report: Callable[[CoherencyFinding], None] | None
    cached: bool = False

    def check(self, start: int, end: int, *, written: bool) -> None:
        """Report `access_in_flight` where the CPU may not read or write [start, end) now."""
        if self.report is None or not self.in_flight.jobs:
            return
        span = Span(start, end)
        found = list(self.in_flight.conflicts(cpu_footprint(span, written=written, cached=self.cached)))
        if found:
            stake = at_stake((clash for _, clash in found), span, cached=self.cached)
            self.report(
                CoherencyFinding("access_in_flight", self.name, stake.start, stake.end, caller(), str(found[0][0]))
            )


@attrs.define(eq=False)
class Coherency:
    """The coherency state of one cached allocation. Spans are byte offsets [start, end) inside it.

    `report` receives findings: `refuse` raises, a list's `append` collects, None switches the checker off.
    """

    name: str
    policy: Policy
    cache: Cache
    report: Callable[[CoherencyFinding], None] | None
    in_flight: JobsInFlight = attrs.field(factory=JobsInFlight)
    guard: CpuGuard = attrs.field(init=False)
    _cpu_wrote: np.ndarray = attrs.field(init=False)
    _device_wrote: np.ndarray = attrs.field(init=False)
    _open: Access | None = attrs.field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        count = self.cache.valid.size
        self._cpu_wrote, self._device_wrote = np.zeros(count, bool), np.zeros(count, bool)
        self.guard = CpuGuard(self.name, self.in_flight, self.report, cached=True)

    def read(self, start: int, end: int) -> np.ndarray:
        """What the CPU sees of [start, end), read-only, without a copy."""
        self._check_open(start, end, Access.READ)
        self.guard.check(start, end, written=False)
        self._find("missing_invalidate", self._device_wrote, start, end)
        return self.cache.read(start, end)

    def modify(self, start: int, end: int) -> np.ndarray:
        """The CPU's [start, end) to write in place."""
        self._check_open(start, end, Access.WRITE)
        self.guard.check(start, end, written=True)
        self._find("missing_invalidate", self._device_wrote, start, end)
        self._cpu_wrote[cache_lines(start, end)] = True
        return self.cache.modify(start, end)

    def flush(self, start: int, end: int) -> None:
        """Clean: DRAM gets what the CPU wrote."""
        self._find("wrong_flush", self._cpu_wrote & (self._device_wrote | self._rewritten()), start, end)
        self.cache.clean(start, end)
        self._cpu_wrote[cache_lines(start, end)] = False

    def invalidate(self, start: int, end: int) -> None:
        """Clean and invalidate: the next read comes from DRAM. Dirty lines go there first."""
        self._find("wrong_invalidate", self._cpu_wrote & (self._device_wrote | self._rewritten()), start, end)
        self.cache.clean_and_invalidate(start, end)
        self._cpu_wrote[cache_lines(start, end)] = False
        self._device_wrote[cache_lines(start, end)] = False

    def begin(self, access: Access) -> None:
        """Open CPU access to the whole buffer: invalidates what a device may have written.

        Raises CoherencyError where access is open already.
        """
        if self._open is not None:
            raise CoherencyError(CoherencyFinding("missing_end", self.name, 0, self.cache.storage.size, caller()))
        self.invalidate(0, self.cache.storage.size)
        self._open = access

    def end(self) -> None:
        """Close CPU access: cleans what was written. Raises CoherencyError where none is open."""
        if self._open is None:
            raise CoherencyError(CoherencyFinding("missing_begin", self.name, 0, self.cache.storage.size, caller()))
        self._open = None
        self.flush(0, self.cache.storage.size)

    def check_hand_over(self, span: Span, rewrites: Span | None) -> None:
        """Report what is wrong with submitting a job now that reads `span`, or writes it and rewrites `rewrites`."""
        if self._open is not None:
            self._report("missing_end", *span)
        if rewrites is None:
            self._find("missing_flush", self._cpu_wrote, *span)
        elif not self._find("missing_output_flush", self._cpu_wrote, *span):
            self._find("missing_output_flush", self._cpu_wrote, *rewrites)

    def device_wrote(self, span: Span) -> None:
        """A job that may have written `span` is final: the CPU must invalidate before it looks."""
        self._device_wrote[cache_lines(*span)] = True

    def check_bypass(self) -> None:
        """Report an access past the cache."""
        self._report("cache_bypassed", 0, self.cache.storage.size)

    def _check_open(self, start: int, end: int, wanted: Access) -> None:
        if self.policy is Policy.CACHED and self._open not in (wanted, Access.READ_WRITE):
            self._report("missing_begin", start, end)

    def _rewritten(self) -> np.ndarray:
        """The lines in which a job in flight rewrites something."""
        found = np.zeros_like(self._cpu_wrote)
        for span in self.in_flight.rewrites():
            found[cache_lines(*span)] = True
        return found

    def _find(self, kind: str, bad: np.ndarray, start: int, end: int) -> bool:
        """Report the bytes of [start, end) in lines that are `bad`, from the first to the last such byte."""
        span = cache_lines(start, end)
        if self.report is None or not bad[span].any():
            return False
        which = np.flatnonzero(bad[span]) + span.start
        low, high = int(which[0]) * LINE_BYTES, (int(which[-1]) + 1) * LINE_BYTES
        self._report(kind, max(start, low), min(end, high))
        return True

    def _report(self, kind: str, start: int, end: int) -> None:
        if self.report is not None:
            self.report(CoherencyFinding(kind, self.name, start, end, caller()))
