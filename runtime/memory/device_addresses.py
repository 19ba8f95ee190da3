"""Device addresses: where storage lies that a runtime hands out, as one rule for whoever must know it.

- A heap holds the whole window, but for address 0 and its page: 0 in a packet means unbound. Several devices share what
  all of their windows hold.
- It hands out whole pages, one at least, the lowest that fit (`heap`).
- A job takes its input, then its output. The first that submits a packet also takes the pages of a control block behind
  them, for good: the block is pooled, and the next job finds it idle.

The allocator follows this with storage; what knows jobs only by their sizes, and runs them one after the other, follows
it with `SuccessiveJobs`.
"""

from collections.abc import Iterable, Sequence

import attrs

from tessbed.runtime.memory.heap import PAGE_BYTES, Heap, page_round
from tessbed.sim.spec.device_spec import MemorySpec

PACKET_PAGE_BYTES = RECORD_PAGE_BYTES = PAGE_BYTES
CONTROL_BLOCK_BYTES = (PACKET_PAGE_BYTES, RECORD_PAGE_BYTES)
"""A control block: the page of a packet, then the page of its record."""
ENDLESS_BYTES = 1 << 80


def device_heap(memories: Iterable[MemorySpec]) -> Heap:
    """The heap of all addresses that every one of these devices sees."""
    memories = tuple(memories)
    first = max(memory.first_address for memory in memories)
    return Heap("device", first, min(memory.end_address for memory in memories) - first)


def endless_heap(memory: MemorySpec) -> Heap:
    """The heap of a device whose window has no end."""
    return Heap("device", memory.first_address, ENDLESS_BYTES)


@attrs.define
class SuccessiveJobs:
    """The addresses of jobs that run on one device one after the other, each giving its buffers back at its end."""

    heap: Heap
    controlled: bool = attrs.field(default=False, init=False)

    def addresses(self, sizes: Sequence[int], *, packet: bool) -> list[int]:
        """Where the buffers of the next job lie, and its control block if it is the first that submits a `packet`.

        Raises HeapExhausted where they do not fit; nothing of the job is taken then.
        """
        fresh = packet and not self.controlled
        taken: list[int] = []
        try:
            for size in (*sizes, *(CONTROL_BLOCK_BYTES if fresh else ())):
                taken.append(self.heap.take(size))
        except MemoryError:
            self._give(taken)
            raise
        self.controlled = self.controlled or packet
        self._give(taken[: len(sizes)])
        return taken

    def end(self, sizes: Sequence[int], *, packet: bool) -> int:
        """Where the storage of the next job ends, its control block included if it takes one."""
        blocks = (*sizes, *CONTROL_BLOCK_BYTES)
        addresses = self.addresses(sizes, packet=packet)
        return max(address + page_round(size) for address, size in zip(addresses, blocks, strict=False))

    def _give(self, addresses: Iterable[int]) -> None:
        for address in addresses:
            self.heap.give(address)
