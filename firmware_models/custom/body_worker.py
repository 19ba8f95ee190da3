"""Body worker: what a kernel at level "body" sees of a worker: areas of the scratch, and the steps that it waits for.

Every step is awaited with `yield from`. The author is responsible for the waits: a gather is over when its step is, a
slot is free after `wait_slot`, a drain is over after `wait_drains`.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import attrs
import numpy as np

from tessbed.firmware_models.custom.band_worker import checked_regions
from tessbed.firmware_models.custom.launch_view import LaunchView, checked_ticks
from tessbed.firmware_models.custom.ownership import Box
from tessbed.firmware_models.custom.region import KernelPort, Region, shape_of
from tessbed.firmware_models.descriptors import OVERSIZED_GROUP
from tessbed.sim.transfer.descriptor import Descriptor
from tessbed.sim.user_code.errors import KernelMisuse
from tessbed.sim.user_code.guarded_worker import GuardedWorker, WorkerStep


@attrs.frozen
class ScratchView:
    """Scalars in a worker's scratch: from byte `start` on, with a byte stride for each axis."""

    start: int
    shape: tuple[int, ...]
    dtype: np.dtype
    strides: tuple[int, ...]

    @property
    def span(self) -> tuple[int, int]:
        """From the first byte to behind the last."""
        reach = sum((extent - 1) * stride for extent, stride in zip(self.shape, self.strides, strict=True))
        return self.start, self.start + reach + self.dtype.itemsize

    def array(self, scratch: np.ndarray) -> np.ndarray:
        """The scalars themselves."""
        return np.ndarray(self.shape, self.dtype, scratch, self.start, self.strides)


@attrs.frozen
class Area:
    """Bytes of a worker's scratch."""

    start: int
    nbytes: int
    name: str = "area"

    def view(self, region: Region, offset: int = 0) -> ScratchView:
        """Room for a region, dense in memory's order, `offset` bytes into the area. Raises KernelMisuse."""
        shape = shape_of(region.extents, region.strides, region.dtype.itemsize, 0xFFFF)
        self._check(region.nbytes, offset)
        return ScratchView(self.start + offset, region.extents, region.dtype, shape.scratch_strides)

    def array(self, shape: int | Sequence[int], dtype: Any = np.uint8, offset: int = 0) -> ScratchView:
        """Room for a dense array, `offset` bytes into the area. Raises KernelMisuse."""
        extents = (shape,) if isinstance(shape, int) else tuple(shape)
        kind, strides = np.dtype(dtype), []
        step = kind.itemsize
        for extent in reversed(extents):
            strides.append(step)
            step *= extent
        self._check(step, offset)
        return ScratchView(self.start + offset, extents, kind, tuple(reversed(strides)))

    def _check(self, nbytes: int, offset: int) -> None:
        if offset < 0 or offset + nbytes > self.nbytes:
            got = f"got {nbytes:,} bytes" + (f" from byte {offset:,} on" if offset else "")
            raise KernelMisuse(f"{self.name}: {got}, the area has {self.nbytes:,}; take smaller boxes")


@attrs.define(eq=False)
class BodyWorker:
    """One worker of `workers`, with its scratch as `input`, an area to gather into, and an area for each slot."""

    _guard: GuardedWorker = attrs.field(repr=False)
    _view: LaunchView = attrs.field(repr=False)

    @property
    def worker(self) -> int:
        """Its number in the grid."""
        return self._guard.worker

    @property
    def workers(self) -> int:
        """The grid."""
        return self._guard.workers

    @property
    def slots(self) -> int:
        """Output slots of a worker."""
        return self._view.spec.slots

    @property
    def granule_bytes(self) -> int:
        """What a write rewrites at the least; 1 with byte strobes."""
        return self._view.spec.write_unit_bytes

    @property
    def input(self) -> Area:
        """The area to gather into."""
        return Area(0, self._view.budget.gather_bytes, "w.input")

    def slot(self, slot: int) -> Area:
        """The area of a slot, 0 to `slots` - 1. Raises KernelMisuse for another."""
        if not isinstance(slot, int) or not 0 <= slot < self.slots:
            raise KernelMisuse(f"got slot {slot!r}, wanted 0 to {self.slots - 1}: take number % w.slots")
        return Area(self._view.budget.slot(slot), self._view.budget.slot_bytes, f"w.slot({slot})")

    def areas(self, *sizes: int) -> list[Area]:
        """The whole scratch cut into areas of so many bytes, instead of `input` and slots. Raises KernelMisuse."""
        align, start, found = self._view.spec.scratch_align_bytes, 0, []
        for number, size in enumerate(sizes):
            found.append(Area(start, size, f"area {number}"))
            start = -(-(start + size) // align) * align
        usable = self._view.spec.usable_scratch_bytes
        if found and found[-1].start + found[-1].nbytes > usable:
            raise KernelMisuse(f"got areas of {start:,} bytes in all, the scratch has {usable:,}")
        return found

    def own(self, port: KernelPort, most: int | None = None) -> Iterator[Box]:
        """The boxes of an output that this worker owns, each of at most `most` scalars, as many as a band holds."""
        return self._view.own(port, self.worker, most)

    def cost(self, path: str = "copy", *, nbytes: int = 0, runs: int = 1, scalars: int = 0, clears: int = 0) -> int:
        """Ticks of a computation, by the table `device.compute`, as in `BandWorker.cost`."""
        return self._view.cost(path, nbytes, runs, scalars, clears)

    def count(self, name: str, number: int = 1) -> None:
        """Add to one of the kernel's own statistics."""
        self._guard.count(name, number)

    def gather(self, what: Region | Sequence[Any], area: Area | ScratchView | None = None) -> WorkerStep:
        """Read a region into an area, or into a view of its shape, and wait for it.

        Without an area `what` is a list of raw descriptors: (address, scratch, rows, row_bytes, pitch, scratch_pitch),
        one wait group.
        """
        return self._read("gather", what, area)

    def prefetch(self, what: Region | Sequence[Any], area: Area | ScratchView | None = None) -> WorkerStep:
        """As `gather`, and go on; `wait_drains` waits for it, too."""
        return self._read("prefetch", what, area)

    def wait_slot(self, slot: int) -> WorkerStep:
        """Wait until the earlier drain of a slot is over."""
        return self._guard.wait_slot(slot)

    def compute(
        self,
        function: Callable[..., Any],
        inputs: Sequence[ScratchView],
        outputs: Sequence[ScratchView],
        ticks: int | None = None,
    ) -> WorkerStep:
        """Call `function` on arrays of the views, inputs first; it fills the outputs in place.

        It may act later than now. Without `ticks` it costs what copying the outputs costs.
        """
        action, read, written = self._action(function, inputs, outputs)
        reads, writes = ([view.span for view in views] for views in (read, written))
        return self._guard.compute(self._ticks(ticks, written), action, reads=reads, writes=writes, fn=function)

    def drain(self, slot: int, region: Region, view: ScratchView) -> WorkerStep:
        """Write a view to a region of an output, as the drain of a slot, and go on."""
        return self._guard.drain(slot, self._chain(region, view))

    def wait_drains(self) -> WorkerStep:
        """Wait for every earlier transfer."""
        return self._guard.wait_drains()

    def pack(
        self,
        slot: int,
        function: Callable[..., Any],
        inputs: Sequence[ScratchView],
        region: Region,
        ticks: int | None = None,
        *,
        ordered: bool = False,
    ) -> WorkerStep:
        """Wait for the slot, compute into it and drain it, as one step; after all earlier drains if `ordered`."""
        view = self.slot(slot).view(region)
        waits = [self._guard.wait_slot(slot), self.compute(function, inputs, [view], ticks)]
        waits += [self._guard.wait_drains("order")] if ordered else []
        return self._guard.chain(*waits, self.drain(slot, region, view))

    def _read(self, name: str, what: Any, area: Area | ScratchView | None) -> WorkerStep:
        method = getattr(self._guard, name)
        if area is None:
            if isinstance(what, Region | KernelPort) or not isinstance(what, list | tuple):
                wanted = "wanted a region and an area, or a list of raw descriptors alone"
                raise KernelMisuse(f"got {name}({what!r:.60}) without an area, {wanted}")
            return method([Descriptor(*descriptor) for descriptor in what])
        (region,) = checked_regions(what, "what is gathered")
        view = area.view(region) if isinstance(area, Area) else area
        placed = self._placed(region, view)
        limit = self._view.spec.dma.wait_group
        size = min(OVERSIZED_GROUP, limit) if placed.oversized else limit
        groups = [placed.descriptors[first : first + size] for first in range(0, len(placed.descriptors), size)]
        steps = [method(group, oversized=placed.oversized) for group in groups]
        return steps[0] if len(steps) == 1 else self._guard.chain(*steps)

    def _placed(self, region: Region, view: ScratchView) -> Any:
        """The region in scratch, where the view is. Raises KernelMisuse for a view of another form."""
        if not isinstance(view, ScratchView):
            raise KernelMisuse(f"got {view!r:.60}, wanted an area, or a view such as w.input.view(region)")
        placed = region.placed(view.start, self._view.spec.dma.field_limit)
        if view.shape != region.extents or view.dtype.itemsize != region.dtype.itemsize:
            got = f"got a view of {view.dtype}{list(view.shape)} for a region of {region.dtype}{list(region.extents)}"
            raise KernelMisuse(f"{got} of port {region.port.name}, wanted the same")
        unlike = [n > 1 and s != t for n, s, t in zip(view.shape, view.strides, placed.strides, strict=True)]
        if any(unlike):
            text = f"got a view of another order than the region of port {region.port.name} has in memory"
            raise KernelMisuse(f"{text}, wanted area.view(region)")
        return placed

    def _chain(self, region: Region, view: ScratchView) -> list[Descriptor]:
        (written,) = checked_regions(region, "what is drained")
        if not written.port.written:
            raise KernelMisuse(f"got a drain to {written.port.name}, which is an input; declare it in outputs=")
        return self._placed(written, view).descriptors

    def _action(self, function: Any, inputs: Any, outputs: Any) -> tuple[Callable[[], None], list[Any], list[Any]]:
        if not callable(function):
            raise KernelMisuse(f"got {function!r:.60}, wanted a function of the views")
        read, written = (list(views) if isinstance(views, list | tuple) else [views] for views in (inputs, outputs))
        for view in (*read, *written):
            if not isinstance(view, ScratchView):
                raise KernelMisuse(f"got {view!r:.60} among the views, wanted one such as w.input.view(region)")
        return partial(_act, self._guard, function, read, written), read, written

    def _ticks(self, ticks: int | None, written: Sequence[ScratchView]) -> int:
        if ticks is not None:
            return checked_ticks(ticks)
        self._guard.count("default_cost_bands")
        nbytes = sum(int(np.prod(view.shape)) * view.dtype.itemsize for view in written)
        return self._view.cost("copy", nbytes, max(1, len(written)), 0, 0)


def _act(guard: GuardedWorker, function: Any, read: Sequence[ScratchView], written: Sequence[ScratchView]) -> None:
    """Call a user's function on the arrays of views."""
    arrays = [view.array(guard.scratch) for view in read]
    for array in arrays:
        array.flags.writeable = False
    function(*arrays, *[view.array(guard.scratch) for view in written])
