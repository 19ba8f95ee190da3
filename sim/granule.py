"""Write granules: which bytes of a pitched write fill whole granules, and which must be read, changed, written.

A granule is full when the rows of the descriptor cover each of its bytes; any other granule that they touch is
partial, once, even when two rows share it. Rows of one contiguous run split into at most three pieces; other
rectangles need index arrays, which depend on the address only modulo the granule and are kept.
Payload means the rows one after the other: `rows * row_bytes` bytes.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np


class Split(NamedTuple):
    """Granule numbers are relative to the granule of the first byte; index arrays are intp.

    Partial granule `partial[i]` is block i of the backgrounds; `into` are byte positions in the flat
    backgrounds, `from_payload` where in the payload they come from. Full granule `full[i]` takes the payload
    from `full_payload[i]` on; when the rows are one run, `run` holds the payload bytes of all full granules.
    """

    partial: np.ndarray
    into: np.ndarray
    from_payload: np.ndarray
    full: np.ndarray
    full_payload: np.ndarray
    run: slice | None


def background(storage: np.ndarray, offset: int, granule: int, split: Split) -> np.ndarray:
    """A copy of the partial granules, shape (partial, granule)."""
    return storage.reshape(-1, granule)[split.partial + offset // granule]


def merge(storage: np.ndarray, offset: int, granule: int, split: Split, blocks: np.ndarray, payload: np.ndarray) -> int:
    """Write the partial granules whole, background and payload; returns the payload bytes in them."""
    blocks.reshape(-1)[split.into] = payload[split.from_payload]
    storage.reshape(-1, granule)[split.partial + offset // granule] = blocks
    return split.into.size


def publish(storage: np.ndarray, offset: int, granule: int, split: Split, payload: np.ndarray) -> int:
    """Write the full granules; returns the payload bytes in them."""
    if split.run is not None:
        return _publish_run(storage, offset, split.run, payload)
    if not split.full.size:
        return 0
    windows = np.ndarray((payload.size - granule + 1, granule), np.uint8, payload, 0, (1, 1))
    storage.reshape(-1, granule)[split.full + offset // granule] = windows[split.full_payload]
    return split.full.size * granule


@lru_cache(maxsize=512)
def split_rows(phase: int, rows: int, row_bytes: int, pitch: int, granule: int) -> Split:
    """The split of `rows` rows whose first byte is `phase` bytes into its granule."""
    if pitch == row_bytes:
        rows, row_bytes = 1, rows * row_bytes
    starts = phase + pitch * np.arange(rows)
    ends = starts + row_bytes
    first_full, end_full = -(-starts // granule), ends // granule
    counts = np.maximum(end_full - first_full, 0)
    payload = row_bytes * np.arange(rows)
    heads = starts % granule != 0
    tails = (ends % granule != 0) & (end_full >= first_full)
    lows = np.concatenate((starts[heads], (end_full * granule)[tails]))
    highs = np.concatenate((np.minimum(ends, first_full * granule)[heads], ends[tails]))
    sources = np.concatenate((payload[heads], (payload + end_full * granule - starts)[tails]))
    partial, block = np.unique(lows // granule, return_inverse=True)
    return Split(
        partial,
        _runs(block * granule + lows % granule, highs - lows),
        _runs(sources, highs - lows),
        _runs(first_full, counts),
        _runs(payload + first_full * granule - starts, counts, granule),
        _only_run(phase, row_bytes, granule) if rows == 1 else None,
    )


def _publish_run(storage: np.ndarray, offset: int, run: slice, payload: np.ndarray) -> int:
    source = payload[run]
    storage[offset + run.start : offset + run.stop] = source
    return source.size


def _only_run(phase: int, run_bytes: int, granule: int) -> slice:
    low = min(-phase % granule, run_bytes)
    return slice(low, low + (run_bytes - low) // granule * granule)


def _runs(starts: np.ndarray, lengths: np.ndarray, step: int = 1) -> np.ndarray:
    """starts[0], starts[0] + step, ... lengths[0] of them, then the same for each further start."""
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.repeat(starts, lengths) + step * within
