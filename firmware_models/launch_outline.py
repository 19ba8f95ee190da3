"""Launch outline: the timed bands of each worker as numbers, and the fields of a device that decide them.

Many devices share an outline: channels, latencies and rates only price it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import attrs

from tessbed.sim.exact.program import BandRun
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.stats import Traffic
from tessbed.sim.transfer.cost import Counts


class BandShape(NamedTuple):
    """A band: what the reads of each wait group touch, ticks of compute, whether its drain waits, its drain."""

    groups: tuple[tuple[Counts, ...], ...]
    ticks: int
    ordered: bool
    chain: tuple[Counts, ...]

    @property
    def payloads(self) -> list[int]:
        """Bytes that each transfer carries, in the order in which they are asked for."""
        reads = [counts.payload_bytes for group in self.groups for counts in group]
        return [*reads, sum(counts.payload_bytes for counts in self.chain)]


@attrs.frozen
class Outline:
    """A launch: the different bands, the runs of them that each worker takes, and all that no clock counts.

    The runs of a `long` launch are written out each time that they are asked for, and its bands, numbered as they come
    there, are all known once that has been done.
    """

    bands: Sequence[BandShape]
    workers: tuple[Iterable[BandRun], ...]
    reads: Traffic
    writes: Traffic
    counts: Mapping[str, int]
    long: bool = False


def fields_that_plan(spec: DeviceSpec) -> tuple[Any, ...]:
    """The fields of a spec on which bands and descriptors depend: specs that agree here share their launches."""
    blocks = (spec.write_granule_bytes, spec.byte_strobes, spec.dma.burst_bytes)
    return (*blocks, *fields_that_shape(spec))


def fields_that_shape(spec: DeviceSpec) -> tuple[Any, ...]:
    """The fields of a spec on which the bands of a work item depend; granules and bursts decide what bands touch."""
    scratch = (spec.slots, spec.usable_scratch_bytes, spec.scratch_align_bytes)
    return (*scratch, spec.memory.access_bytes, spec.dma.field_bits, spec.dma.wait_group, spec.compute)


def fields_that_price(spec: DeviceSpec) -> tuple[int, ...]:
    """The fields of a spec that turn what a descriptor touches into a cost."""
    dma, memory = spec.dma, spec.memory
    rates = (memory.bytes_per_tick, memory.background_percent, dma.bytes_per_tick, dma.outstanding_bursts)
    return (
        *rates,
        *(memory.read_latency_ticks, memory.write_latency_ticks, memory.page_walk_ticks),
        *(dma.setup_ticks, dma.row_ticks),
    )


def add_traffic(traffic: Traffic, descriptors: Sequence[Counts], transfers: int, times: int) -> None:
    """The descriptors of a band, `times` times, which travel in so many transfers."""
    traffic.transfers += transfers
    traffic.descriptors += times * len(descriptors)
    for counts in descriptors:
        traffic.payload_bytes += times * counts.payload_bytes
        traffic.port_bytes += times * counts.port_bytes
        traffic.bursts += times * counts.bursts
        traffic.pages += times * counts.pages
        traffic.rmw_granules += times * counts.partial_granules
    traffic.moved_bytes = traffic.due_bytes = traffic.payload_bytes
