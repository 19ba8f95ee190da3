"""A DMA transfer and its cost: five integers, and nowhere else does an address change a tick.

A read is one 1-D or 2-D descriptor. A drain is one chain: all descriptors that empty a slot, run in order on
one channel after one arbitration. At issue a transfer becomes (d, s, m, c, l): direction, channel ticks before
the data, port ticks, data ticks, latency. docs/simulation.md has the formulas. Since every block size divides
4096, the cost of a descriptor depends on its address only modulo 4096: classes are folded once and kept.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import attrs

from tessbed.sim.errors import HazardError
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.spec.limits import PAGE_BYTES
from tessbed.sim.transfer.block_count import covered, touched, touched_by_rows
from tessbed.sim.transfer.descriptor import Descriptor, check_fields
from tessbed.sim.transfer.descriptor_run import DescriptorRun

MOST_CACHED = 1024


Shape = tuple[int, int, int, int]


"""All of a descriptor that its cost depends on: address modulo a page, rows, row_bytes, pitch."""


DescriptorClass = tuple[int, int, int, int, int]


"""A shape, then scratch_pitch: descriptors of one class cost the same, and all of them fit the fields or none."""


RunClass = tuple[int, int, int, int, int, int, int]


"""A class, then count and address step modulo a page: runs of one class cost the same, read by read."""


class Counts(NamedTuple):
    """What a descriptor touches, by direction d: all that its cost depends on."""

    d: str
    rows: int
    payload_bytes: int
    port_bytes: int
    bursts: int
    pages: int
    partial_granules: int


class Segment(NamedTuple):
    """What one descriptor costs: `setup` is its share of s, `port` its m_j, `data` its c_j; then its counts."""

    setup_ticks: int
    port_ticks: int
    data_ticks: int
    port_bytes: int
    payload_bytes: int
    bursts: int
    pages: int
    partial_granules: int


@attrs.frozen
class TransferCost:
    """A transfer's five integers (d, s, m, c, l) and the segments they are sums of.

    `partial` says of each segment whether it has partial granules.
    """

    d: str
    s: int
    m: int
    c: int
    l: int  # noqa: E741 - the letters of the model
    segments: tuple[Segment, ...]
    port_bytes: int
    payload_bytes: int
    bursts: int
    pages: int
    partial_granules: int
    partial: tuple[bool, ...] = attrs.field(init=False, eq=False, repr=False)

    @partial.default  # pyright: ignore[reportAttributeAccessIssue]
    def _partial(self) -> tuple[bool, ...]:
        return tuple(segment.partial_granules > 0 for segment in self.segments)


@attrs.define(eq=False)
class CostTable:
    """Transfer costs transfers for one spec, keeping the descriptor classes that it has met, KEPT of each sort at most.

    `reads` are those of reads, to look into before asking; those of a run are one tuple, the same for all equal runs.
    """

    spec: DeviceSpec
    reads: dict[DescriptorClass, TransferCost] = attrs.field(factory=dict, init=False)
    _runs: dict[RunClass, tuple[TransferCost, ...]] = attrs.field(factory=dict, init=False)
    _writes: dict[DescriptorClass, Segment] = attrs.field(factory=dict, init=False)
    _drains: dict[DescriptorClass, TransferCost] = attrs.field(factory=dict, init=False)

    def read(self, descriptor: Descriptor) -> TransferCost:
        """The cost of a gather read; raises HazardError for a field that is too narrow."""
        address, _, rows, row_bytes, pitch, scratch_pitch = descriptor
        key = (address % PAGE_BYTES, rows, row_bytes, pitch, scratch_pitch)
        cost = self.reads.get(key)
        if cost is None:
            check_fields(self.spec, descriptor)
            _make_room(self.reads)
            cost = self.reads[key] = _cost("read", self.spec, (price(self.spec, count_read(self.spec, key[:4])),))
        return cost

    def read_run(self, run: DescriptorRun) -> tuple[TransferCost, ...]:
        """The cost of each gather read of a run; raises HazardError for a field that is too narrow."""
        address, _, rows, row_bytes, pitch, scratch_pitch = run.first
        key = (address % PAGE_BYTES, rows, row_bytes, pitch, scratch_pitch, run.length, run.address_step % PAGE_BYTES)
        costs = self._runs.get(key)
        if costs is None:
            _make_room(self._runs)
            costs = self._runs[key] = tuple(map(self.read, run))
        return costs

    def drain(self, descriptor: Descriptor) -> TransferCost:
        """The cost of a drain chain of one descriptor."""
        address, _, rows, row_bytes, pitch, scratch_pitch = descriptor
        key = (address % PAGE_BYTES, rows, row_bytes, pitch, scratch_pitch)
        cost = self._drains.get(key)
        if cost is None:
            _make_room(self._drains)
            cost = self._drains[key] = self.chain((descriptor,))
        return cost

    def chain(self, descriptors: Sequence[Descriptor]) -> TransferCost:
        """The cost of a drain chain; raises HazardError for a field that is too narrow or rows that overlap."""
        segments = []
        known = self._writes
        for descriptor in descriptors:
            address, _, rows, row_bytes, pitch, scratch_pitch = descriptor
            key = (address % PAGE_BYTES, rows, row_bytes, pitch, scratch_pitch)
            segment = known.get(key)
            if segment is None:
                check_fields(self.spec, descriptor)
                _make_room(known)
                segment = known[key] = price(self.spec, count_write(self.spec, key[:4]))
            segments.append(segment)
        return _cost("write", self.spec, tuple(segments))


def _make_room(known: dict[Any, Any]) -> None:
    """Forget everything when there is too much: long lives of ever new shapes must not fill the memory."""
    if len(known) >= MOST_CACHED:
        known.clear()


@lru_cache(maxsize=64)
def cost_table(spec: DeviceSpec) -> CostTable:
    """The cost table of a spec, shared by all who ask."""
    return CostTable(spec)


def _cost(d: str, spec: DeviceSpec, segments: tuple[Segment, ...]) -> TransferCost:
    if not segments:
        raise HazardError("a chain of no descriptors")
    setup, port, data, port_bytes, payload, bursts, pages, partial = map(sum, zip(*segments, strict=True))
    memory = spec.memory
    latency = memory.read_latency_ticks if d == "read" else memory.write_latency_ticks
    return TransferCost(d, setup, port, data, latency, segments, port_bytes, payload, bursts, pages, partial)


def count_read(spec: DeviceSpec, shape: Shape) -> Counts:
    """What a read descriptor of that shape touches."""
    port_bytes = spec.memory.access_bytes * touched_by_rows(*shape, spec.memory.access_bytes)
    return _counts(spec, "read", shape, port_bytes, 0)


def count_write(spec: DeviceSpec, shape: Shape) -> Counts:
    """What a descriptor of a drain touches; raises HazardError for rows that overlap."""
    _, rows, row_bytes, pitch = shape
    if rows > 1 and pitch < row_bytes:
        raise HazardError(f"a write of {rows} rows of {row_bytes} bytes overlaps itself at pitch {pitch}")
    if spec.byte_strobes:
        access = spec.memory.access_bytes
        return _counts(spec, "write", shape, access * touched_by_rows(*shape, access), 0)
    granule = spec.write_granule_bytes
    granules = touched(*shape, granule)
    partial = granules - covered(*shape, granule)
    return _counts(spec, "write", shape, granule * (granules + partial), partial)


def _counts(spec: DeviceSpec, d: str, shape: Shape, port_bytes: int, partial: int) -> Counts:
    _, rows, row_bytes, _ = shape
    bursts = touched_by_rows(*shape, spec.dma.burst_bytes)
    return Counts(d, rows, rows * row_bytes, port_bytes, bursts, touched(*shape, PAGE_BYTES), partial)


def price(spec: DeviceSpec, counts: Counts) -> Segment:
    """The ticks of a descriptor: from here on no address matters."""
    dma, memory = spec.dma, spec.memory
    d, rows, payload, port_bytes, bursts, pages, partial = counts
    latency = memory.read_latency_ticks if d == "read" else memory.write_latency_ticks
    port = max(1, _ceil(port_bytes * 100, memory.bytes_per_tick * (100 - memory.background_percent)))
    inflights = (_ceil(bursts, dma.outstanding_bursts) - 1) * latency
    data = max(port, _ceil(payload, dma.bytes_per_tick), inflights)
    data += memory.read_latency_ticks if partial else 0
    setup = dma.setup_ticks + dma.row_ticks * (rows - 1) + memory.page_walk_ticks * pages
    return Segment(setup, port, data, port_bytes, payload, bursts, pages, partial)


def _ceil(value: int, unit: int) -> int:
    return -(-value // unit)
