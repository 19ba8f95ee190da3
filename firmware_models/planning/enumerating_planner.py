"""The enumerating planner: an outline band by band, in the order in which workers take them.

It makes each work item, or shares what equal ones made, and looks at every band's neighbours. It uses no nest:
small launches take it, for which it is the quicker one, and it is the oracle of planning by runs.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from typing import NamedTuple

import attrs

from tessbed.firmware_models.band import DrainFootprint, WorkItem
from tessbed.firmware_models.band_cache import BandTemplate, BandTemplates
from tessbed.firmware_models.geometry import PacketGeometry
from tessbed.firmware_models.kernel_handles import WORK_ITEMS
from tessbed.firmware_models.launch_outline import BandShape, Outline, add_traffic
from tessbed.firmware_models.worker_loop import in_order, wait_groups
from tessbed.sim.exact.run_length import runs_of
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.spec.limits import PAGE_BYTES
from tessbed.sim.stats import Traffic
from tessbed.sim.transfer.cost import Counts, Shape, count_read, count_write
from tessbed.sim.transfer.descriptor import Descriptor, check_fields


@attrs.frozen(eq=False)
class _Part:
    """A band of a work item at some address: equal work items at equal places in a page share it."""

    template: BandTemplate
    shape: BandShape


class _Placement(NamedTuple):
    """A part and the output of its work item. It is its own footprint: whether two meet is found out once."""

    part: _Part
    output: int
    meetings: dict[tuple[BandTemplate, BandTemplate, int, int], bool]

    @property
    def footprint(self) -> "_Placement":
        """What `in_order` asks."""
        return self

    def meets(self, other: "_Placement", granule: int) -> bool:
        """Whether a granule may hold bytes of both."""
        key = (self.part.template, other.part.template, self.output % granule, other.output - self.output)
        known = self.meetings.get(key)
        if known is None:
            known = self.meetings[key] = self._moved().meets(other._moved(), granule)
        return known

    def _moved(self) -> DrainFootprint:
        return self.part.template.footprint(self.output)


@attrs.define(eq=False)
class KnownParts:
    """What is found out once for all launches of a geometry on devices that plan alike, with any number of workers."""

    templates: BandTemplates = attrs.Factory(BandTemplates)
    parts: dict[tuple[Hashable, int, int], list[_Part]] = attrs.Factory(dict)
    meetings: dict[tuple[BandTemplate, BandTemplate, int, int], bool] = attrs.Factory(dict)
    counted: dict[tuple[str, Shape, int], Counts] = attrs.Factory(dict)


@attrs.define(eq=False)
class EnumeratingPlanner:
    """An outline under way. Equal bands and descriptors are kept once; of equal work items only the first is made."""

    spec: DeviceSpec
    known: KnownParts = attrs.Factory(KnownParts)
    bands: dict[BandShape, int] = attrs.field(factory=dict, init=False)
    taken: Counter[tuple[_Part, bool]] = attrs.field(factory=Counter, init=False)

    def draw(self, geometry: PacketGeometry, workers: int) -> Outline:
        """The whole launch, worker by worker."""
        items_of = WORK_ITEMS[geometry.packs](geometry, self.spec, workers)
        runs = tuple(tuple(runs_of(self._worker(items_of(worker)))) for worker in range(workers))
        return Outline(tuple(self.bands), runs, *self._account())

    def _worker(self, items: Iterable[WorkItem]) -> list[int]:
        """The bands of a worker, as indices."""
        parts = [(band.part, ordered) for band, ordered in in_order(self._placements(items), self.spec)]
        self.taken.update(parts)
        return [self._index(*part) for part in parts]

    def _index(self, part: _Part, ordered: bool) -> int:
        shape = part.shape._replace(ordered=True) if ordered else part.shape
        return self.bands.setdefault(shape, len(self.bands))

    def _placements(self, items: Iterable[WorkItem]) -> Iterator[_Placement]:
        for item in items:
            for source, target in item.places():
                for part in self._parts_of(item, source, target):
                    yield _Placement(part, target, self.known.meetings)

    def _parts_of(self, item: WorkItem, source: int, target: int) -> list[_Part]:
        key = (item.key, source % PAGE_BYTES, target % PAGE_BYTES)
        known = self.known.parts.get(key)
        if known is None:
            known = [self._part(template, source, target) for template in self.known.templates.of(item)]
            self.known.parts[key] = known
        return known

    def _part(self, template: BandTemplate, source: int, target: int) -> _Part:
        ahead = source - template.input
        wanted = wait_groups(template.band, self.spec)
        groups = tuple([tuple([self._count("read", d, ahead) for d in group]) for group in wanted])
        ahead = target - template.output
        chain = tuple([self._count("write", d, ahead) for d in template.band.chain])
        return _Part(template, BandShape(groups, template.band.ticks, False, chain))

    def _count(self, kind: str, descriptor: Descriptor, ahead: int) -> Counts:
        """What a descriptor touches that is `ahead` of where it was made."""
        address, _, rows, row_bytes, pitch, scratch_pitch = descriptor
        shape = ((address + ahead) % PAGE_BYTES, rows, row_bytes, pitch)
        known = self.known.counted.get((kind, shape, scratch_pitch))
        if known is None:
            check_fields(self.spec, descriptor)
            known = count_read(self.spec, shape) if kind == "read" else count_write(self.spec, shape)
            self.known.counted[kind, shape, scratch_pitch] = known
        return known

    def _account(self) -> tuple[Traffic, Traffic, dict[str, int]]:
        """Traffic of reads and writes, and what the worker loop counts, of all bands that are taken."""
        reads, writes, counts = Traffic(), Traffic(), Counter[str]()
        for (part, ordered), times in self.taken.items():
            descriptors = [read for group in part.shape.groups for read in group]
            add_traffic(reads, descriptors, times * len(descriptors), times)
            add_traffic(writes, part.shape.chain, times, times)
            for name, number in _statistics(part):
                counts[name] += times * number
            counts["ordered_drains"] += times * ordered
        return reads, writes, {name: counts[name] for name in sorted(counts) if counts[name]}


def _statistics(part: _Part) -> Iterator[tuple[str, int]]:
    """What the worker loop counts for a band, but for its order."""
    band = part.template.band
    yield "wait_groups", len(part.shape.groups)
    yield "bands", 1
    yield "oversized_pitch_reads", len(band.reads) if band.oversized else 0
    yield from band.counts.items()
