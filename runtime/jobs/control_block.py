"""Control blocks: the page that holds a job's packet and the page that takes its completion record.

Blocks are pooled, because mapping pages for every job would cost more than the job. A pooled block is the classic
buffer reused too early: it goes back to the pool only when its job releases it, and its record is made invalid
before the next submission, so an old record can not pass for a new one.
"""

import attrs
import numpy as np

from tessbed.runtime.errors import LifetimeError, SubmitError
from tessbed.runtime.memory.allocator import Allocator
from tessbed.runtime.memory.buffers import Buffer
from tessbed.runtime.memory.device_addresses import PACKET_PAGE_BYTES, RECORD_PAGE_BYTES
from tessbed.sim.completion_record import RECORD_BYTES, Record, decode_record

BLANK = 0xA5


@attrs.define(eq=False, repr=False)
class ControlBlock:
    """One packet page, read-only for the device, and one record page."""

    pool: "ControlPool"
    packet: Buffer
    record: Buffer
    holder: str | None = attrs.field(default=None, init=False)

    def load(self, raw: bytes) -> None:
        """Put the packet in place and make the old record invalid. Raises SubmitError beyond one page."""
        if not 1 <= len(raw) <= PACKET_PAGE_BYTES:
            raise SubmitError("packet_bytes", "packet", f"got {len(raw)} bytes, wanted 1 to {PACKET_PAGE_BYTES}")
        self.packet.host[: len(raw)] = np.frombuffer(raw, np.uint8)
        self.record.host[:RECORD_BYTES] = BLANK

    def read_record(self, cookie: int) -> Record | None:
        """The completion record of the job with this cookie, None where there is none or it is damaged."""
        record = decode_record(self.record.host[:RECORD_BYTES].tobytes())
        return record if record is not None and record.cookie == cookie else None

    def hold(self, holder: str) -> None:
        """Taken by a job; one at a time."""
        if self.holder is not None:
            raise LifetimeError(f"a control block of {self.holder} is given to {holder}")
        self.holder = holder

    def drop(self, holder: str) -> None:
        """Back to the pool."""
        if self.holder != holder:
            raise LifetimeError(f"{holder} drops a control block of {self.holder or 'nobody'}")
        self.holder = None
        self.pool.idle.append(self)


@attrs.define(eq=False, repr=False)
class ControlPool:
    """All control blocks of a runtime."""

    allocator: Allocator
    idle: list[ControlBlock] = attrs.field(factory=list, init=False)
    blocks: list[ControlBlock] = attrs.field(factory=list, init=False)

    def take(self) -> ControlBlock:
        """An idle block, a new one where there is none. Raises HeapExhausted."""
        if self.idle:
            return self.idle.pop()
        packet = self.allocator.allocate(PACKET_PAGE_BYTES, name="packet page", writable=False)
        try:
            record = self.allocator.allocate(RECORD_PAGE_BYTES, name="record page")
        except MemoryError:
            packet.close()
            raise
        self.blocks.append(ControlBlock(self, packet, record))
        return self.blocks[-1]

    def close(self) -> None:
        """Free the idle blocks; one that a job still holds stays, and shows among the leaks."""
        for block in self.idle:
            block.packet.close()
            block.record.close()
        self.blocks = [block for block in self.blocks if block not in self.idle]
        self.idle.clear()
