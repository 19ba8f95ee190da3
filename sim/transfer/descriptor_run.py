"""Descriptor runs: equal descriptors at equal distances, kept as one, so that a group of them is one thing to look at.

A band that joins hundreds of tiny tiles gathers each with a descriptor of its own, and they differ by where they are
alone. A run is the sequence of them; what asks for one descriptor gets it made. A band's descriptors are
`DescriptorRuns` where that is worth it: few runs one after the other, of which a slice within one is a run again.

Whoever moves descriptors or looks at their scratch need not know how they are kept: the functions here take them as a
list, as a run and as runs.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, count, pairwise
from typing import Any, overload

import attrs

from tessbed.sim.transfer.descriptor import Descriptor, shifted_list, shifted_list_again

LEAST_LENGTH = 8
"""Descriptors become runs where a run has at least so many on average: below, a list is quicker."""


class _Descriptors(Sequence[Descriptor]):
    """Equal to any sequence of the same descriptors."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and [*self] == [*other]

    def __hash__(self) -> int:
        return hash(tuple(self))


@attrs.frozen(eq=False)
class DescriptorRun(_Descriptors):
    """`length` descriptors, each `address_step` further on in memory and `scratch_step` further on in scratch."""

    first: Descriptor
    length: int
    address_step: int
    scratch_step: int

    def __len__(self) -> int:
        return self.length

    @overload
    def __getitem__(self, index: int) -> Descriptor: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Descriptor]: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self._at(at) for at in range(self.length)[index]]
        return self._at(range(self.length)[index])

    def __iter__(self) -> Iterator[Descriptor]:
        return map(self._at, range(self.length))

    def part(self, low: int, high: int) -> "DescriptorRun":
        """Those from `low` up to `high`, which the run has."""
        return DescriptorRun(self._at(low), high - low, self.address_step, self.scratch_step)

    def shifted(self, by: int) -> "DescriptorRun":
        """The same run `by` bytes further on in memory."""
        address, *rest = self.first
        return DescriptorRun(Descriptor(address + by, *rest), self.length, self.address_step, self.scratch_step)

    @property
    def reach(self) -> tuple[int, int]:
        """The scratch from the first byte of all to behind the last."""
        _, low, rows, row_bytes, _, pitch = self.first
        ahead = (self.length - 1) * self.scratch_step
        return low + min(ahead, 0), low + max(ahead, 0) + (rows - 1) * pitch + row_bytes

    @property
    def memory_reach(self) -> tuple[int, int]:
        """The memory from the first byte of all to behind the last."""
        low, _, rows, row_bytes, pitch, _ = self.first
        ahead = (self.length - 1) * self.address_step
        return low + min(ahead, 0), low + max(ahead, 0) + (rows - 1) * pitch + row_bytes

    @property
    def ascends(self) -> bool:
        """Whether each lies in scratch behind the one before, with no byte in common."""
        _, _, rows, row_bytes, _, pitch = self.first
        return self.scratch_step >= (rows - 1) * pitch + row_bytes

    @property
    def dense_bytes(self) -> int:
        """The bytes of each where all of them are one stretch on both sides, else 0."""
        _, _, rows, row_bytes, pitch, scratch_pitch = self.first
        size = rows * row_bytes
        gapless = rows == 1 or pitch == row_bytes == scratch_pitch
        return size if gapless and self.address_step == self.scratch_step == size else 0

    def _at(self, index: int) -> Descriptor:
        address, scratch, *shape = self.first
        return Descriptor(address + index * self.address_step, scratch + index * self.scratch_step, *shape)


@attrs.frozen(eq=False)
class DescriptorRuns(_Descriptors):
    """Runs, one after the other; `ends` are the numbers of descriptors up to the end of each."""

    runs: Sequence[DescriptorRun]
    ends: Sequence[int]

    def __len__(self) -> int:
        return self.ends[-1]

    @overload
    def __getitem__(self, index: int) -> Descriptor: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Descriptor]: ...
    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            number = range(len(self))[index]
            at, before = self._run_of(number)
            return self.runs[at][number - before]
        low, high, step = index.indices(len(self))
        if step == 1 and low < high:
            at, before = self._run_of(low)
            if high <= self.ends[at]:
                return self.runs[at].part(low - before, high - before)
        return [self[number] for number in range(low, high, step)]

    def __iter__(self) -> Iterator[Descriptor]:
        for run in self.runs:
            yield from run

    def shifted(self, by: int) -> "DescriptorRuns":
        """The same descriptors `by` bytes further on in memory."""
        return DescriptorRuns([run.shifted(by) for run in self.runs], self.ends)

    def _run_of(self, number: int) -> tuple[int, int]:
        """The run that has a descriptor, and how many are before that run."""
        at = bisect_right(self.ends, number)
        return at, self.ends[at - 1] if at else 0


def in_runs(descriptors: Sequence[Descriptor]) -> Sequence[Descriptor]:
    """The same descriptors as runs where these are long, else as they are."""
    if len(descriptors) < LEAST_LENGTH:
        return descriptors
    runs: list[DescriptorRun] = []
    for descriptor in descriptors:
        if runs and (longer := _extended(runs[-1], descriptor)):
            runs[-1] = longer
        elif len(descriptors) < LEAST_LENGTH * (len(runs) + 1):
            return descriptors
        else:
            runs.append(DescriptorRun(descriptor, 1, 0, 0))
    return DescriptorRuns(runs, [*accumulate(map(len, runs))])


def shifted(descriptors: Sequence[Descriptor], by: int) -> Sequence[Descriptor]:
    """The same descriptors `by` bytes further on in memory."""
    return descriptors.shifted(by) if isinstance(descriptors, DescriptorRuns) else shifted_list(descriptors, by)


def shifted_again(descriptors: Sequence[Descriptor], by: int, step: int) -> Iterator[Sequence[Descriptor]]:
    """The same descriptors `by` bytes further on in memory, then `step` bytes further, and so on without an end."""
    if isinstance(descriptors, DescriptorRuns):
        return map(descriptors.shifted, count(by, step))
    return shifted_list_again(descriptors, by, step)


def scratch_reach(descriptors: Sequence[Descriptor]) -> tuple[int, int]:
    """The scratch from the first byte of all to behind the last."""
    if type(descriptors) is DescriptorRun:
        return descriptors.reach
    if len(descriptors) == 1:
        _, low, rows, row_bytes, _, pitch = descriptors[0]
        return low, low + (rows - 1) * pitch + row_bytes
    spans = [(low, low + (rows - 1) * pitch + row_bytes) for _, low, rows, row_bytes, _, pitch in descriptors]
    return min([low for low, _ in spans], default=0), max([end for _, end in spans], default=0)


def ascend(descriptors: Sequence[Descriptor]) -> bool:
    """Whether each lies in scratch behind the one before, with no byte in common."""
    if type(descriptors) is DescriptorRun:
        return descriptors.ascends
    spans = [(low, low + (rows - 1) * pitch + row_bytes) for _, low, rows, row_bytes, _, pitch in descriptors]
    return len(spans) == 1 or all(before[1] <= after[0] for before, after in pairwise(spans))


def _extended(run: DescriptorRun, descriptor: Descriptor) -> DescriptorRun | None:
    """The run with one descriptor more; None where that is none of it."""
    first, length = run.first, run.length
    if first[2:] != descriptor[2:]:
        return None
    ahead, behind = descriptor.address - first.address, descriptor.scratch - first.scratch
    if length == 1 or (ahead == length * run.address_step and behind == length * run.scratch_step):
        return DescriptorRun(first, length + 1, ahead // length, behind // length)
    return None
