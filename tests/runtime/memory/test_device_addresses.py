"""Device addresses: the heap of what every device sees, and jobs that take and give back one after the other."""

import pytest

from tessbed.runtime import Runtime
from tessbed.runtime.errors import HeapExhausted
from tessbed.runtime.memory.device_addresses import SuccessiveJobs, device_heap, endless_heap
from tessbed.sim.spec.device_spec import MemorySpec
from tests.runtime.bench import make_device

PAGE = 4096


def window(base: int, pages: int) -> MemorySpec:
    """A window of so many pages."""
    return MemorySpec(window_base=base, window_bytes=pages * PAGE)


WINDOWS = {
    "one": ([window(8 * PAGE, 4)], 8 * PAGE, 4 * PAGE),
    "at address 0": ([window(0, 4)], PAGE, 3 * PAGE),
    "what two share": ([window(0, 9), window(4 * PAGE, 9)], 4 * PAGE, 5 * PAGE),
}


@pytest.mark.parametrize("case", WINDOWS)
def test_the_heap_is_what_every_window_holds_but_for_the_page_of_address_0(case: str) -> None:
    """The heap's first address and size are worked out by hand."""
    memories, first, size = WINDOWS[case]
    heap = device_heap(memories)
    assert (heap.base, heap.capacity_bytes) == (first, size)


def test_successive_jobs_lie_where_a_runtime_puts_them() -> None:
    """Buffers come first, behind them for good the control block of the first packet; the next job fills the hole."""
    jobs = SuccessiveJobs(device_heap([window(8 * PAGE, 8)]))
    assert jobs.addresses([1, 1], packet=False) == [8 * PAGE, 9 * PAGE]
    assert jobs.addresses([PAGE + 1, 1], packet=True) == [8 * PAGE, 10 * PAGE, 11 * PAGE, 12 * PAGE]
    assert jobs.addresses([3 * PAGE, PAGE], packet=True) == [8 * PAGE, 13 * PAGE]
    assert jobs.addresses([2 * PAGE, 2 * PAGE], packet=True) == [8 * PAGE, 13 * PAGE]


def test_a_runtime_follows_the_same_rule() -> None:
    """The addresses that an allocator gives to two buffers and to a control block are those of `SuccessiveJobs`."""
    runtime = Runtime(make_device())
    source, target = runtime.allocate(5000), runtime.allocate(100)
    block = runtime.submitter.control.take()
    found = [buffer.allocation.address for buffer in (source, target, block.packet, block.record)]
    memory = runtime.devices[0].spec.memory
    assert found == SuccessiveJobs(device_heap([memory])).addresses([5000, 100], packet=True)


def test_a_job_that_does_not_fit_takes_nothing() -> None:
    """After HeapExhausted the heap is as it was, and a smaller job finds all of it."""
    jobs = SuccessiveJobs(device_heap([window(8 * PAGE, 4)]))
    with pytest.raises(HeapExhausted):
        jobs.addresses([2 * PAGE, PAGE], packet=True)
    assert jobs.heap.report().free_bytes == 4 * PAGE
    assert jobs.addresses([PAGE, PAGE], packet=True) == [8 * PAGE, 9 * PAGE, 10 * PAGE, 11 * PAGE]


def test_the_end_of_a_job_counts_its_control_block() -> None:
    """`end` is the end of the last page that a job takes, whatever the window holds."""
    jobs = SuccessiveJobs(endless_heap(window(0, 1)))
    assert jobs.end([PAGE, 1], packet=True) == 5 * PAGE
    assert jobs.end([PAGE, 1], packet=True) == 3 * PAGE
    assert jobs.end([3 * PAGE, 1], packet=True) == 8 * PAGE
