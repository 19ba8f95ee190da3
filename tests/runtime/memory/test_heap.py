"""Heaps: every byte is taken once, and holes join again."""

import pytest

from tessbed.runtime.errors import HeapExhausted, SubmitError
from tessbed.runtime.memory.heap import PAGE_BYTES, Heap

BASE = 0x8000_0000


def small_heap(pages: int = 8) -> Heap:
    return Heap("test", BASE, pages * PAGE_BYTES)


def test_first_fit_takes_the_lowest_hole_that_is_large_enough() -> None:
    """A freed hole is used again before untouched space, if it fits."""
    heap = small_heap()
    first, second, _ = heap.take(1), heap.take(2 * PAGE_BYTES), heap.take(1)
    heap.give(second)
    assert heap.take(3 * PAGE_BYTES) == BASE + 4 * PAGE_BYTES
    assert heap.take(2 * PAGE_BYTES) == second
    assert first == BASE


@pytest.mark.parametrize("alignment", [1, 16, 4096, 8192, 16384], ids=str)
def test_addresses_are_aligned(alignment: int) -> None:
    """An address is a multiple of the alignment asked for, and of a page."""
    heap = small_heap()
    heap.take(1)
    assert heap.take(1, alignment) % max(alignment, PAGE_BYTES) == 0


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1)], ids=str)
def test_holes_join_in_any_order(order: tuple[int, ...]) -> None:
    """When all is given back, one hole of the whole capacity is left."""
    heap = small_heap()
    taken = [heap.take(PAGE_BYTES * (i + 1)) for i in range(3)]
    for index in order:
        heap.give(taken[index])
    report = heap.report()
    assert (report.holes, report.free_bytes, report.largest_hole_bytes) == (1, 8 * PAGE_BYTES, 8 * PAGE_BYTES)


def test_exhaustion_and_fragmentation_are_distinguished() -> None:
    """The refusal says whether bytes are missing or only a hole large enough."""
    heap = small_heap(4)
    taken = [heap.take(1) for _ in range(4)]
    with pytest.raises(HeapExhausted, match="the heap is full"):
        heap.take(1)
    heap.give(taken[0])
    heap.give(taken[2])
    with pytest.raises(HeapExhausted, match=r"8192 of 16384 are free in 2 holes.*fragmented"):
        heap.take(2 * PAGE_BYTES)


@pytest.mark.parametrize(("base", "size"), [(1, 4096), (4096, 100), (4096, 0)], ids=["base", "size", "empty"])
def test_a_heap_is_whole_pages(base: int, size: int) -> None:
    """A heap that is not whole pages is refused."""
    with pytest.raises(SubmitError, match="heap_pages"):
        Heap("test", base, size)
