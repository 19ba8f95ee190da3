"""The yardstick does the work of the engine that it measures, or its ratio would mean nothing."""

import numpy as np
import pytest

from tests.yardstick.plain import run_plain
from tests.yardstick.reference import run_reference
from tests.yardstick.work import catalogue, uniform

WORKS = {
    work.name: work
    for work in (uniform(20), uniform(20, reads=1), *catalogue(("chroma", "superpoint", "oversized-pitch")))
}


@pytest.mark.parametrize("work", WORKS.values(), ids=WORKS)
def test_the_yardstick_moves_the_same_bytes(work) -> None:
    """Same payload each way, same memory afterwards, and ticks within a twentieth."""
    ours, theirs = work.fresh(), work.fresh()
    stats, plain = run_reference(work, ours, moves=True, checks=True), run_plain(work, theirs, moves=True)
    assert plain.bytes == {"read": stats.reads.payload_bytes, "write": stats.writes.payload_bytes}
    assert all(np.array_equal(a, b) for (_, a), (_, b) in zip(ours, theirs, strict=True))
    assert max(plain.finish.values()) == pytest.approx(stats.device_ticks, rel=0.05)
