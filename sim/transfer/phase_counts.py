"""Phase counts: what a descriptor touches at each of the 4,096 places in a page where it may start, many at once.

The sums of `block_count.py` for a whole array of addresses. Of rows at a + r * pitch, the sum of the floors to a block
is a function of a: between two blocks it grows by one for each row that steps into the next block. So a histogram of
where the rows are in their blocks gives it for all addresses, without Euclid and without a loop over them.
"""

from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.spec.limits import PAGE_BYTES
from tessbed.sim.transfer.cost import Counts, count_read, count_write

FEW_PHASES = 12
"""So many phases take no longer one by one."""

DIGIT_BITS = 16
"""How often descriptors come is summed in two digits, the lower one of so many bits: sums may leave 64 bits."""

SPARSE = 8
"""A table of so many places for each number is gone through in less time than the numbers are sorted."""

Array = Any


@attrs.define(eq=False)
class CountList:
    """Different counts, by number."""

    listed: list[Counts] = attrs.field(factory=list, init=False)
    _numbers: dict[Counts, int] = attrs.field(factory=dict, init=False)

    def number(self, counts: Counts) -> int:
        """The number of these counts."""
        known = self._numbers.setdefault(counts, len(self.listed))
        if known == len(self.listed):
            self.listed.append(counts)
        return known


@attrs.define(eq=False)
class PhaseCounts:
    """The counts of descriptors of one direction and shape (rows, row_bytes, pitch) by phase: address modulo 4096."""

    spec: DeviceSpec
    kind: str
    shape: tuple[int, int, int]
    counts: CountList
    _known: Array = attrs.field(factory=lambda: np.full(PAGE_BYTES, -1, np.int32), init=False)

    def numbers(self, phases: Array) -> Array:
        """Numbers in `counts` of what is touched at these phases. Raises HazardError where rows of a drain overlap."""
        found = self._known[phases]
        if (found < 0).any():
            wanted = np.zeros(PAGE_BYTES, bool)
            wanted[phases] = True
            missing = np.flatnonzero(wanted & (self._known < 0))
            self._known[missing] = self._counted(missing) if len(missing) > FEW_PHASES else self._one_by_one(missing)
            found = self._known[phases]
        return found

    def sums(self, times: Array) -> Counts:
        """What so many descriptors at each phase touch in all."""
        phases = np.flatnonzero(times)
        many, (rows, row_bytes, _) = times[phases], self.shape
        total = rows * int(many.sum())
        return Counts(self.kind, total, total * row_bytes, *_weighted(self._figures(phases), many))

    def _figures(self, phases: Array) -> Array:
        """The last figures of Counts, as rows, for a descriptor at each of these phases."""
        if len(phases) > FEW_PHASES:
            return count_phases(self.spec, self.kind, self.shape, phases)
        return np.array([counts[-4:] for counts in self._each(phases)], np.int64).reshape(-1, 4).T

    def _each(self, phases: Array) -> list[Counts]:
        count = count_read if self.kind == "read" else count_write
        return [count(self.spec, (phase, *self.shape)) for phase in phases.tolist()]

    def _one_by_one(self, phases: Array) -> list[int]:
        return [*map(self.counts.number, self._each(phases))]

    def _counted(self, phases: Array) -> Array:
        """All at once; of equal figures only one becomes Counts."""
        figures = count_phases(self.spec, self.kind, self.shape, phases)
        firsts, numbers = distinct(figures)
        rows, row_bytes, _ = self.shape
        different = figures[:, firsts].T.tolist()
        known = [self.counts.number(Counts(self.kind, rows, rows * row_bytes, *row)) for row in different]
        return np.asarray(known, np.int32)[numbers]


def _weighted(figures: Array, many: Array) -> list[int]:
    """The sum of each row of figures, each column so many times.

    A figure is below 2**32 and there are at most 4,096, so the lower digit is exact; the upper one is for sums up to
    2**79.
    """
    low, high = figures @ (many & (1 << DIGIT_BITS) - 1), figures @ (many >> DIGIT_BITS)
    return [(above << DIGIT_BITS) + below for above, below in zip(high.tolist(), low.tolist(), strict=True)]


def count_phases(spec: DeviceSpec, kind: str, shape: tuple[int, int, int], phases: Array) -> Array:
    """The last figures of Counts, as rows of an array, for a descriptor at each of these phases."""
    access, granule = spec.memory.access_bytes, spec.write_granule_bytes
    partial = np.zeros_like(phases)
    if kind == "write":
        count_write(spec, (0, *shape))  # refuses rows that overlap
    if kind == "write" and not spec.byte_strobes:
        granules = _touched(phases, *shape, granule)
        partial = granules - _covered(phases, *shape, granule)
        port_bytes = granule * (granules + partial)
    else:
        port_bytes = access * _touched_by_rows(phases, *shape, access)
    bursts, pages = _touched_by_rows(phases, *shape, spec.dma.burst_bytes), _touched(phases, *shape, PAGE_BYTES)
    return np.stack((port_bytes, bursts, pages, partial))


def distinct(rows: Array) -> tuple[Array, Array]:
    """Of columns of several rows: the first of each different one, and of each column which of these it equals.

    Rows are folded into one number a column, as digits; where that could leave 62 bits, numbers are given anew. Small
    numbers are found by their place in a table, others by sorting.
    """
    lows = rows.min(axis=1)
    sizes = rows.max(axis=1) - lows + 1
    folded, most = np.zeros(rows.shape[1], np.int64), 1
    for number in np.flatnonzero(sizes > 1).tolist():
        size = int(sizes[number])
        if most * size >= 1 << 62:
            folded = np.unique(folded, return_inverse=True)[1].reshape(-1)
            most = int(folded.max()) + 1
        folded, most = folded * size + (rows[number] - lows[number]), most * size
    if most <= SPARSE * rows.shape[1]:
        return _distinct_by_place(folded, most)
    _, firsts, numbers = np.unique(folded, return_index=True, return_inverse=True)
    return firsts, numbers.reshape(-1)


def _distinct_by_place(numbers: Array, end: int) -> tuple[Array, Array]:
    """`distinct` of numbers up to before `end`."""
    first = np.full(end, -1)
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]
    present = np.flatnonzero(first >= 0)
    renumbered = np.empty(end, np.int64)
    renumbered[present] = np.arange(len(present))
    return first[present], renumbered[numbers]


def _touched_by_rows(address: Array, rows: int, row_bytes: int, pitch: int, unit: int) -> Array:
    ends = _floors(address + row_bytes - 1, rows, pitch, unit)
    return ends - _floors(address, rows, pitch, unit) + rows


def _touched(address: Array, rows: int, row_bytes: int, pitch: int, unit: int) -> Array:
    if pitch - row_bytes >= unit:
        return _touched_by_rows(address, rows, row_bytes, pitch, unit)
    return _touched_by_rows(address, 1, (rows - 1) * pitch + row_bytes, 0, unit)


def _covered(address: Array, rows: int, row_bytes: int, pitch: int, unit: int) -> Array:
    if rows == 1 or pitch == row_bytes:
        nbytes = rows * row_bytes
        return np.maximum(0, _blocks(address + nbytes, unit) - _blocks(address + unit - 1, unit))
    if row_bytes < unit:
        return np.zeros_like(address)
    return _floors(address + row_bytes, rows, pitch, unit) - _floors(address + unit - 1, rows, pitch, unit)


def _floors(address: Array, rows: int, pitch: int, unit: int) -> Array:
    """The sum of (address + r * pitch) // unit over the rows r, but for a term that no address changes."""
    if rows == 1:
        return _blocks(address, unit)
    return rows * _blocks(address, unit) + _rows_ahead(rows, pitch, unit)[address & (unit - 1)]


def _blocks(address: Array, unit: int) -> Array:
    """address // unit: every unit is a power of two."""
    return address >> (unit.bit_length() - 1)


@lru_cache(maxsize=256)
def _rows_ahead(rows: int, pitch: int, unit: int) -> Array:
    """By place in a block: how many rows are a block later if the first starts there, not at the block's begin."""
    places = np.bincount(np.arange(rows) * pitch % unit, minlength=unit)
    return np.concatenate(([0], np.cumsum(places[:0:-1])))
