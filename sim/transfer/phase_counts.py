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

Array = Any


@attrs.define(eq=False)
class PhaseCounts:
    """The counts of descriptors of one direction and shape (rows, row_bytes, pitch) by phase: address modulo 4096.

    `counts` are the different ones so far.
    """

    spec: DeviceSpec
    kind: str
    shape: tuple[int, int, int]
    counts: list[Counts] = attrs.field(factory=list, init=False)
    _numbers: dict[Counts, int] = attrs.field(factory=dict, init=False)
    _known: Array = attrs.field(factory=lambda: np.full(PAGE_BYTES, -1, np.int32), init=False)

    def numbers(self, phases: Array) -> Array:
        """Places in `counts` of what is touched at these phases. Raises HazardError where rows of a drain overlap."""
        found = self._known[phases]
        if (found < 0).any():
            missing = np.unique(phases[found < 0])
            several = count_phases if len(missing) > FEW_PHASES else _one_by_one
            self._known[missing] = [
                self._number(counts) for counts in several(self.spec, self.kind, self.shape, missing)
            ]
            found = self._known[phases]
        return found

    def _number(self, counts: Counts) -> int:
        known = self._numbers.get(counts)
        if known is None:
            known = self._numbers[counts] = len(self.counts)
            self.counts.append(counts)
        return known


def _one_by_one(spec: DeviceSpec, kind: str, shape: tuple[int, int, int], phases: Array) -> list[Counts]:
    count = count_read if kind == "read" else count_write
    return [count(spec, (phase, *shape)) for phase in phases.tolist()]


def count_phases(spec: DeviceSpec, kind: str, shape: tuple[int, int, int], phases: Array) -> list[Counts]:
    """What `count_read` or `count_write` says of a descriptor at each of these phases."""
    rows, row_bytes, _ = shape
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
    columns = (column.tolist() for column in (port_bytes, bursts, pages, partial))
    return [Counts(kind, rows, rows * row_bytes, *figures) for figures in zip(*columns, strict=True)]


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
        return np.maximum(0, (address + nbytes) // unit - (address + unit - 1) // unit)
    if row_bytes < unit:
        return np.zeros_like(address)
    return _floors(address + row_bytes, rows, pitch, unit) - _floors(address + unit - 1, rows, pitch, unit)


def _floors(address: Array, rows: int, pitch: int, unit: int) -> Array:
    """The sum of (address + r * pitch) // unit over the rows r, but for a term that no address changes."""
    if rows == 1:
        return address // unit
    return rows * (address // unit) + _rows_ahead(rows, pitch, unit)[address % unit]


@lru_cache(maxsize=256)
def _rows_ahead(rows: int, pitch: int, unit: int) -> Array:
    """By place in a block: how many rows are a block later if the first starts there, not at the block's begin."""
    places = np.bincount(np.arange(rows) * pitch % unit, minlength=unit)
    return np.concatenate(([0], np.cumsum(places[:0:-1])))
