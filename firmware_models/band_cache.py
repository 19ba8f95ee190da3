"""Band templates: equal work items make the same bands at other addresses, so each is made once.

It is the one cache of bands. A worker asks it for bands as they come: they know their slots, so there the slot
of a work item's first band belongs to the key, and it keeps at most some thousand descriptors, so that memory does not
grow with a tensor. The summary of a launch asks it for the templates themselves: slots change no tick, so there a work
item's own key is enough, and all are kept, since kinds of tiles and cuts are few.
"""

from collections.abc import Hashable, Iterable, Iterator

import attrs

from tessbed.firmware_models.band import BANDS, Band, DrainFootprint, WorkItem, drain_footprint
from tessbed.sim.transfer.descriptor import shifted

MOST_CACHED_DESCRIPTORS = 4096


@attrs.frozen(eq=False)
class BandTemplate:
    """A band of a work item, made once for all equal ones, with the device addresses from which it counts."""

    band: Band
    input: int
    output: int

    def at(self, source: int, target: int) -> Band:
        """The same band of an equal work item whose input and output are at these addresses."""
        band, reads_by, drains_by = self.band, source - self.input, target - self.output
        low, high, period, inner = band.footprint
        return Band(
            shifted(band.reads, reads_by),
            band.steps,
            band.ticks,
            shifted(band.chain, drains_by),
            drain_footprint((low + drains_by, high + drains_by, period, inner)),
            band.oversized,
            band.counts,
        )

    def footprint(self, target: int) -> DrainFootprint:
        """Where the band drains if the output of its work item is at `target`."""
        (low, high, period, inner), by = self.band.footprint, target - self.output
        return drain_footprint((low + by, high + by, period, inner))


@attrs.define(eq=False)
class BandTemplates:
    """The templates of work items by what makes them equal: they differ by addresses alone."""

    _known: dict[Hashable, list[BandTemplate]] = attrs.field(factory=dict, init=False)
    _descriptors: int = attrs.field(default=0, init=False)

    def of(self, item: WorkItem) -> list[BandTemplate]:
        """The templates of the work items that are equal to this one, for whom slots do not matter."""
        known = self._known.get(item.key)
        if known is None:
            known = self._known[item.key] = [_template(band, item) for band in item.make(item, 0)]
        return known

    def bands(self, items: Iterable[WorkItem], slots: int) -> Iterator[Band]:
        """The bands of a worker's work items, one after the other; the number of a band decides its slot."""
        first = 0
        for item in items:
            by_slot: dict[int, list[BandTemplate] | None] = {}
            for source, target in item.places():
                slot = first % slots
                templates = by_slot.get(slot)
                if templates is None:
                    templates = by_slot[slot] = self._known.get((item.key, slot))
                for template in templates or self.keep((item.key, slot), item, first):
                    yield template.at(source, target)
                    first += 1

    def keep(self, key: Hashable, item: WorkItem, first: int) -> Iterator[BandTemplate]:
        """The templates as they are made, from number `first` on; kept where they are not too many."""
        templates: list[BandTemplate] = []
        size = 0
        for band in item.make(item, first):
            size += len(band.reads) + len(band.chain)
            band.counts = {name: number for name, number in band.counts.items() if number}
            template = BandTemplate(band, item.input, item.output)
            if size <= MOST_CACHED_DESCRIPTORS:
                templates.append(template)
            yield template
        if size <= MOST_CACHED_DESCRIPTORS:
            if self._descriptors + size > MOST_CACHED_DESCRIPTORS:
                self._known.clear()
                self._descriptors = 0
            self._known[key] = templates
            self._descriptors += size


def _template(band: Band, item: WorkItem) -> BandTemplate:
    BANDS.planned += 1
    return BandTemplate(band, item.input, item.output)
