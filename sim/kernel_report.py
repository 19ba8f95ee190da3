"""Kernel report: what one job found out about a user's kernel, and the words for it.

A kernel can be wrong in two ways that its bytes do not show: it has hazards (findings), or it ended before its end
(errors): an exception, an endless loop, something yielded that no worker may yield, a fault of the device.
"""

from collections.abc import Iterator, Sequence

import attrs

from tessbed.sim.finding import Finding, HazardAccess, Where, worker_words
from tessbed.sim.source_line import SourceLine, snippet


@attrs.frozen
class KernelError:
    """How a worker of a user's kernel ended before its end.

    `kind` is "exception", "foreign_event", "endless_loop" or "fault". `tick` counts from the launch, -1 where there are
    no ticks. `trace` has the kernel's own lines, outermost first; the last of them is `line`. `access` has the bytes of
    the transfer that met a fault.
    """

    kind: str
    worker: int
    tick: int
    line: SourceLine | None
    text: str
    trace: tuple[SourceLine, ...] = ()
    access: HazardAccess | None = None


@attrs.frozen
class KernelReport:
    """The findings of a job, folded, and the errors of its workers, earliest first. `kernel` is the kernel's name."""

    kernel: str
    findings: tuple[Finding, ...]
    errors: tuple[KernelError, ...]

    @property
    def line(self) -> SourceLine | None:
        """The line that a completion record can hold: that of the first error, else of the first finding."""
        lines = [error.line for error in self.errors] or [side.line for f in self.findings for side in f.accesses[-1:]]
        return lines[0] if lines else None

    @property
    def worker(self) -> int:
        """The worker of that line."""
        workers = [error.worker for error in self.errors] or [s.worker for f in self.findings for s in f.accesses[-1:]]
        return workers[0] if workers else 0

    def by_kind(self) -> list[tuple[str, str]]:
        """(kind, words) of each error and finding."""
        errors = [(error.kind, "\n".join(error_lines([error], plain_bytes))) for error in self.errors]
        return errors + [(found.kind, "\n".join(finding_lines(found, plain_bytes))) for found in self.findings]

    def _alike(self) -> list[list[KernelError]]:
        """The errors, those of one kind at the same lines together."""
        groups: dict[object, list[KernelError]] = {}
        for error in self.errors:
            groups.setdefault((error.kind, error.trace, error.line), []).append(error)
        return list(groups.values())

    def lines(self, where: Where | None = None) -> list[str]:
        """Words for people, errors first; `where` names bytes, as `space [low, high)` where it is not given."""
        return [
            *(line for errors in self._alike() for line in error_lines(errors, where or plain_bytes)),
            *(line for finding in self.findings for line in finding_lines(finding, where or plain_bytes)),
        ]


def plain_bytes(space: str, low: int, high: int) -> str:
    """Bytes by their addresses."""
    return f"{space} {low:#x} to {high - 1:#x}" if high > low else space


def error_lines(errors: Sequence[KernelError], where: Where) -> Iterator[str]:
    """Errors of one kind at one line: the first, with its lines, and whose else it is."""
    error, *more = errors
    tick = f", tick {error.tick:,}" if error.tick >= 0 else ""
    others = f" (and {worker_words([other.worker for other in more])})" if more else ""
    yield f"{error.kind}: worker {error.worker}{tick}: {error.text}{others}"
    for line in error.trace or ((error.line,) if error.line else ()):
        yield f"  {line}: {snippet(line)}"
    if error.access:
        yield f"    {_access(error.access, where)}"


def finding_lines(finding: Finding, where: Where) -> Iterator[str]:
    """A finding: its kind and what is missing, then each access at its line, then what would order them."""
    hazard, times = finding.hazard, f" ({finding.times:,} times)" if finding.times > 1 else ""
    yield f"{finding.kind}{times}: {hazard.missing or hazard.text}"
    for access, workers in zip(finding.accesses, finding.workers, strict=True):
        yield f"  {access.line or 'no line'}: {_source(access)}"
        yield f"    {_access(access, where)}, {worker_words(workers)}"
    if hazard.remedy:
        yield f"  what helps: {hazard.remedy}"


def _source(access: HazardAccess) -> str:
    return snippet(access.line) if access.line else ""


def _access(access: HazardAccess, where: Where) -> str:
    what = access.what if access.seq is None else f"{access.what} {access.seq}"
    return f"{what} of {where(access.space, access.low, access.high)}" if access.high > access.low else what
