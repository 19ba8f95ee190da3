"""The CPU's write-back cache over one allocation, line by line.

The storage is DRAM, which is all that the device sees. A line that the CPU holds lives in a shadow copy; reads come
from there, writes go there, and DRAM learns of them only when the line is cleaned. So a forgotten clean really hands
stale bytes to the device, and a forgotten invalidate really hands stale bytes to the CPU. A line is the unit of
everything: cleaning one writes back all its 64 bytes, its neighbours' included.

There is no instruction that only invalidates: as on the real chip it cleans first, so invalidating a dirty line puts
the CPU's old bytes over what the device wrote. Nothing is evicted or prefetched by itself; `evict` and `prefetch`
let a test do at any moment what a real cache may do at any moment.
"""

import attrs
import numpy as np

LINE_BYTES = 64


@attrs.define(eq=False)
class Cache:
    """`storage` is DRAM: 1-D uint8, whole lines. `valid` and `dirty` have one flag for each line."""

    storage: np.ndarray
    shadow: np.ndarray = attrs.field(init=False)
    valid: np.ndarray = attrs.field(init=False)
    dirty: np.ndarray = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.shadow = np.zeros_like(self.storage)
        self.valid = np.zeros(self.storage.size // LINE_BYTES, bool)
        self.dirty = np.zeros_like(self.valid)

    def read(self, start: int, end: int) -> np.ndarray:
        """The CPU's view of the bytes [start, end), read-only; misses are filled from DRAM."""
        self.prefetch(start, end)
        seen = self.shadow[start:end]
        seen.flags.writeable = False
        return seen

    def modify(self, start: int, end: int) -> np.ndarray:
        """The bytes [start, end) for the CPU to write in place; their lines are dirty from now on."""
        self.prefetch(start, end)
        self.dirty[cache_lines(start, end)] = True
        return self.shadow[start:end]

    def clean(self, start: int, end: int) -> None:
        """Write the dirty lines that [start, end) touches back to DRAM, whole."""
        span = cache_lines(start, end)
        which = np.flatnonzero(self.dirty[span]) + span.start
        _rows(self.storage)[which] = _rows(self.shadow)[which]
        self.dirty[span] = False

    def clean_and_invalidate(self, start: int, end: int) -> None:
        """Clean, then forget the lines, so that the next read comes from DRAM."""
        self.clean(start, end)
        self.valid[cache_lines(start, end)] = False

    def prefetch(self, start: int, end: int) -> None:
        """Fill the lines of [start, end) that the cache does not hold."""
        span = cache_lines(start, end)
        which = np.flatnonzero(~self.valid[span]) + span.start
        _rows(self.shadow)[which] = _rows(self.storage)[which]
        self.valid[span] = True

    def evict(self, start: int, end: int) -> None:
        """What the cache may do to any line at any moment: the same as clean and invalidate."""
        self.clean_and_invalidate(start, end)


def cache_lines(start: int, end: int) -> slice:
    """The lines that the bytes [start, end) touch."""
    return slice(start // LINE_BYTES, -(-end // LINE_BYTES) if end > start else start // LINE_BYTES)


def _rows(array: np.ndarray) -> np.ndarray:
    return array.reshape(-1, LINE_BYTES)
