"""Buffers as their owners hold them: an allocation, the handles on it, and views of it.

An `Allocation` is storage at a device address. It counts its references by holder: every open handle is one, every
job that may still touch it is one, every export is one. The last reference that goes frees it, so closing a handle
early only defers the release. A `Buffer` is a handle, a `View` is {buffer, offset, length} and holds nothing by
itself, as a DMA-BUF view does. Using or closing a closed handle raises LifetimeError with the places where it was
made and closed.
"""

from collections import Counter
from collections.abc import Callable

import attrs
import numpy as np

from tessbed.kernels.errors import BindingError
from tessbed.runtime.call_site import caller
from tessbed.runtime.errors import LifetimeError
from tessbed.runtime.identity import Identity
from tessbed.runtime.integers import integer
from tessbed.runtime.memory.coherency import Coherency, CpuGuard
from tessbed.runtime.memory.cpu_access import CpuSide

HANDLE = "open handle"
EXPORT = "export"


@attrs.define(eq=False, repr=False)
class Allocation:
    """Whole pages of `storage` at device `address`; `nbytes` of them were asked for.

    `mapped` is False where the address is outside the device's window: the CPU may use it, the device would fault.
    """

    name: str
    address: int
    nbytes: int
    storage: np.ndarray
    writable: bool
    mapped: bool
    made_at: str
    release: Callable[["Allocation"], None]
    guard: CpuGuard
    owner: Identity
    coherency: Coherency | None = None
    references: Counter[str] = attrs.field(factory=Counter, init=False)
    freed: bool = attrs.field(default=False, init=False)

    def hold(self, holder: str) -> None:
        """One more reference of `holder`. Raises LifetimeError after the last was dropped."""
        if self.freed:
            raise LifetimeError(f"{self}: held by {holder} after it was freed")
        self.references[holder] += 1

    def drop(self, holder: str) -> None:
        """One reference of `holder` less; the last of all frees the storage. Raises LifetimeError where it has none."""
        if self.references[holder] < 1:
            raise LifetimeError(f"{self}: {holder} drops a reference that it does not have")
        self.references[holder] -= 1
        if not self.references[holder]:
            del self.references[holder]
        if not self.references:
            self.freed = True
            self.release(self)

    def host(self, start: int, end: int) -> np.ndarray:
        """The storage from `start` to `end`, for the CPU past its cache. May raise CoherencyError."""
        if self.coherency is not None:
            self.coherency.check_bypass()
        elif self.guard.in_flight.jobs:
            self.guard.check(start, end, written=True)
        return self.storage[start:end]

    @property
    def holders(self) -> tuple[str, ...]:
        """Who still holds a reference, sorted, each with its count where it is more than one."""
        return tuple(sorted(who if n == 1 else f"{who} (x{n})" for who, n in self.references.items()))

    def __str__(self) -> str:
        return f"buffer {self.name!r} ({self.nbytes} bytes at {self.address:#x}, made at {self.made_at})"


@attrs.define(eq=False)
class Buffer:
    """One handle on an allocation. Close it, or use it in a `with` statement."""

    allocation: Allocation
    closed_at: str | None = attrs.field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self.allocation.hold(HANDLE)

    @property
    def address(self) -> int:
        """Device address of the first byte."""
        return self.live("address").address

    @property
    def capacity(self) -> int:
        """Accessible bytes: as many as were asked for."""
        return self.live("capacity").nbytes

    @property
    def name(self) -> str:
        """The name given at allocation, for messages only."""
        return self.allocation.name

    @property
    def host(self) -> np.ndarray:
        """The storage itself, 1-D uint8 of `capacity` bytes: what the device sees. For uncached buffers.

        Whoever has it may write, so it counts as a write: while a job uses any of these bytes it is a finding.
        `cpu.read()` reads what a job in flight only reads. An array taken earlier is not watched.
        """
        allocation = self.live("host")
        return allocation.host(0, allocation.nbytes)

    @property
    def closed(self) -> bool:
        """True once this handle is closed; the storage may live on for others."""
        return self.closed_at is not None

    def view(self, offset: int = 0, length: int | None = None) -> "View":
        """`length` bytes from `offset`, to the end without one. Raises BindingError for what does not fit."""
        capacity = self.live("view").nbytes
        return View(self, offset, _part(f"buffer {self.name!r}", "buffer", offset, length, capacity))

    @property
    def cpu(self) -> CpuSide:
        """The bytes as the CPU sees them, as `View.cpu`."""
        return self.view().cpu

    def share(self) -> "Buffer":
        """Another handle on the same storage, to be closed on its own."""
        return Buffer(self.live("share"))

    def close(self) -> None:
        """Give this handle back. Storage that a job may still touch is freed only when that job has retired.

        Raises LifetimeError when closed twice, with both places.
        """
        if self.closed_at is not None:
            here = caller()
            raise LifetimeError(f"{self.allocation}: closed twice, first at {self.closed_at}, now at {here}")
        self.closed_at = caller()
        self.allocation.drop(HANDLE)

    def __enter__(self) -> "Buffer":
        return self

    def __exit__(self, *_: object) -> None:
        if not self.closed:
            self.close()

    def live(self, use: str) -> Allocation:
        """The allocation for `use`. Raises LifetimeError where this handle is closed."""
        if self.closed_at is not None:
            raise LifetimeError(f"{self.allocation}: .{use} used at {caller()} after close at {self.closed_at}")
        return self.allocation


@attrs.frozen
class View:
    """`length` bytes of a buffer from `offset`. A plain value: it is as good as its buffer is open."""

    buffer: Buffer
    offset: int
    length: int

    @property
    def address(self) -> int:
        """Device address of the first byte."""
        return self.buffer.address + self.offset

    @property
    def host(self) -> np.ndarray:
        """The bytes themselves, 1-D uint8, as `Buffer.host`. May raise CoherencyError."""
        return self.buffer.live("host").host(self.offset, self.offset + self.length)

    @property
    def cpu(self) -> CpuSide:
        """The bytes as the CPU sees them, through its cache where the buffer is cached."""
        self.buffer.live("cpu")
        return CpuSide(self.buffer, self.offset, self.offset + self.length)

    def view(self, offset: int = 0, length: int | None = None) -> "View":
        """A part of this view, offset and length in bytes. Raises BindingError for one that leaves it."""
        length = _part(f"a view of buffer {self.buffer.name!r}", "view", offset, length, self.length)
        return self.buffer.view(self.offset + offset, length)


def _part(where: str, whole: str, offset: object, length: object, limit: int) -> int:
    """The length of a part of `limit` bytes. Raises BindingError for one that leaves them, or is no integer."""
    start = integer(offset)
    count = integer(limit - start if length is None and start is not None else length)
    if start is None or count is None:
        text = f"got {length!r} bytes at offset {offset!r}, wanted integers"
        raise BindingError("view", where, text)
    if start < 0 or count < 0 or start + count > limit:
        text = f"got {count} bytes at offset {start}, wanted them inside the {whole}'s {limit} bytes"
        raise BindingError("view", where, text)
    return count
