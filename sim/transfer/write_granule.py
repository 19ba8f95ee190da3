"""Write granules: which bytes of a pitched write fill whole granules, and which must be read, changed, written.

A granule is full when the rows of the descriptor cover each of its bytes; any other granule that they touch is
partial, once, even when two rows share it. Rows that follow each other without a gap are one run, split into at
most three pieces; other rectangles need index arrays. Either split depends on the address only modulo the
granule, and is kept. Payload means the rows one after the other: `rows * row_bytes` bytes.

Both kinds of split have the same functions: `read` copies the partial granules, `merge` writes them whole
with the payload laid over that background, `publish` writes the full granules. The latter two return the number
of payload bytes that they wrote. `offset` is where in `storage` (whole granules of bytes) the payload starts.
"""

from functools import lru_cache
from typing import NamedTuple

import attrs
import numpy as np


class GranuleBlock(NamedTuple):
    """Payload bytes [low, high) in partial granules that adjoin: [first, end), counted from the granule of byte 0."""

    low: int
    high: int
    first: int
    end: int


@attrs.frozen(eq=False)
class RunSplit:
    """One run, whose first byte is `phase` bytes into its granule: partial `blocks`, and the range `full` between.

    `has_full` says whether a granule is full, of either kind of split.
    """

    phase: int
    blocks: tuple[GranuleBlock, ...]
    full: slice
    has_full: bool

    def read(self, storage: memoryview, offset: int) -> list[bytes]:
        """The partial granules of each block."""
        base, blocks = offset - self.phase, self.blocks
        if len(blocks) == 1:
            _, _, first, end = blocks[0]
            return [bytes(storage[base + first : base + end])]
        return [bytes(storage[base + first : base + end]) for _, _, first, end in blocks]

    def merge(self, storage: memoryview, offset: int, blocks: list[bytes], payload: memoryview) -> int:
        """Write the partial granules."""
        base, moved = offset - self.phase, 0
        for block, (low, high, first, end) in zip(blocks, self.blocks, strict=True):
            storage[base + first : base + end] = block
            storage[offset + low : offset + high] = payload[low:high]
            moved += high - low
        return moved

    def publish(self, storage: memoryview, offset: int, payload: memoryview) -> int:
        """Write the full granules."""
        low, high = self.full.start, self.full.stop
        storage[offset + low : offset + high] = payload[low:high]
        return high - low


@attrs.frozen(eq=False)
class GridSplit:
    """Separate rows, by index arrays; granule numbers count from the granule of the first byte.

    Byte `into[i]` of the flattened partial granules `partial` comes from payload byte `source[i]`; full granule
    `full[i]` takes the payload from `full_source[i]` on.
    """

    granule: int
    partial: np.ndarray
    into: np.ndarray
    source: np.ndarray
    full: np.ndarray
    full_source: np.ndarray
    has_full: bool

    def read(self, storage: memoryview, offset: int) -> np.ndarray:
        """The partial granules, shape (partial, granule)."""
        return self._granules(storage)[self.partial + offset // self.granule]

    def merge(self, storage: memoryview, offset: int, blocks: np.ndarray, payload: memoryview) -> int:
        """Write the partial granules."""
        blocks.reshape(-1)[self.into] = np.frombuffer(payload, np.uint8)[self.source]
        self._granules(storage)[self.partial + offset // self.granule] = blocks
        return self.into.size

    def publish(self, storage: memoryview, offset: int, payload: memoryview) -> int:
        """Write the full granules."""
        if self.full.size:
            windows = np.ndarray((payload.nbytes - self.granule + 1, self.granule), np.uint8, payload, 0, (1, 1))
            self._granules(storage)[self.full + offset // self.granule] = windows[self.full_source]
        return self.full.size * self.granule

    def _granules(self, storage: memoryview) -> np.ndarray:
        return np.frombuffer(storage, np.uint8).reshape(-1, self.granule)


@lru_cache(maxsize=512)
def split_rows(phase: int, rows: int, row_bytes: int, pitch: int, granule: int) -> RunSplit | GridSplit:
    """The split of rows whose first byte is `phase` bytes into its granule; they must not overlap."""
    if rows == 1 or pitch == row_bytes:
        return _split_run(phase, rows * row_bytes, granule)
    return _split_grid(phase, rows, row_bytes, pitch, granule)


def _split_run(phase: int, nbytes: int, granule: int) -> RunSplit:
    low = min(-phase % granule, nbytes)
    high = low + (nbytes - low) // granule * granule
    pieces = [(0, nbytes)] if low == high else [(0, low), (high, nbytes)]
    blocks = [
        GranuleBlock(start, stop, (phase + start) // granule * granule, -(-(phase + stop) // granule) * granule)
        for start, stop in pieces
        if start < stop
    ]
    return RunSplit(phase, tuple(blocks), slice(low, high), low < high)


def _split_grid(phase: int, rows: int, row_bytes: int, pitch: int, granule: int) -> GridSplit:
    starts = phase + pitch * np.arange(rows)
    ends, sources = starts + row_bytes, row_bytes * np.arange(rows)
    first_full, end_full = -(-starts // granule), ends // granule
    counts = np.maximum(end_full - first_full, 0)
    heads = starts % granule != 0
    tails = (ends % granule != 0) & (end_full >= first_full)
    lows = np.concatenate((starts[heads], (end_full * granule)[tails]))
    highs = np.concatenate((np.minimum(ends, first_full * granule)[heads], ends[tails]))
    sources_from = np.concatenate((sources[heads], (sources + end_full * granule - starts)[tails]))
    partial, block = np.unique(lows // granule, return_inverse=True)
    into = _runs(block * granule + lows % granule, highs - lows)
    full_source = _runs(sources + first_full * granule - starts, counts, granule)
    full = _runs(first_full, counts)
    return GridSplit(granule, partial, into, _runs(sources_from, highs - lows), full, full_source, full.size > 0)


def _runs(starts: np.ndarray, lengths: np.ndarray, step: int = 1) -> np.ndarray:
    """starts[0], starts[0] + step, ... lengths[0] of them, then the same for each further start."""
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.repeat(starts, lengths) + step * within
