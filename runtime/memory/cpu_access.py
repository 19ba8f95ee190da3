"""The CPU's side of a view: reads, writes and cache maintenance, the same calls whatever the buffer's policy.

On an uncached buffer the maintenance calls have nothing to do, so code that is right for a cached buffer is right
there. Whatever the policy, what a job in flight uses is watched at every read and write.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import attrs
import numpy as np

from tessbed.kernels.errors import BindingError
from tessbed.runtime.memory.coherency import Access, Coherency


@attrs.frozen(eq=False)
class CpuSide:
    """The bytes [start, end) of `buffer`, a Buffer. Every call raises LifetimeError once the buffer is closed."""

    buffer: Any
    start: int
    end: int

    @property
    def coherency(self) -> Coherency | None:
        """The state of the CPU's cache, None where the buffer is uncached."""
        return self.buffer.live("cpu").coherency

    def read(self) -> np.ndarray:
        """What the CPU sees, read-only, in place, 1-D uint8. May raise CoherencyError."""
        allocation = self.buffer.live("cpu")
        if allocation.coherency is not None:
            return allocation.coherency.read(self.start, self.end)
        allocation.guard.check(self.start, self.end, written=False)
        seen = allocation.storage[self.start : self.end]
        seen.flags.writeable = False
        return seen

    def modify(self) -> np.ndarray:
        """The bytes for the CPU to write, in place, 1-D uint8. May raise CoherencyError."""
        allocation = self.buffer.live("cpu")
        if allocation.coherency is not None:
            return allocation.coherency.modify(self.start, self.end)
        allocation.guard.check(self.start, self.end, written=True)
        return allocation.storage[self.start : self.end]

    def write(self, data: np.ndarray | bytes) -> None:
        """Write `data`, as long as the view. May raise CoherencyError, BindingError; then nothing is written."""
        given = self._checked(data)
        self.modify()[:] = given

    def flush(self) -> None:
        """Clean the lines that the view touches: the device sees what the CPU wrote."""
        if self.coherency is not None:
            self.coherency.flush(self.start, self.end)

    def invalidate(self) -> None:
        """Clean and invalidate the lines that the view touches: the CPU sees what the device wrote."""
        if self.coherency is not None:
            self.coherency.invalidate(self.start, self.end)

    def begin(self, access: Access = Access.READ_WRITE) -> None:
        """Open CPU access to the whole buffer. Raises BindingError for what is no Access."""
        if not isinstance(access, Access):
            raise BindingError("type", self._where, f"got access {access!r}, wanted a member of Access")
        if self.coherency is not None:
            self.coherency.begin(access)

    def finish(self) -> None:
        """Close CPU access to the whole buffer."""
        if self.coherency is not None:
            self.coherency.end()

    @contextmanager
    def access(self, access: Access = Access.READ_WRITE) -> Iterator["CpuSide"]:
        """Begin, and end behind the block."""
        self.begin(access)
        try:
            yield self
        finally:
            self.finish()

    @property
    def _where(self) -> str:
        return f"buffer {self.buffer.name!r}"

    def _checked(self, data: np.ndarray | bytes) -> np.ndarray:
        """The bytes of `data`. Raises BindingError where they are not bytes, or not as many as the view has."""
        try:
            given = np.frombuffer(data, np.uint8)
        except (TypeError, ValueError, BufferError) as error:
            text = f"got {type(data).__name__}, wanted a contiguous array or bytes ({error})"
            raise BindingError("type", self._where, text) from None
        if given.size != self.end - self.start:
            text = f"got {given.size} bytes to write, wanted {self.end - self.start}, as many as the view has"
            raise BindingError("length", self._where, text)
        return given
