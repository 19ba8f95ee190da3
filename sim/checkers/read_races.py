"""Read races: a gather and a drain of one job in one byte that nothing orders; unions of byte intervals, in numpy.

Which of the two comes first decides what the gather gets. A core orders its workers, and a worker's wait orders what it
has waited for with all that it asks for later; nothing orders workers of two cores. Bytes count here, not granules: the
bytes beside a drain in its granule are written back as they were.

A job that gathers and drains apart costs one comparison of two sorted lists of ranges. What a drain may touch is then
looked at pair by pair.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tessbed.sim.checkers.granule_races import Ranges, Write, granules_of, merged, ordered, overlaps, row_in
from tessbed.sim.finding import Hazard, HazardAccess


def find_read_races(reads: Sequence[Write], writes: Sequence[Write]) -> list[tuple[Write, Write, int]]:
    """Each gather and drain that race, and the lowest byte that they share; in the order in which they were issued."""
    if not reads or not writes:
        return []
    of_reads, of_writes = merged(granules_of(reads, 1)), merged(granules_of(writes, 1))
    near, far = _meeting(of_reads, of_writes), _meeting(of_writes, of_reads)
    if not near.any():
        return []
    both = [*reads, *writes]
    low, high = (np.concatenate((a[near], b[far])) for a, b in zip(of_reads[:2], of_writes[:2], strict=True))
    owner = np.concatenate((of_reads.owner[near], of_writes.owner[far] + len(reads)))
    chosen = Ranges(low, high, owner)
    return _racing(both, len(reads), chosen)


def read_hazard(read: Write, write: Write, address: int) -> Hazard:
    """A race of a gather with a drain as a value, the access that was issued later last."""
    sides = {"gather": read, "drain": write}
    order = sorted(sides, key=lambda what: sides[what].issued)
    accesses = tuple(_access(sides[what], what, address) for what in order)
    if read.worker == write.worker:
        missing = f"worker {read.worker} issued {sides[order[1]].seq} without having waited for {sides[order[0]].seq}"
        remedy = f"wait_drains() before {sides[order[1]].line or 'the second'}"
    else:
        missing = f"nothing orders workers {read.worker} and {write.worker}"
        remedy = "gather what this job does not write, and let a second job gather the rest after it has ended"
    text = f"byte {address:#x} is gathered by {read} and drained by {write}: {missing}"
    return Hazard("read_race", read.job, text, accesses, missing, remedy)


def _access(side: Write, what: str, address: int) -> HazardAccess:
    low, high = row_in(side, address, 1) or (address, address + 1)
    return HazardAccess(side.worker, side.seq, what, side.line, "memory", low, high)


def _racing(both: Sequence[Write], reads: int, ranges: Ranges) -> list[tuple[Write, Write, int]]:
    """The pairs of a read and a write, numbered behind the reads, that nothing orders."""
    stamps = [np.array([getattr(one, name) for one in both], np.int64) for name in ("core", "issued", "known")]
    pairs: dict[tuple[int, int], int] = {}
    for first, second, byte in overlaps(ranges):
        unlike = (first < reads) != (second < reads)
        racing = np.flatnonzero(unlike & ~ordered(first, second, *stamps))
        for a, b, where in zip(first[racing].tolist(), second[racing].tolist(), byte[racing].tolist(), strict=True):
            pair = (min(a, b), max(a, b))
            pairs[pair] = min(where, pairs.get(pair, where))
    return [(both[a], both[b], where) for (a, b), where in sorted(pairs.items())]


def _meeting(some: Ranges, others: Ranges) -> NDArray[np.bool_]:
    """Which of some ranges have a byte in common with any of the others; one truth value each."""
    union = merged(Ranges(others.low, others.high, np.zeros_like(others.low)))
    at = np.searchsorted(union.high, some.low)
    inside = at < union.low.size
    found = np.zeros(some.low.size, np.bool_)
    found[inside] = union.low[at[inside]] <= some.high[inside]
    return found
