"""Races of writes: two of them in one granule that nothing orders; the intervals of pending writes, in numpy.

A write that covers part of a granule rewrites the whole of it, so two writes to one granule must be ordered. What
orders two drains: the segments of one chain, in sequence; a worker that waited for the first drain before it issued the
second; a core, which runs its workers one after the other, each to its end. That one happened to finish before the
other started orders nothing.

Every drain is turned into ranges of granules by arithmetic on its descriptors; ranges are sorted once, and ranges that
overlap are found as neighbours. Never a dictionary of granules.
"""

from collections.abc import Iterator, Sequence
from itertools import chain as flatten
from typing import NamedTuple

import attrs
import numpy as np
from numpy.typing import NDArray

from tessbed.sim.finding import Hazard, HazardAccess
from tessbed.sim.source_line import SourceLine
from tessbed.sim.transfer.descriptor import Descriptor

NEVER = 1 << 62
Numbers = NDArray[np.int64]


@attrs.define(eq=False)
class Write:
    """One drain: who issued it and when, and when its issuer knew that it was done; stamps count a worker's steps.

    `core` is the logical core, on which workers run in sequence; `line` is where a user's code asked for it.
    """

    job: int
    worker: int
    seq: int
    core: int
    chain: Sequence[Descriptor]
    issued: int
    known: int = NEVER
    line: SourceLine | None = None

    def __str__(self) -> str:
        return f"transfer {self.seq} of worker {self.worker}"


class Ranges(NamedTuple):
    """Granule numbers from `low` to `high`, both touched, and the index of the write that touches them."""

    low: Numbers
    high: Numbers
    owner: Numbers


@attrs.frozen
class Race:
    """Two writes of one granule without an order; `address` is where the granule starts."""

    address: int
    granule: int
    first: Write
    second: Write

    def __str__(self) -> str:
        low, high = _touching(self.first, self), _touching(self.second, self)
        return (
            f"granule {self.address:#x} ({self.granule} bytes) is written by {self.first} ({low}) and by "
            f"{self.second} ({high}): {self._missing()}"
        )

    def hazard(self) -> Hazard:
        """The race as a value."""
        accesses = tuple(_access(write, self.address, self.granule) for write in (self.first, self.second))
        remedy = f"let each granule of {self.granule} bytes be written by one worker: end its part at a multiple of it"
        if self.first.worker == self.second.worker:
            remedy = f"wait_drains() before {self.second.line or 'the second'}"
        missing = f"{self._missing()}; both write one granule of {self.granule} bytes"
        return Hazard("granule_race", self.first.job, str(self), accesses, missing, remedy)

    def _missing(self) -> str:
        """The order that is not there."""
        if self.first.worker != self.second.worker:
            return f"nothing orders workers {self.first.worker} and {self.second.worker}"
        return f"worker {self.second.worker} issued {self.second.seq} without having waited for {self.first.seq}"


def find_races(writes: Sequence[Write], granule: int, most: int) -> tuple[list[Race], int]:
    """The first `most` races among `writes`, lowest granule first, and how many pairs of writes race in all."""
    return races_in(merged(granules_of(writes, granule)), writes, granule, most) if len(writes) > 1 else ([], 0)


def races_in(ranges: Ranges, writes: Sequence[Write], granule: int, most: int) -> tuple[list[Race], int]:
    """As `find_races`, where the ranges of granules of the writes are known, each write's joined."""
    stamps = tuple(np.array([getattr(w, name) for w in writes], np.int64) for name in ("core", "issued", "known"))
    pairs: dict[tuple[int, int], int] = {}
    for first, second, number in overlaps(ranges):
        racing = np.flatnonzero(~ordered(first, second, *stamps))
        for a, b, where in zip(first[racing].tolist(), second[racing].tolist(), number[racing].tolist(), strict=True):
            pair = (a, b) if writes[a].issued <= writes[b].issued else (b, a)
            pairs[pair] = min(where, pairs.get(pair, where))
    found = sorted((where, *pair) for pair, where in pairs.items())
    return [Race(where * granule, granule, writes[a], writes[b]) for where, a, b in found[:most]], len(found)


def granules_of(writes: Sequence[Write], granule: int) -> Ranges:
    """Every range of granules that the writes touch: one a row, or one a descriptor where rows leave no granule out."""
    flat = np.fromiter(flatten.from_iterable(flatten.from_iterable(w.chain for w in writes)), np.int64).reshape(-1, 6)
    address, rows, row_bytes, pitch = flat[:, 0], flat[:, 2], flat[:, 3], flat[:, 4]
    solid = (rows == 1) | (pitch - row_bytes < granule)
    repeats = np.where(solid, 1, rows)
    size = np.where(solid, (rows - 1) * pitch + row_bytes, row_bytes)
    row = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    start = np.repeat(address, repeats) + row * np.repeat(pitch, repeats)
    owner = np.repeat(np.arange(len(writes)), [len(w.chain) for w in writes])
    high = (start + np.repeat(size, repeats) - 1) // granule
    return Ranges(start // granule, high, np.repeat(owner, repeats))


def merged(ranges: Ranges) -> Ranges:
    """Each write's ranges joined where they touch, so that one write's ranges are apart."""
    order = np.lexsort((ranges.low, ranges.owner))
    low, high, owner = (column[order] for column in ranges)
    stream = owner * (int(high.max()) - int(low.min()) + 3)  # keeps the writes apart on one number line
    reach = np.maximum.accumulate(high + stream)
    starts = np.flatnonzero(np.concatenate(([True], (low + stream)[1:] > reach[:-1] + 1)))
    return Ranges(low[starts], np.maximum.reduceat(high, starts), owner[starts])


def overlaps(ranges: Ranges) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
    """Pairs of writes that share a granule, and a granule that they share."""
    order = np.argsort(ranges.low, kind="stable")
    low, high, owner = (column[order] for column in ranges)
    for step in range(1, low.size):
        shared = np.flatnonzero(low[step:] <= high[:-step])
        if not shared.size:
            return
        yield owner[shared], owner[shared + step], low[shared + step]


def ordered(first: Numbers, second: Numbers, core: Numbers, issued: Numbers, known: Numbers) -> NDArray[np.bool_]:
    """Whether one of each pair was known to be done before the other was issued, on the same core."""
    one_way = (known[first] <= issued[second]) | (known[second] <= issued[first])
    return (core[first] == core[second]) & one_way


def _access(write: Write, address: int, size: int) -> HazardAccess:
    """A drain as one side of a race in the `size` bytes from `address`."""
    low, high = row_in(write, address, size) or (address, address + size)
    return HazardAccess(write.worker, write.seq, "drain", write.line, "memory", low, high)


def _touching(write: Write, race: Race) -> str:
    """The bytes of the write's first row in the granule."""
    row = row_in(write, race.address, race.granule)
    return f"bytes {row[0]:#x} to {row[1] - 1:#x}" if row else "bytes unknown"


def row_in(write: Write, address: int, size: int) -> tuple[int, int] | None:
    """The first row of a transfer that has a byte among the `size` from `address`; its first byte and end."""
    for d in write.chain:
        for row in _rows_near(d, address, size):
            start = d.address + row * d.pitch
            if start < address + size and address < start + d.row_bytes:
                return start, start + d.row_bytes
    return None


def _rows_near(d: Descriptor, address: int, granule: int) -> range:
    """The rows of a descriptor that can reach a granule."""
    if d.rows == 1:
        return range(1)
    first = max(0, (address - d.row_bytes - d.address) // d.pitch)
    return range(first, min(d.rows, (address + granule - d.address) // d.pitch + 1))
