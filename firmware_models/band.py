"""Bands: what fits a worker's scratch at once, and where its drain goes.

A band is gathered, packed into a slot, and drained from there. Its budget splits the scratch into a gather area and
slots; its drain footprint says whether it may share a write granule with another drain.
Source: Tess document, "Execution and ownership"; docs/simulation.md, "Rules".
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from itertools import count, islice
from typing import Any, NamedTuple

import attrs

from tessbed.firmware_models.vector_ops import PackStep
from tessbed.sim.errors import HazardError
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.transfer.descriptor import Descriptor

BAND_BYTES = 32768
"""A band moves at most this much each way where a pixel allows it: half a descriptor's reach, so that a tile of several
bands overlaps its drains, and staging is bounded whatever the tensor."""

LEAST_BYTES = 64
"""Every area of the scratch holds at least this much: a block of 16 channels in any form."""


@attrs.define
class BandCount:
    """The bands of this process, on either engine: those that were planned, and those that a worker has begun.

    What a display of progress reads; nothing that is simulated depends on it. A large work item is planned as a whole
    before its first band begins.
    """

    planned: int = 0
    begun: int = 0

    def restart(self) -> None:
        """Count from 0."""
        self.planned = self.begun = 0

    @property
    def furthest(self) -> int:
        """The larger count: equal work items are planned once, and begun many times."""
        return max(self.planned, self.begun)


BANDS = BandCount()


@attrs.frozen
class Budget:
    """A worker's scratch: the gather area at 0, then one area for each slot. All sizes in bytes."""

    gather_bytes: int
    slot_bytes: int
    slots: int

    @classmethod
    def of(cls, spec: DeviceSpec, gathered: int, packed: int) -> "Budget":
        """Splits the usable scratch in the ratio of bytes gathered and packed for a pixel; each area gets some."""
        usable = spec.usable_scratch_bytes
        align = spec.scratch_align_bytes
        share = usable * gathered // (gathered + spec.slots * packed) // align * align
        gather_bytes = min(max(align, LEAST_BYTES, share), usable - spec.slots * max(align, LEAST_BYTES))
        return cls(gather_bytes, (usable - gather_bytes) // spec.slots // align * align, spec.slots)

    def slot(self, band: int) -> int:
        """Scratch offset of the slot that band number `band` uses."""
        return self.gather_bytes + band % self.slots * self.slot_bytes

    def check(self, gathered: int, packed: int) -> None:
        """Raise HazardError for a band of more bytes than its areas hold: it would corrupt those of other bands."""
        for what, size, room in (("gathers", gathered, self.gather_bytes), ("packs", packed, self.slot_bytes)):
            if size > room:
                raise HazardError(f"a band {what} {size} bytes into an area of {room}")


class DrainFootprint(NamedTuple):
    """The output bytes of one drain: from `low` to `high`, repeating every `period` with `inner` bytes in each."""

    low: int
    high: int
    period: int
    inner: int

    @classmethod
    def of(cls, address: int, extents: Sequence[int], strides: Sequence[int], run_bytes: int) -> "DrainFootprint":
        """The footprint of a box of runs."""
        axes = sorted((s, n) for n, s in zip(extents, strides, strict=True) if n > 1)
        period, count = axes.pop() if axes else (0, 1)
        inner = sum((n - 1) * s for s, n in axes) + run_bytes
        return cls(address, address + (count - 1) * period + inner, period, inner)

    def meets(self, other: "DrainFootprint", granule: int) -> bool:
        """True unless it is certain that no granule holds bytes of both."""
        low, high, period, _ = self
        start, end, distance, _ = other
        if low // granule > (end - 1) // granule or start // granule > (high - 1) // granule:
            return False
        if period != distance or not period or period % granule:
            return True
        turn = period // granule
        ahead = (start // granule - low // granule) % turn
        return ahead < self._granules(granule) or turn - ahead < other._granules(granule) or ahead == 0

    def _granules(self, granule: int) -> int:
        return (self.low + self.inner - 1) // granule - self.low // granule + 1


@attrs.define  # not frozen: one is made for each band, and that takes twice as long
class Band:
    """One band: its reads (`oversized` if a pitch among them is), its packing and cost, its drain."""

    reads: Sequence[Descriptor]
    steps: Sequence[PackStep]
    ticks: int
    chain: list[Descriptor]
    footprint: DrainFootprint
    oversized: bool = False
    counts: dict[str, int] = attrs.Factory(dict)


class WorkItem(NamedTuple):
    """Bands that follow each other: `make(work item, number)` makes them of its `part` of the launch.

    `number` is that of the first band among its worker's, which decides its slot; each is made before the next item's.

    Work items of one launch with equal keys make the same bands, but for addresses: those of reads count from `input`,
    those of drains from `output`, both device addresses. Equal ones in a row are one that comes `times` times, each
    time `input_step` and `output_step` further on.
    """

    key: Hashable
    input: int
    output: int
    make: Callable[["WorkItem", int], Iterator[Band]]
    part: tuple[Any, ...]
    times: int = 1
    input_step: int = 0
    output_step: int = 0

    def places(self) -> Iterator[tuple[int, int]]:
        """Input and output of each time."""
        sources, targets = count(self.input, self.input_step), count(self.output, self.output_step)
        return islice(zip(sources, targets, strict=False), self.times)


drain_footprint = partial(tuple.__new__, DrainFootprint)
"""Takes a tuple of the fields, in half the time of the class, which is a function in Python."""


def even_parts(total: int, most: int) -> int:
    """The size of the parts when `total` is cut into as few parts of at most `most` as possible, all nearly equal."""
    return -(-total // -(-total // most))
