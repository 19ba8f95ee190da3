"""The worker loop: the order in which the worker of any operation gathers, packs and drains, band after band.

Each wait is a rule: gathers retire before their bytes are read; a slot is free before anything is packed into it; a
drain that shares a granule with one still in flight waits for it, since the device writes whole granules. The drain of
one band overlaps the gathers and the packing of the next; overlap of gathers with packing is not claimed. Source: Tess
document, "Execution and ownership"; docs/simulation.md, "Rules".
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tessbed.firmware_models.band import BANDS, Band, WorkItem
from tessbed.firmware_models.band_cache import BandTemplates
from tessbed.firmware_models.descriptors import OVERSIZED_GROUP
from tessbed.firmware_models.vector_ops import Packers
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.transfer.descriptor import Descriptor

if TYPE_CHECKING:
    from tessbed.sim.device.launch import Body
    from tessbed.sim.device.worker import Steps, WorkerContext

BandProgram = Callable[[int], Iterator[Band]]
"""What a launch does: the bands of a worker, by its number."""
WorkItems = Callable[[int], Iterator[WorkItem]]
"""A launch as the work items of a worker, by its number."""


def program_of(items: WorkItems, spec: DeviceSpec) -> BandProgram:
    """The bands of all work items of a worker, one after the other."""
    return lambda worker: BandTemplates().bands(items(worker), spec.slots)


def body_of(program: BandProgram) -> "Body":
    """The worker body that runs a program."""
    return lambda worker: run_bands(worker, program(worker.worker))


class HasFootprint(Protocol):
    """What has a place in the output."""

    @property
    def footprint(self) -> Any:
        """It says whether it `meets` another."""


class HasReads(Protocol):
    """What gathers: its descriptors, and whether a pitch among them is oversized."""

    @property
    def reads(self) -> Sequence[Descriptor]: ...

    @property
    def oversized(self) -> bool: ...


P = TypeVar("P", bound=HasFootprint)


def in_order(bands: Iterable[P], spec: DeviceSpec) -> Iterator[tuple[P, bool]]:
    """Each band, and whether its drain must wait for every earlier one: it may share a granule with one in flight."""
    granule = spec.write_unit_bytes
    in_flight: deque[Any] = deque(maxlen=spec.slots - 1)
    for band in bands:
        footprint, ordered = band.footprint, False
        for earlier in in_flight:
            ordered = ordered or footprint.meets(earlier, granule)
        BANDS.begun += 1
        yield band, ordered
        if ordered:
            in_flight.clear()
        in_flight.append(footprint)


def run_bands(worker: "WorkerContext", bands: Iterable[Band]) -> "Steps":
    """The worker loop. A band's slot is its number modulo the slots."""
    spec, packers, counts = worker.spec, Packers(worker.scratch), worker.counts
    most, slots = spec.dma.wait_group, spec.slots
    for number, (band, ordered) in enumerate(in_order(bands, spec)):
        reads, oversized = band.reads, band.oversized
        for group in (reads,) if 0 < len(reads) <= most and not oversized else wait_groups(band, spec):
            yield from worker.gather(group, oversized=oversized)
            counts["wait_groups"] += 1
        packer = packers.of(band.steps)
        yield from worker.pack(number % slots, band.ticks, packer, band.chain, ordered=ordered)
        counts["bands"] += 1
        if ordered:
            counts["ordered_drains"] += 1
        if oversized:
            counts["oversized_pitch_reads"] += len(reads)
        for name in band.counts:
            counts[name] += band.counts[name]
    yield from worker.wait_drains()


def wait_groups(band: HasReads, spec: DeviceSpec) -> Sequence[Sequence[Descriptor]]:
    """The band's reads in groups that are issued together and waited for together."""
    size, reads = group_size(spec, oversized=band.oversized), band.reads
    if 0 < len(reads) <= size:
        return (reads,)
    return [reads[first : first + size] for first in range(0, len(reads), size)]


def group_size(spec: DeviceSpec, *, oversized: bool) -> int:
    """The most reads that are waited for together, by whether a pitch among them is oversized."""
    return min(OVERSIZED_GROUP, spec.dma.wait_group) if oversized else spec.dma.wait_group
