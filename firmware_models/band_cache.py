"""Band templates: equal work items make the same bands at other addresses, so each is made once.

It is the one cache of bands. A worker asks it for bands as they come: they know their slots, so there the slot
of a work item's first band belongs to the key, and it keeps at most some thousand descriptors, so that memory does not
grow with a tensor. The summary of a launch asks it for the templates themselves: slots change no tick, so there a work
item's own key is enough, and all are kept, since kinds of tiles and cuts are few.
"""

from collections.abc import Generator, Hashable, Iterable, Iterator
from itertools import chain, count, islice, repeat

import attrs

from tessbed.firmware_models.band import BANDS, Band, DrainFootprint, WorkItem, drain_footprint
from tessbed.sim.transfer.descriptor import shifted_list, shifted_list_again
from tessbed.sim.transfer.descriptor_run import in_runs, shifted, shifted_again

MOST_CACHED_DESCRIPTORS = 4096
flatten = chain.from_iterable


@attrs.frozen(eq=False)
class BandTemplate:
    """A band of a work item, made once for all equal ones, with the device addresses from which it counts."""

    band: Band
    input: int
    output: int

    def at(self, source: int, target: int) -> Band:
        """The same band of an equal work item whose input and output are at these addresses."""
        band = self.band
        return Band(
            shifted(band.reads, source - self.input),
            band.steps,
            band.ticks,
            shifted_list(band.chain, target - self.output),
            self.footprint(target),
            band.oversized,
            band.counts,
        )

    def run(self, source: int, target: int, source_step: int, target_step: int) -> Iterator[Band]:
        """The bands from these addresses on, each time so many bytes further, without an end: `at`, a run at a time."""
        band, drained = self.band, self.footprint(target)
        moved = count(drained.low, target_step), count(drained.high, target_step), repeat(drained.period)
        return map(
            Band,
            shifted_again(band.reads, source - self.input, source_step),
            repeat(band.steps),
            repeat(band.ticks),
            shifted_list_again(band.chain, target - self.output, target_step),
            map(drain_footprint, zip(*moved, repeat(drained.inner), strict=False)),
            repeat(band.oversized),
            repeat(band.counts),
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
            places = item.places()
            first = yield from self._placed(item, islice(places, slots), first, slots)
            if item.times > slots:
                first = yield from self._rest(item, places, first, slots)

    def _placed(
        self, item: WorkItem, places: Iterable[tuple[int, int]], first: int, slots: int
    ) -> Generator[Band, None, int]:
        """The bands of a work item at some of its places, from number `first` on; returns the next number."""
        for source, target in places:
            key = (item.key, first % slots)
            for template in self.like(key) or self.keep(key, item, first):
                yield template.at(source, target)
                first += 1
        return first

    def _rest(
        self, item: WorkItem, places: Iterable[tuple[int, int]], first: int, slots: int
    ) -> Generator[Band, None, int]:
        """The bands at the places of a work item behind the first `slots`, after which slots repeat."""
        bands = len(self.like((item.key, first % slots)) or ())
        turns = [self.like((item.key, (first + turn * bands) % slots)) for turn in range(slots)]
        if not all(turns):  # too many to be kept
            return (yield from self._placed(item, places, first, slots))
        steps = slots * item.input_step, slots * item.output_step
        runs = [
            template.run(item.input + at * item.input_step, item.output + at * item.output_step, *steps)
            for at, templates in enumerate(turns, slots)
            for template in templates or ()
        ]
        number = (item.times - slots) * bands
        yield from islice(flatten(zip(*runs, strict=False)), number)
        return first + number

    def like(self, key: Hashable) -> list[BandTemplate] | None:
        """The templates of an equal work item; None where none are kept."""
        return self._known.get(key)

    def keep(self, key: Hashable, item: WorkItem, first: int) -> Iterator[BandTemplate]:
        """The templates as they are made, from number `first` on; kept where they are not too many."""
        templates: list[BandTemplate] = []
        size = 0
        for band in item.make(item, first):
            size += len(band.reads) + len(band.chain)
            band.counts = {name: number for name, number in band.counts.items() if number}
            band.reads = in_runs(band.reads)
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
