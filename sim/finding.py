"""Findings: the hazards of one job as values, equal ones folded into one, with the workers they met.

A hazard has two sides as a rule: two accesses that nothing orders. Hazards of one kind whose accesses are at the same
lines are one finding: its accesses are those of the first, `workers` are all workers of each side, `times` counts them.
"""

from collections.abc import Callable, Sequence

import attrs

from tessbed.sim.source_line import SourceLine

Where = Callable[[str, int, int], str]
"""Words for bytes, by space ("memory" or "scratch"), first byte and end."""


@attrs.frozen
class HazardAccess:
    """One side of a hazard: a "gather", "drain", "computation" or other "call" of a worker, and its bytes [low, high).

    `seq` counts the worker's transfers from 0; None for what is none. `space` is "memory" or "scratch".
    """

    worker: int
    seq: int | None
    what: str
    line: SourceLine | None
    space: str
    low: int
    high: int


@attrs.frozen
class Hazard:
    """One hazard: a key of HAZARD_KINDS, the number of the job on its device, and words with the transfers in them.

    `accesses` are its sides, the later one last; `missing` is the order that is not there, `remedy` what would make it.
    """

    kind: str
    job: int
    text: str
    accesses: tuple[HazardAccess, ...] = ()
    missing: str = ""
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: job {self.job}: {self.text}"


@attrs.frozen
class Finding:
    """Hazards of one kind at the same lines; `workers` has those of each access, `times` is how many there were."""

    hazard: Hazard
    workers: tuple[tuple[int, ...], ...]
    times: int

    @property
    def kind(self) -> str:
        """A key of HAZARD_KINDS."""
        return self.hazard.kind

    @property
    def accesses(self) -> tuple[HazardAccess, ...]:
        """The accesses of the first hazard."""
        return self.hazard.accesses


@attrs.define
class Folds:
    """The findings of a job so far; what they take does not grow with the hazards of one line."""

    _first: dict[tuple[object, ...], Hazard] = attrs.field(factory=dict, init=False)
    _workers: dict[tuple[object, ...], list[dict[int, None]]] = attrs.field(factory=dict, init=False)
    _times: dict[tuple[object, ...], int] = attrs.field(factory=dict, init=False)

    def add(self, hazard: Hazard) -> None:
        """One more."""
        one_worker = len({access.worker for access in hazard.accesses}) == 1
        sides = [(access.what, access.line) for access in hazard.accesses]
        key = (hazard.kind, one_worker, *sides) if any(line for _, line in sides) else (hazard.kind, hazard.text)
        if key not in self._first:
            self._first[key] = hazard
            self._workers[key] = [{} for _ in hazard.accesses]
        for workers, access in zip(self._workers[key], hazard.accesses, strict=True):
            workers[access.worker] = None
        self._times[key] = self._times.get(key, 0) + 1

    def findings(self) -> tuple[Finding, ...]:
        """Each finding, in the order in which it was first met."""
        return tuple(
            Finding(hazard, tuple(tuple(sorted(side)) for side in self._workers[key]), self._times[key])
            for key, hazard in self._first.items()
        )


def worker_words(workers: Sequence[int]) -> str:
    """Workers as ranges: "worker 3", "workers 0 to 3 and 7"."""
    ranges: list[list[int]] = []
    for worker in sorted(workers):
        if ranges and worker == ranges[-1][1] + 1:
            ranges[-1][1] = worker
        else:
            ranges.append([worker, worker])
    words = [word for low, high in ranges for word in _words(low, high)]
    text = f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)
    return f"worker{'s' * (len(workers) > 1)} {text}"


def _words(low: int, high: int) -> list[str]:
    return [f"{low} to {high}"] if high > low + 1 else [str(worker) for worker in range(low, high + 1)]
