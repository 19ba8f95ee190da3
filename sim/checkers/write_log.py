"""Write log: the drains of a job for the search for races, in a few bytes for each.

## What is kept of a drain

A drain is a `Write` until it is known to be done, and some time longer. When enough of them have come, those that are
known are *folded*: of each core remain the granules that it has written, as a union of ranges, and a chunk of packed
bytes, from which the Writes can be made again. Drains that follow each other leave one range and next to no bytes:
packed are the differences of neighbours, of one worker after the other, which repeat.

## Why that is enough

Two drains race if they touch one granule and nothing orders them. Take two drains of a job:

- On two cores nothing ever orders them, so they race if the unions of their cores have a granule in common. That is
  looked at once, at the end.
- On one core, folded together, or one of them folded while the other was there: the search of that fold looks at both.
- On one core, one folded before the other was issued: it was known then, which is what orders them.

So where no fold has found a race and the cores are apart, there is none. Else, and only then, every Write is made again
and all are searched at once, for the same findings as if nothing had been folded.

A job that is to be looked at after its end, or that runs a user's kernel, whose findings have lines, folds nothing.
"""

import zlib
from collections.abc import Sequence
from itertools import chain as flatten
from itertools import islice
from operator import attrgetter

import attrs
import numpy as np

from tessbed.sim.checkers.granule_races import (
    NEVER,
    Numbers,
    Race,
    Ranges,
    Write,
    find_races,
    granules_of,
    merged,
    overlaps,
    races_in,
)
from tessbed.sim.transfer.descriptor import Descriptor

FOLDED_AT_ONCE = 1024
"""When so many drains have come since the last fold, there is another: most are gone before Python's collector has
looked at them twice."""

HEAD, FIELDS = 6, len(Descriptor._fields)
"""Numbers that are packed of a drain, and of each of its descriptors."""


@attrs.define(eq=False)
class WriteLog:
    """The drains of job number `job`, whose device writes granules of `granule` bytes. `folds`: whether it may fold."""

    job: int
    granule: int
    folds: bool
    _open: list[Write] = attrs.field(factory=list, init=False)
    _fold_at: int = attrs.field(factory=lambda: FOLDED_AT_ONCE, init=False)
    _packed: list[bytes] = attrs.field(factory=list, init=False)
    _unions: dict[int, list[Ranges]] = attrs.field(factory=dict, init=False)
    _suspect: bool = attrs.field(default=False, init=False)

    def add(self, write: Write) -> None:
        """A drain is issued."""
        self._open.append(write)
        if len(self._open) >= self._fold_at and self.folds:
            self._fold()

    def writes(self) -> list[Write]:
        """Every drain, in the order in which they were issued."""
        made = [write for packed in self._packed for write in unpacked(packed, self.job)]
        return sorted([*made, *self._open], key=lambda write: write.issued) if made else self._open

    def races(self, most: int) -> tuple[list[Race], int]:
        """The first `most` races, lowest granule first, and how many pairs of drains race in all."""
        if self._packed and not self._suspect and not find_races(self._open, self.granule, 1)[1] and self._apart():
            return [], 0
        return find_races(self.writes(), self.granule, most)

    def ranges(self) -> Ranges | None:
        """All granules that the job has written; None where there are none."""
        parts = self._all_ranges()
        return _union(parts) if parts else None

    def clear(self) -> None:
        """Forget every drain."""
        self._open.clear()
        self._packed.clear()
        self._unions.clear()

    def _fold(self) -> None:
        """Pack what is known to be done, and search it for races, also with what is not."""
        known = [write for write in self._open if write.known < NEVER]
        if known:
            self._open.sort(key=lambda write: write.known == NEVER)  # stable; those that are known come first
            ranges = merged(granules_of(self._open, self.granule))
            self._suspect = self._suspect or races_in(ranges, self._open, self.granule, 1)[1] > 0
            self._packed.append(packed(known))
            of_known = ranges.owner < len(known)
            for core, union in _by_core(Ranges(*(column[of_known] for column in ranges)), known).items():
                _add_ranges(self._unions.setdefault(core, []), union)
            self._open = self._open[len(known) :]
        self._fold_at = len(self._open) + FOLDED_AT_ONCE

    def _all_ranges(self) -> list[Ranges]:
        parts = [ranges for union in self._unions.values() for ranges in union]
        return [*parts, granules_of(self._open, self.granule)] if self._open else parts

    def _apart(self) -> bool:
        """Whether no granule belongs to two cores."""
        open_parts = _by_core(granules_of(self._open, self.granule), self._open) if self._open else {}
        parts = []
        for core in {**self._unions, **open_parts}:
            added = [open_parts[core]] if core in open_parts else []
            low, high, _ = _union([*self._unions.get(core, ()), *added])
            parts.append(Ranges(low, high, np.full_like(low, core)))
        return not any(True for _ in overlaps(_concatenated(parts)))


def _by_core(ranges: Ranges, writes: Sequence[Write]) -> dict[int, Ranges]:
    """The granules of the writes as a union for each core."""
    low, high, owner = ranges
    cores = np.array([write.core for write in writes], np.int64)[owner]
    of_core = {core: np.flatnonzero(cores == core) for core in np.unique(cores).tolist()}
    return {core: _union([Ranges(low[own], high[own], owner[own])]) for core, own in of_core.items()}


def packed(writes: Sequence[Write]) -> bytes:
    """Drains as bytes, to be made again by `unpacked`; their lines are lost."""
    writes = sorted(writes, key=attrgetter("worker"))  # stable, so each worker's stay in order
    heads = flatten.from_iterable([(w.worker, w.seq, w.core, w.issued, w.known, len(w.chain)) for w in writes])
    chains = flatten.from_iterable(flatten.from_iterable([w.chain for w in writes]))
    tables = [np.fromiter(heads, np.int64).reshape(-1, HEAD), np.fromiter(chains, np.int64).reshape(-1, FIELDS)]
    columns = [np.diff(table, axis=0, prepend=0).T.tobytes() for table in tables]
    return zlib.compress(len(writes).to_bytes(8, "little") + b"".join(columns), 1)


def unpacked(data: bytes, job: int) -> list[Write]:
    """The drains of a job that were packed."""
    data = zlib.decompress(data)
    split = 8 + 8 * HEAD * int.from_bytes(data[:8], "little")
    heads, chains = _table(data[8:split], HEAD), iter(_table(data[split:], FIELDS))
    return [
        Write(job, worker, seq, core, tuple(Descriptor(*d) for d in islice(chains, size)), issued, known)
        for worker, seq, core, issued, known, size in heads
    ]


def _table(data: bytes, columns: int) -> list[list[int]]:
    return np.frombuffer(data, np.int64).reshape(columns, -1).T.cumsum(axis=0).tolist()


def _add_ranges(union: list[Ranges], ranges: Ranges) -> None:
    """Join ranges to a union, which is kept in parts, each less than half of the one before: so joining stays cheap."""
    union.append(ranges)
    while len(union) > 1 and 2 * union[-1].low.size >= union[-2].low.size:
        union[-2:] = [_union(union[-2:])]


def _union(parts: Sequence[Ranges]) -> Ranges:
    low, high, _ = _concatenated(parts)
    return merged(Ranges(low, high, np.zeros_like(low)))


def _concatenated(parts: Sequence[Ranges]) -> Ranges:
    columns: list[Numbers] = [np.concatenate(column) for column in ([p[i] for p in parts] for i in range(3))]
    return Ranges(*columns)
