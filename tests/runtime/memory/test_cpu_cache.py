"""The CPU's cache by lines of 64 bytes: who sees which byte, by hand."""

import numpy as np
import pytest

from tessbed.runtime.memory.cpu_cache import LINE_BYTES, Cache, cache_lines

OLD, DEVICE, CPU = 1, 2, 3


@pytest.fixture
def cache() -> Cache:
    """Four lines of DRAM that hold OLD."""
    return Cache(np.full(4 * LINE_BYTES, OLD, np.uint8))


LINES = [((0, 1), (0, 1)), ((0, 64), (0, 1)), ((63, 65), (0, 2)), ((64, 128), (1, 2)), ((70, 70), (1, 1))]


@pytest.mark.parametrize(("span", "lines"), LINES, ids=[str(span) for span, _ in LINES])
def test_lines(span: tuple[int, int], lines: tuple[int, int]) -> None:
    """The lines that a range touches; one without bytes touches none."""
    assert cache_lines(*span) == slice(*lines)


def test_a_line_that_is_held_hides_what_the_device_writes(cache: Cache) -> None:
    """Until it is invalidated, the CPU reads what the line held, and a line that was not held is read from DRAM."""
    assert cache.read(0, 1)[0] == OLD
    cache.storage[:] = DEVICE
    assert set(cache.read(0, 64)) == {OLD}
    assert set(cache.read(64, 128)) == {DEVICE}
    cache.clean_and_invalidate(10, 11)
    assert set(cache.read(0, 64)) == {DEVICE}


def test_a_write_is_not_in_dram_before_it_is_cleaned(cache: Cache) -> None:
    """And then with all of its line; a clean line is not written."""
    cache.read(64, 65)
    cache.modify(60, 64)[:] = CPU
    assert set(cache.storage) == {OLD}
    cache.storage[:] = DEVICE
    cache.clean(0, 256)
    assert cache.storage[:64].tolist() == [OLD] * 60 + [CPU] * 4
    assert set(cache.storage[64:]) == {DEVICE}
    cache.storage[:64] = DEVICE
    cache.clean(0, 256)
    assert set(cache.storage) == {DEVICE}


def test_invalidating_a_dirty_line_overwrites_the_device(cache: Cache) -> None:
    """There is no other way: one dirty byte puts 64 over what the device wrote."""
    cache.modify(5, 6)[:] = CPU
    cache.storage[:] = DEVICE
    cache.clean_and_invalidate(0, 256)
    assert cache.storage[:64].tolist() == [OLD] * 5 + [CPU] + [OLD] * 58
    assert set(cache.storage[64:]) == {DEVICE}
    assert not cache.dirty.any()
    assert not cache.valid.any()


def test_eviction_and_prefetch_change_nothing_that_a_program_may_rely_on(cache: Cache) -> None:
    """A dirty line that is evicted reads the same; a line that is prefetched early is stale later, as on the chip."""
    cache.modify(0, 4)[:] = CPU
    cache.evict(0, 64)
    assert cache.read(0, 5).tolist() == [CPU] * 4 + [OLD]
    cache.prefetch(128, 129)
    cache.storage[128:192] = DEVICE
    assert cache.read(128, 129)[0] == OLD


def test_what_is_read_can_not_be_written(cache: Cache) -> None:
    """A view for reading is read-only: a write past `modify` would be in no dirty line."""
    with pytest.raises(ValueError, match="read-only"):
        cache.read(0, 4)[0] = CPU
