"""Splits of pitched writes into whole and partial granules, against marking every byte."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tessbed.sim.spec.device_spec import DeviceSpec, override
from tessbed.sim.transfer.descriptor import Descriptor
from tessbed.sim.transfer.write_granule import split_rows
from tests.sim.costs import chain_cost

GRANULES = st.sampled_from([16, 32, 64, 128])


def granules_read(split, storage, offset, granule):
    """What the split reads first, a granule a row."""
    blocks = [np.frombuffer(bytes(block), np.uint8) for block in split.read(storage.data, offset)]
    return np.concatenate([np.empty(0, np.uint8), *blocks]).reshape(-1, granule)


def write_split(split, storage, offset, payload):
    """Read, merge and publish at once; returns the payload bytes that each wrote."""
    blocks = split.read(storage.data, offset)
    return split.merge(storage.data, offset, blocks, payload.data), split.publish(storage.data, offset, payload.data)


@given(st.integers(0, 500), st.integers(1, 20), st.integers(1, 300), st.integers(0, 200), GRANULES)
def test_a_split_write_writes_the_rows_and_nothing_else(offset, rows, row_bytes, gap, granule) -> None:
    """Both halves together put each payload byte in its place and leave every other byte as it was."""
    pitch = row_bytes + gap
    storage = (np.arange(16384) % 256).astype(np.uint8)
    expected = storage.copy()
    payload = np.random.default_rng(rows).integers(0, 256, rows * row_bytes, dtype=np.uint8)
    for row in range(rows):
        low = offset + row * pitch
        expected[low : low + row_bytes] = payload[row * row_bytes : (row + 1) * row_bytes]
    moved = write_split(split_rows(offset % granule, rows, row_bytes, pitch, granule), storage, offset, payload)
    assert np.array_equal(storage, expected)
    assert sum(moved) == payload.size


@given(st.integers(0, 500), st.integers(1, 20), st.integers(1, 300), st.integers(0, 200), GRANULES)
def test_whole_granules_are_the_covered_ones(offset, rows, row_bytes, gap, granule) -> None:
    """`publish` alone changes exactly the granules that the rows cover; the cost counts the same partial ones."""
    pitch = row_bytes + gap
    marks = np.zeros(16384, np.uint8)
    for row in range(rows):
        marks[offset + row * pitch : offset + row * pitch + row_bytes] = 1
    sums = marks.reshape(-1, granule).sum(axis=1)
    storage = np.zeros(16384, np.uint8)
    split = split_rows(offset % granule, rows, row_bytes, pitch, granule)
    split.publish(storage.data, offset, np.ones(rows * row_bytes, np.uint8).data)
    assert np.array_equal(storage.reshape(-1, granule).sum(axis=1), np.where(sums == granule, granule, 0))
    spec = override(DeviceSpec(), {"write_granule_bytes": granule})
    cost = chain_cost(spec, [Descriptor(offset, 0, rows, row_bytes, pitch, row_bytes)])
    partial = int(((sums > 0) & (sums < granule)).sum())
    assert cost.partial_granules == partial == granules_read(split, storage, offset, granule).shape[0]


BY_HAND = [  # phase, rows, row_bytes, pitch, granule numbers read first, payload bytes in whole granules
    ("head and tail", 8, 1, 20, 20, [0, 1], 0),
    ("inside one", 4, 1, 8, 8, [0], 0),
    ("whole only", 0, 1, 32, 32, [], 32),
    ("head, whole, tail", 12, 1, 24, 24, [0, 2], 16),
    ("two rows in one", 0, 2, 4, 8, [0], 0),
    ("a row across two", 14, 2, 4, 32, [0, 1, 2, 3], 0),
]


@pytest.mark.parametrize(
    ("phase", "rows", "row_bytes", "pitch", "partial", "whole"), [c[1:] for c in BY_HAND], ids=[c[0] for c in BY_HAND]
)
def test_splits_by_hand(phase, rows, row_bytes, pitch, partial, whole) -> None:
    """With granules of 16 bytes, these are read first, and so many bytes go in whole ones."""
    storage = np.repeat(np.arange(8, dtype=np.uint8), 16)
    split = split_rows(phase, rows, row_bytes, pitch, 16)
    assert granules_read(split, storage, phase, 16)[:, 0].tolist() == partial
    assert split.publish(storage.copy().data, phase, np.zeros(rows * row_bytes, np.uint8).data) == whole
