"""Band worker: what a kernel at level "bands" sees: who it is, the parts of an output that it owns, and `band`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from tessbed.firmware_models.band import DrainFootprint
from tessbed.firmware_models.custom.compute_step import ComputeStep
from tessbed.firmware_models.custom.launch_view import LaunchView, checked_ticks
from tessbed.firmware_models.custom.ownership import Box
from tessbed.firmware_models.custom.region import KernelPort, Placed, Region
from tessbed.sim import source_line
from tessbed.sim.source_line import SourceLine
from tessbed.sim.transfer.descriptor import Descriptor
from tessbed.sim.user_code.captured_variables import Captured, capture
from tessbed.sim.user_code.errors import KernelMisuse


@attrs.frozen(eq=False)
class KernelBand:
    """A band of a kernel: what it gathers, what it computes with its cost, what it drains."""

    owner: "BandWorker"
    number: int
    gathered: tuple[Placed, ...]
    step: ComputeStep
    ticks: int
    packed: tuple[Placed, ...]
    counts: dict[str, int]
    line: SourceLine | None
    captured: Captured | None

    @property
    def reads(self) -> list[Descriptor]:
        """The descriptors of all gathers."""
        return [descriptor for placed in self.gathered for descriptor in placed.descriptors]

    @property
    def chain(self) -> list[Descriptor]:
        """The descriptors of the drain."""
        return [descriptor for placed in self.packed for descriptor in placed.descriptors]

    @property
    def oversized(self) -> bool:
        """Whether a read has a pitch that no field holds."""
        return any(placed.oversized for placed in self.gathered)

    def footprints(self) -> tuple[DrainFootprint, ...]:
        """The bytes of memory that the drain writes."""
        return tuple(placed.region.footprint() for placed in self.packed)


@attrs.define(eq=False)
class BandWorker:
    """One worker of `workers`. What a kernel plans may depend on nothing else, and on its ports and arguments."""

    worker: int
    _view: LaunchView = attrs.field(repr=False)
    _made: int = attrs.field(default=0, init=False, repr=False)

    @property
    def workers(self) -> int:
        """The grid."""
        return self._view.workers

    @property
    def slots(self) -> int:
        """Output slots of a worker."""
        return self._view.spec.slots

    @property
    def granule_bytes(self) -> int:
        """What a write rewrites at the least; 1 with byte strobes."""
        return self._view.spec.write_unit_bytes

    @property
    def gather_bytes(self) -> int:
        """Scratch for what a band gathers."""
        return self._view.budget.gather_bytes

    @property
    def slot_bytes(self) -> int:
        """Scratch for what a band drains."""
        return self._view.budget.slot_bytes

    def own(self, port: KernelPort, most: int | None = None) -> Iterator[Box]:
        """The boxes of an output that this worker owns, each of at most `most` scalars, as many as a band holds.

        No granule holds bytes of two workers. Raises KernelMisuse for what is no output of the kernel.
        """
        return self._view.own(port, self.worker, most)

    def cost(self, path: str = "copy", *, nbytes: int = 0, runs: int = 1, scalars: int = 0, clears: int = 0) -> int:
        """Ticks of a computation, by the table `device.compute`: that of a vector path for the bytes that it makes.

        `runs` are contiguous runs, `scalars` are moved one by one, `clears` are stores of 16 zero bytes. Raises
        KernelMisuse for an unknown path.
        """
        return self._view.cost(path, nbytes, runs, scalars, clears)

    def band(
        self,
        reads: Region | Sequence[Region],
        writes: Region | Sequence[Region],
        function: Callable[..., Any],
        *,
        ticks: int | None = None,
        counts: Mapping[str, int] | None = None,
    ) -> KernelBand:
        """A band: gather `reads`, call `function` on views of them and of `writes`, drain `writes`.

        The function gets numpy arrays of the regions' shapes, inputs first, and fills the outputs in place; it may act
        later, so it depends on nothing that changes. `ticks` is what it costs, without it what copying the output
        costs. Raises KernelMisuse, also for more bytes than the scratch has for a band.
        """
        read, written = checked_regions(reads, "reads"), checked_regions(writes, "writes")
        if not written:
            raise KernelMisuse("got a band that writes nothing, wanted at least one region of an output")
        for region in written:
            if not region.port.written:
                raise KernelMisuse(f"got a write to {region.port.name}, which is an input; declare it in outputs=")
        if not callable(function):
            raise KernelMisuse(f"got {function!r}, wanted a function of the views")
        number, view = self._made, self._view
        budget, limit = view.budget, view.spec.dma.field_limit
        gathered = _place(read, 0, budget.gather_bytes, "gathers", limit)
        packed = _place(written, budget.slot(number), budget.slot_bytes, "drains", limit)
        counted = {str(name): int(n) for name, n in (counts or {}).items()}
        if ticks is None:
            ticks = view.cost("copy", sum(region.nbytes for region in written), len(written), 0, 0)
            counted["default_cost_bands"] = 1
        self._made = number + 1
        step = ComputeStep(function, gathered, packed)
        line = source_line.line_above(2)
        return KernelBand(self, number, gathered, step, checked_ticks(ticks), packed, counted, line, capture(function))


def checked_regions(given: Any, what: str) -> tuple[Region, ...]:
    """One region, or several in a list. Raises KernelMisuse for anything else; `what` is for messages."""
    regions = (given,) if isinstance(given, Region) else tuple(given) if isinstance(given, list | tuple) else None
    if regions is None or not all(isinstance(region, Region) for region in regions):
        wanted = "a region such as src[box], or several in a list"
        hint = "; a whole port is src[...]" if isinstance(given, KernelPort) else ""
        raise KernelMisuse(f"got {given!r} for {what}, wanted {wanted}{hint}")
    return regions


def _place(regions: Sequence[Region], start: int, room: int, what: str, limit: int) -> tuple[Placed, ...]:
    """The regions one behind the other. Raises KernelMisuse beyond the room."""
    placed, at = [], start
    for region in regions:
        width = region.dtype.itemsize
        at = -(-at // width) * width
        placed.append(region.placed(at, limit))
        at += region.nbytes
    if at - start > room:
        text = f"a band {what} {at - start:,} bytes, the scratch has {room:,} for it"
        raise KernelMisuse(f"{text}; take smaller boxes, or say scratch=(gathered, packed) for each byte of output")
    return tuple(placed)
