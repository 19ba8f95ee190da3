"""The CPU's side of a view: reads, writes and cache maintenance, the same calls whatever the buffer's policy.

On an uncached buffer the maintenance calls have nothing to do, so code that is right for a cached buffer is right
there.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import attrs
import numpy as np

from tessbed.runtime.coherency import Access, Coherency


@attrs.frozen(eq=False)
class CpuSide:
    """The bytes [start, end) of an allocation's storage; `coherency` is None where it is uncached."""

    storage: np.ndarray
    coherency: Coherency | None
    start: int
    end: int

    def read(self) -> np.ndarray:
        """What the CPU sees, read-only, in place. May raise CoherencyError."""
        if self.coherency is not None:
            return self.coherency.read(self.start, self.end)
        seen = self.storage[self.start : self.end]
        seen.flags.writeable = False
        return seen

    def modify(self) -> np.ndarray:
        """The bytes for the CPU to write, in place. May raise CoherencyError."""
        if self.coherency is not None:
            return self.coherency.modify(self.start, self.end)
        return self.storage[self.start : self.end]

    def write(self, data: np.ndarray | bytes) -> None:
        """Write `data`, as long as the view."""
        self.modify()[:] = np.frombuffer(data, np.uint8)

    def flush(self) -> None:
        """Clean the lines that the view touches: the device sees what the CPU wrote."""
        if self.coherency is not None:
            self.coherency.flush(self.start, self.end)

    def invalidate(self) -> None:
        """Clean and invalidate the lines that the view touches: the CPU sees what the device wrote."""
        if self.coherency is not None:
            self.coherency.invalidate(self.start, self.end)

    def begin(self, access: Access = Access.READ_WRITE) -> None:
        """Open CPU access to the whole buffer."""
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
