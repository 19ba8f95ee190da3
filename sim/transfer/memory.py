"""The device's memory: a window of addresses in which only mapped buffers exist.

Every mapping is whole pages of somebody's array, used in place. So a write granule that reaches past a buffer's
last byte still lies in that buffer's own pages. Mappings sit in a sorted list, found by bisection.
"""

from bisect import bisect_right
from collections.abc import Callable

import attrs
import numpy as np

from tessbed.sim.errors import HazardError, MemoryFault
from tessbed.sim.spec.device_spec import MemorySpec
from tessbed.sim.spec.limits import PAGE_BYTES


@attrs.frozen(eq=False)
class Mapping:
    """An array of whole pages at a device address. `array` and `view`: 1-D uint8, used in place; `end` is exclusive."""

    address: int
    end: int
    array: np.ndarray
    writable: bool
    name: str
    view: memoryview = attrs.field(init=False, repr=False)

    @view.default  # pyright: ignore[reportAttributeAccessIssue]
    def _view(self) -> memoryview:
        return self.array.data


@attrs.define(eq=False)
class DeviceMemory:
    """The window of `spec` and what is mapped in it. `on_change` is called after each change of the mappings.

    `latest` says where the latest access of its sort, a write or not, was, if that is still mapped.
    """

    spec: MemorySpec
    on_change: Callable[[], None] | None = attrs.field(default=None, init=False)
    _starts: list[int] = attrs.field(factory=list, init=False)
    _mappings: list[Mapping] = attrs.field(factory=list, init=False)
    _latest: dict[bool, Mapping | None] = attrs.field(factory=dict, init=False)
    latest: Callable[[bool], Mapping | None] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.latest = self._latest.get

    @property
    def mappings(self) -> tuple[Mapping, ...]:
        """Everything mapped, by address."""
        return tuple(self._mappings)

    def map(self, address: int, array: np.ndarray, *, writable: bool = True, name: str = "") -> Mapping:
        """Show `array` (1-D C-contiguous uint8, whole pages) to the device at `address` (page aligned).

        Raises HazardError for what the translator cannot hold: outside the window, overlapping, misaligned.
        """
        mapping = Mapping(address, address + array.size, array, writable, name)
        index = bisect_right(self._starts, address)
        self._admit(mapping, self._mappings[max(index - 1, 0) : index + 1])
        self._starts.insert(index, address)
        self._mappings.insert(index, mapping)
        self._changed()
        return mapping

    def unmap(self, mapping: Mapping) -> None:
        """Take a mapping away: accesses that arrive from this tick on fault, earlier ones still reach its array."""
        index = bisect_right(self._starts, mapping.address) - 1
        if index < 0 or self._mappings[index] is not mapping:
            raise HazardError(f"{mapping.name or 'a buffer'} at {mapping.address:#x} is not mapped")
        del self._starts[index], self._mappings[index]
        self._latest.clear()
        self._changed()

    def view(self, address: int, nbytes: int, *, write: bool) -> np.ndarray:
        """The bytes [address, address + nbytes) in place, read-only unless `write`; raises MemoryFault."""
        mapping = self._admitted(address, nbytes, write)
        offset = address - mapping.address
        view = mapping.array[offset : offset + nbytes]
        view.flags.writeable = write
        return view

    def locate(self, address: int, nbytes: int, write: bool) -> tuple[memoryview, int]:
        """What holds [address, address + nbytes) and where in it; raises MemoryFault."""
        mapping = self._admitted(address, nbytes, write)
        return mapping.view, address - mapping.address

    def _admitted(self, address: int, nbytes: int, write: bool) -> Mapping:
        mapping = self._latest.get(write)
        if mapping is None or address < mapping.address or address + nbytes > mapping.end:
            mapping = self._latest[write] = self._find(address, nbytes)
        if write and not mapping.writable:
            raise MemoryFault("read_only", address, nbytes)
        return mapping

    def _changed(self) -> None:
        if self.on_change is not None:
            self.on_change()

    def _find(self, address: int, nbytes: int) -> Mapping:
        base, limit = self.spec.window_base, self.spec.end_address
        if address < base or address + nbytes > limit:
            raise MemoryFault("outside_window", address, nbytes)
        index = bisect_right(self._starts, address) - 1
        if index < 0 or address >= self._mappings[index].end:
            raise MemoryFault("unmapped", address, nbytes)
        if address + nbytes > self._mappings[index].end:
            raise MemoryFault("straddles", address, nbytes)
        return self._mappings[index]

    def _admit(self, mapping: Mapping, neighbours: list[Mapping]) -> None:
        array, name = mapping.array, mapping.name or "a buffer"
        base, limit = self.spec.window_base, self.spec.end_address
        problems = {
            "is not a 1-D C-contiguous uint8 array": array.ndim != 1
            or array.dtype != np.uint8
            or not array.flags.c_contiguous,
            "is not one or more whole pages": array.size == 0 or array.size % PAGE_BYTES != 0,
            "is not page aligned": mapping.address % PAGE_BYTES != 0,
            "is outside the window": mapping.address < base or mapping.end > limit,
            "is read-only storage mapped writable": mapping.writable and not array.flags.writeable,
            "overlaps another mapping": any(
                other.address < mapping.end and mapping.address < other.end for other in neighbours
            ),
        }
        for problem, present in problems.items():
            if present:
                raise HazardError(f"{name} of {array.size} bytes at {mapping.address:#x} {problem}")


@attrs.frozen(eq=False)
class MemoryProbe:
    """What firmware may ask of memory: whether a range can be accessed. It reads and writes by DMA only."""

    _memory: DeviceMemory

    def readable(self, address: int, nbytes: int) -> bool:
        """Whether [address, address + nbytes) is mapped, in one piece."""
        return self._can(address, nbytes, write=False)

    def writable(self, address: int, nbytes: int) -> bool:
        """Whether it is mapped, in one piece, and may be written."""
        return self._can(address, nbytes, write=True)

    def _can(self, address: int, nbytes: int, *, write: bool) -> bool:
        try:
            self._memory.locate(address, nbytes, write)
        except MemoryFault:
            return False
        return True


SCRATCH_FILL = 0xDB
