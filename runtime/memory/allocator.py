"""The allocator: storage at device addresses, mapped for every device; knows all live allocations, to report leaks."""

from collections.abc import Callable

import attrs
import numpy as np

from tessbed.runtime.call_site import caller
from tessbed.runtime.errors import LifetimeError, SubmitError
from tessbed.runtime.identity import Identity, text_name
from tessbed.runtime.integers import integer, whole_number
from tessbed.runtime.memory import storage_entry
from tessbed.runtime.memory.buffers import EXPORT, Allocation, Buffer, View
from tessbed.runtime.memory.coherency import Coherency, CoherencyFinding, CpuGuard, Policy, raise_finding
from tessbed.runtime.memory.cpu_cache import Cache
from tessbed.runtime.memory.heap import PAGE_BYTES, Heap, page_round
from tessbed.runtime.memory.in_flight import JobsInFlight
from tessbed.sim.transfer.memory import DeviceMemory, Mapping

HEAP_FILL = 0xA5


@attrs.frozen
class Leak:
    """An allocation that still lives: who holds it, how much it is, where it was made."""

    name: str
    nbytes: int
    made_at: str
    holders: tuple[str, ...]

    def __str__(self) -> str:
        return f"buffer {self.name!r} of {self.nbytes} bytes, made at {self.made_at}, held by {', '.join(self.holders)}"


@attrs.define(eq=False, repr=False)
class Handle:
    """An exported view {buffer, offset, length} that outlives its maker. It is one reference until it is closed."""

    allocation: Allocation
    offset: int
    length: int
    closed_at: str | None = attrs.field(default=None, init=False)

    def close(self) -> None:
        """Give the export's reference back. Raises LifetimeError when closed twice, with both places."""
        self.check_open("closed again")
        self.closed_at = caller()
        self.allocation.drop(EXPORT)

    def check_open(self, use: str) -> None:
        """Raise LifetimeError where this handle is closed."""
        if self.closed_at is not None:
            text = f"{self.allocation}: an export of it is {use} at {caller()} after close at {self.closed_at}"
            raise LifetimeError(text)


@attrs.define(eq=False, repr=False)
class Allocator:
    """Heaps of addresses, and the memories of the devices that see them."""

    memories: tuple[DeviceMemory, ...]
    heaps: dict[str, Heap]
    report: Callable[[CoherencyFinding], None] | None = raise_finding
    owner: Identity = attrs.field(factory=Identity)
    _mappings: dict[Allocation, tuple[tuple[DeviceMemory, Mapping], ...]] = attrs.field(factory=dict, init=False)
    _by_storage: dict[int, Allocation] = attrs.field(factory=dict, init=False)
    _parents: dict[Allocation, Allocation] = attrs.field(factory=dict, init=False)
    _heap_of: dict[Allocation, Heap] = attrs.field(factory=dict, init=False)

    def allocate(
        self,
        nbytes: int,
        *,
        name: str = "",
        alignment: int = 16,
        prefill: int = HEAP_FILL,
        writable: bool = True,
        heap: str = "device",
        policy: Policy = Policy.UNCACHED,
    ) -> Buffer:
        """`nbytes` of storage full of `prefill`, at a multiple of `alignment`, mapped where the device can see it.

        `writable` is what the device may do. A cached buffer takes its size twice: the CPU's lines are a copy.
        Raises HeapExhausted, SubmitError for senseless sizes and on a closed runtime.
        """
        self.owner.check_open("allocate")
        _check_size(nbytes, alignment)
        whole_number("prefill", prefill, 0, 255)
        text_name("allocate", name)
        if not isinstance(writable, bool):
            raise SubmitError("type", "writable", f"got {writable!r}, wanted True or False")
        if not isinstance(policy, Policy):
            raise SubmitError("type", "policy", f"got {policy!r}, wanted a member of Policy")
        place = self._heap(heap)
        address = place.take(nbytes, alignment)
        buffer = self._adopt(place, address, nbytes, pages(nbytes, prefill), name, writable, JobsInFlight())
        if policy is not Policy.UNCACHED:
            allocation = buffer.allocation
            cache, in_flight = Cache(allocation.storage), allocation.guard.in_flight
            allocation.coherency = Coherency(allocation.name, policy, cache, self.report, in_flight)
            allocation.guard = allocation.coherency.guard
        return buffer

    def export(self, port: View | Buffer) -> Handle:
        """A handle on the view's storage that keeps it alive; give it to another runtime's `adopt`.

        Raises BindingError for a view of another runtime, LifetimeError, SubmitError on a closed runtime.
        """
        self.owner.check_open("export")
        view = storage_entry.view(self.owner, "export", port)
        allocation = view.buffer.live("export")
        allocation.hold(EXPORT)
        return Handle(allocation, view.offset, view.length)

    def adopt(self, handle: Handle, *, name: str = "", heap: str = "device") -> View:
        """The exported view in this runtime: the same bytes. Close its `.buffer` when done with it.

        Storage that is here already keeps its address: two addresses for one byte would hide conflicts.
        Raises LifetimeError for a handle that is closed or storage that has been freed, HeapExhausted, SubmitError for
        what is no handle and on a closed runtime.
        """
        self.owner.check_open("adopt")
        if not isinstance(handle, Handle):
            raise SubmitError("type", "adopt", f"got {type(handle).__name__}, wanted a Handle that `export` returned")
        text_name("adopt", name)
        handle.check_open("imported")
        allocation = handle.allocation
        if allocation.freed:
            raise LifetimeError(f"{allocation}: imported after it was freed")
        known = self._by_storage.get(id(allocation.storage))
        if known is not None:
            return Buffer(known).view(handle.offset, handle.length)
        place = self._heap(heap)
        address = place.take(allocation.storage.size)
        label = name or allocation.name
        in_flight, nbytes = allocation.guard.in_flight, allocation.nbytes
        buffer = self._adopt(place, address, nbytes, allocation.storage, label, allocation.writable, in_flight)
        allocation.hold(EXPORT)
        self._parents[buffer.allocation] = allocation
        if allocation.coherency is not None:
            buffer.allocation.coherency, buffer.allocation.guard = allocation.coherency, allocation.guard
        return buffer.view(handle.offset, handle.length)

    @property
    def living(self) -> tuple[Allocation, ...]:
        """Every allocation that is not freed, in order of address."""
        return tuple(sorted(self._mappings, key=lambda allocation: allocation.address))

    @property
    def leaks(self) -> tuple[Leak, ...]:
        """Everything that lives, in order of address."""
        return tuple(Leak(item.name, item.nbytes, item.made_at, item.holders) for item in self.living)

    def add_heap(self, name: str, base: int, capacity_bytes: int) -> None:
        """One more heap. Outside the device's window it serves the CPU only. Raises SubmitError when ranges meet."""
        self.owner.check_open("add_heap")
        new = Heap(text_name("add_heap", name), base, capacity_bytes)
        for heap in self.heaps.values():
            if base < heap.base + heap.capacity_bytes and heap.base < base + capacity_bytes:
                raise SubmitError("heap_overlap", f"heap {name}", f"its addresses meet those of heap {heap.name}")
        self.heaps[name] = new

    def _heap(self, name: str) -> Heap:
        if not isinstance(name, str) or name not in self.heaps:
            raise SubmitError("heap", f"heap {name}", f"no such heap, there are {', '.join(self.heaps)}")
        return self.heaps[name]

    def _adopt(
        self,
        heap: Heap,
        address: int,
        nbytes: int,
        storage: np.ndarray,
        name: str,
        writable: bool,
        in_flight: JobsInFlight,
    ) -> Buffer:
        label = name or f"at {address:#x}"
        seen = [memory for memory in self.memories if in_window(memory, address, storage.size)]
        maps = tuple((memory, memory.map(address, storage, writable=writable, name=label)) for memory in seen)
        guard = CpuGuard(label, in_flight, self.report)
        allocation = Allocation(
            label, address, nbytes, storage, writable, bool(maps), caller(), self._free, guard, self.owner
        )
        self._mappings[allocation] = maps
        self._heap_of[allocation] = heap
        self._by_storage[id(storage)] = allocation
        return Buffer(allocation)

    def _free(self, allocation: Allocation) -> None:
        for memory, mapping in self._mappings.pop(allocation):
            memory.unmap(mapping)
        self._heap_of.pop(allocation).give(allocation.address)
        del self._by_storage[id(allocation.storage)]
        parent = self._parents.pop(allocation, None)
        if parent is not None:
            parent.drop(EXPORT)


def in_window(memory: DeviceMemory, address: int, nbytes: int) -> bool:
    """Whether the device can see [address, address + nbytes)."""
    return memory.spec.window_base <= address and address + nbytes <= memory.spec.end_address


def pages(nbytes: int, prefill: int) -> np.ndarray:
    """Whole pages of `prefill` for `nbytes`, page aligned on the host too."""
    size = page_round(nbytes)
    raw = np.empty(size + PAGE_BYTES, np.uint8)
    start = -raw.__array_interface__["data"][0] % PAGE_BYTES
    storage = raw[start : start + size]
    storage.fill(prefill)
    return storage


def _check_size(nbytes: int, alignment: int) -> None:
    if (size := integer(nbytes)) is None or size < 0:
        raise SubmitError("size", "allocate", f"got {nbytes!r} bytes, wanted an integer of at least 0")
    if (unit := integer(alignment)) is None or unit < 1 or unit & (unit - 1):
        raise SubmitError("alignment", "allocate", f"got alignment {alignment!r}, wanted a power of two")
