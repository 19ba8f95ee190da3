"""A heap of device addresses: first fit, lowest address first, adjacent holes merged when freed.

Addresses only: storage belongs to `allocator`. Everything is whole pages, because the device maps pages and because
a write granule at the end of a buffer reaches past its last byte.
"""

from bisect import bisect_right

import attrs

from tessbed.runtime.errors import HeapExhausted, SubmitError
from tessbed.sim.spec.limits import PAGE_BYTES


def page_round(nbytes: int) -> int:
    """`nbytes` rounded up to whole pages, one at least."""
    return max(1, -(-nbytes // PAGE_BYTES)) * PAGE_BYTES


@attrs.frozen
class HeapReport:
    """What is left of a heap, in bytes."""

    capacity_bytes: int
    free_bytes: int
    largest_hole_bytes: int
    holes: int
    taken: int


@attrs.define(eq=False)
class Heap:
    """`capacity_bytes` of addresses from `base`; both page aligned."""

    name: str
    base: int
    capacity_bytes: int
    _starts: list[int] = attrs.field(init=False)
    _ends: list[int] = attrs.field(init=False)
    _taken: dict[int, int] = attrs.field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        if self.base % PAGE_BYTES or self.capacity_bytes % PAGE_BYTES or self.capacity_bytes <= 0 or self.base < 0:
            text = f"got base {self.base:#x} and {self.capacity_bytes} bytes, wanted multiples of {PAGE_BYTES}"
            raise SubmitError("heap_pages", f"heap {self.name}", text)
        self._starts, self._ends = [self.base], [self.base + self.capacity_bytes]

    def report(self) -> HeapReport:
        """The heap's state now."""
        sizes = [end - start for start, end in zip(self._starts, self._ends, strict=True)]
        return HeapReport(self.capacity_bytes, sum(sizes), max(sizes, default=0), len(sizes), len(self._taken))

    def take(self, nbytes: int, alignment_bytes: int = PAGE_BYTES) -> int:
        """An address with `nbytes` rounded up to pages behind it. Raises HeapExhausted."""
        need, alignment = page_round(nbytes), max(alignment_bytes, PAGE_BYTES)
        for hole, (start, end) in enumerate(zip(self._starts, self._ends, strict=True)):
            address = -(-start // alignment) * alignment
            if address + need <= end:
                self._cut(hole, address, address + need)
                self._taken[address] = need
                return address
        raise HeapExhausted(self._refusal(need))

    def give(self, address: int) -> None:
        """Give back what `take` returned, once."""
        end = address + self._taken.pop(address)
        index = bisect_right(self._starts, address)
        if index < len(self._starts) and self._starts[index] == end:
            end = self._ends[index]
            del self._starts[index], self._ends[index]
        if index and self._ends[index - 1] == address:
            self._ends[index - 1] = end
        else:
            self._starts.insert(index, address)
            self._ends.insert(index, end)

    def holds(self, address: int) -> bool:
        """True where a taken range starts at `address`."""
        return address in self._taken

    def _cut(self, hole: int, address: int, end: int) -> None:
        """Take [address, end) out of a hole, leaving what is before and behind it."""
        start, limit = self._starts[hole], self._ends[hole]
        parts = [(low, high) for low, high in ((start, address), (end, limit)) if low < high]
        self._starts[hole : hole + 1] = [low for low, _ in parts]
        self._ends[hole : hole + 1] = [high for _, high in parts]

    def _refusal(self, need: int) -> str:
        report = self.report()
        why = "the heap is full" if report.free_bytes < need else "the heap is fragmented"
        return (
            f"heap {self.name}: wanted {need} bytes, {report.free_bytes} of {report.capacity_bytes} are free in"
            f" {report.holes} holes, the largest of {report.largest_hole_bytes}: {why}"
        )
