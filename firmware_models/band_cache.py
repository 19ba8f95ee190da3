"""Band templates: equal work items make the same bands at other addresses, so each is made once."""

from collections.abc import Hashable, Iterable, Iterator
from typing import Protocol

import attrs

from tessbed.firmware_models.band import Band, Budget, DrainFootprint, WorkItem
from tessbed.sim.transfer.descriptor import Descriptor

MOST_CACHED_DESCRIPTORS = 4096


class BandMaker(Protocol):
    """Makes the bands of a worker one after the other; `made` so far, and the number decides the slot."""

    budget: Budget
    made: int


@attrs.define
class BandTemplates:
    """The bands of a worker's last work items, from which those of equal ones are made: they differ by addresses alone.

    Bands know their slots, so the slot of a work item's first band belongs into its key here.
    """

    _known: dict[Hashable, tuple[int, int, list[Band]]] = attrs.field(factory=dict, init=False)
    _descriptors: int = attrs.field(default=0, init=False)

    def bands(self, maker: BandMaker, item: WorkItem, made: Iterable[Band]) -> Iterator[Band]:
        """The bands of a work item: those of an equal one at its addresses, else `made`, which are kept."""
        key = (item.key, maker.made % maker.budget.slots)
        bands = self.like(key, item.input, item.output)
        if bands is None:
            return self.keep(key, item.input, item.output, made)
        maker.made += len(bands)
        return iter(bands)

    def like(self, key: Hashable, source: int, target: int) -> list[Band] | None:
        """The bands of a work item from device addresses `source` and `target`; None without a template."""
        known = self._known.get(key)
        if known is None:
            return None
        reads_by, drains_by = source - known[0], target - known[1]
        return [_moved(band, reads_by, drains_by) for band in known[2]]

    def keep(self, key: Hashable, source: int, target: int, made: Iterable[Band]) -> Iterator[Band]:
        """The bands as they are made, kept where they are not too many."""
        bands: list[Band] = []
        size = 0
        for band in made:
            size += len(band.reads) + len(band.chain)
            if size <= MOST_CACHED_DESCRIPTORS:
                bands.append(band)
            yield band
        if size <= MOST_CACHED_DESCRIPTORS:
            if self._descriptors + size > MOST_CACHED_DESCRIPTORS:
                self._known.clear()
                self._descriptors = 0
            self._known[key] = (source, target, bands)
            self._descriptors += size


def _moved(band: Band, reads_by: int, drains_by: int) -> Band:
    """The same band at other addresses."""
    place = band.footprint
    return Band(
        [Descriptor(address + reads_by, *shape) for address, *shape in band.reads],
        band.steps,
        band.ticks,
        [Descriptor(address + drains_by, *shape) for address, *shape in band.chain],
        DrainFootprint(place.low + drains_by, place.high + drains_by, place.period, place.inner),
        band.oversized,
        band.counts,
    )
