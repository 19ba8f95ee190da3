"""Block counts in closed form against counting byte by byte, with hypothesis."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tessbed.sim.transfer.block_count import covered, floor_sum, touched, touched_by_rows

UNITS = st.sampled_from([1, 3, 16, 64, 128, 4096])
PLACES = st.tuples(st.integers(0, 9000), st.integers(1, 24), st.integers(1, 300))


@given(st.integers(0, 60), st.integers(0, 500), st.integers(0, 500), st.integers(1, 90))
def test_floor_sum_is_the_sum(count, step, start, unit) -> None:
    """floor_sum equals the loop that it replaces."""
    assert floor_sum(count, step, start, unit) == sum((start + i * step) // unit for i in range(count))


@given(PLACES, st.integers(0, 9000), UNITS)
def test_touched_blocks(place, pitch, unit) -> None:
    """Blocks touched, by row and by rectangle, equal sets of block numbers."""
    address, rows, row_bytes = place
    starts = [address + r * pitch for r in range(rows)]
    per_row = [{byte // unit for byte in range(s, s + row_bytes)} for s in starts]
    assert touched_by_rows(address, rows, row_bytes, pitch, unit) == sum(map(len, per_row))
    assert touched(address, rows, row_bytes, pitch, unit) == len(set().union(*per_row))


@given(PLACES, st.integers(0, 300), UNITS)
def test_covered_blocks(place, gap, unit) -> None:
    """Blocks covered whole equal those of which every byte is counted."""
    address, rows, row_bytes = place
    pitch = row_bytes + gap
    counts = Counter((address + r * pitch + i) // unit for r in range(rows) for i in range(row_bytes))
    whole = sum(n == unit for n in counts.values())
    assert covered(address, rows, row_bytes, pitch, unit) == whole


GAPS = [  # row bytes, pitch, blocks of 16 touched by two rows from address 0
    ("gap of a block less one", 17, 32, 4),
    ("gap of exactly a block", 16, 32, 2),
    ("gap of two blocks", 16, 48, 2),
    ("no gap", 16, 16, 2),
]


@pytest.mark.parametrize(("row_bytes", "pitch", "blocks"), [g[1:] for g in GAPS], ids=[g[0] for g in GAPS])
def test_a_gap_of_a_whole_block_skips_it(row_bytes, pitch, blocks) -> None:
    """The widest gap that can skip no block is one byte short of a block."""
    assert touched(0, 2, row_bytes, pitch, 16) == blocks
