"""Launch view: the fields of a device that plan a launch, the budget of a worker's scratch, and the cost of computing.

All that a kernel of one's own sees of the device is here, so that what it plans depends on nothing else: a launch is
planned once for all devices that agree in these fields.
"""

from collections.abc import Iterator
from typing import Any

import attrs

from tessbed.firmware_models.band import BAND_BYTES, Budget
from tessbed.firmware_models.custom.ownership import Box, cuts_of, own_boxes
from tessbed.firmware_models.custom.region import KernelPort
from tessbed.kernels.custom.codec import KernelCall
from tessbed.kernels.custom.declaration import Kernel
from tessbed.sim.spec.device_spec import DeviceSpec, VectorTicks
from tessbed.sim.user_code.errors import KernelMisuse

SLACK_BYTES = 64
"""Of the gather area, for regions of several scalar types that begin at multiples of their widths."""
PATHS = tuple(field.name for field in attrs.fields(VectorTicks))


@attrs.define(eq=False)
class LaunchView:
    """What the workers of one launch share. `per_byte` are bytes gathered and packed for each byte of output."""

    spec: DeviceSpec
    workers: int
    budget: Budget
    per_byte: tuple[int, int]
    _cuts: dict[tuple[int, tuple[int, ...]], list[int]] = attrs.field(factory=dict, init=False)

    @classmethod
    def of(cls, kernel: Kernel, call: KernelCall, spec: DeviceSpec, workers: int) -> "LaunchView":
        """The view of a launch. Raises KernelMisuse for a scratch that can not be divided so."""
        arguments = dict(zip([argument.name for argument in kernel.arguments], call.arguments, strict=True))
        gathered, packed = (size.value(arguments, f"{kernel.where}: scratch") for size in kernel.scratch)
        if gathered < 0 or packed < 1:
            text = f"got scratch=({gathered}, {packed}), wanted at least 0 bytes gathered and 1 packed"
            raise KernelMisuse(f"{kernel.where}: {text} for each byte of output")
        return cls(spec, workers, Budget.of(spec, gathered, packed), (gathered, packed))

    def part(self, port: KernelPort, worker: int) -> tuple[int, int]:
        """The positions of an output that a worker owns."""
        key = port.index, port.shape
        if key not in self._cuts:
            width, granule = port.dtype.itemsize, self.spec.write_unit_bytes
            self._cuts[key] = cuts_of(port.shape, width, port.address, granule, self.workers)
        cuts = self._cuts[key]
        return cuts[worker], cuts[worker + 1]

    def most(self, port: KernelPort) -> int:
        """Scalars of an output that a band may hold."""
        gathered, packed = self.per_byte
        room = min(self.budget.slot_bytes, BAND_BYTES) // packed
        if gathered:
            room = min(room, (min(self.budget.gather_bytes, BAND_BYTES + SLACK_BYTES) - SLACK_BYTES) // gathered)
        return max(1, room // port.dtype.itemsize)

    def own(self, port: Any, worker: int, most: int | None) -> Iterator[Box]:
        """The boxes of an output that a worker owns. Raises KernelMisuse for what is no output."""
        if not isinstance(port, KernelPort) or not port.written:
            what = f"the input {port.name}" if isinstance(port, KernelPort) else repr(port)
            raise KernelMisuse(f"got {what}, wanted an output of the kernel: own() divides what is written")
        if port.turned:
            raise KernelMisuse(f"got port {port.name} turned, wanted it as it is stored: own() divides storage")
        fits = self.most(port)
        base, granule, width = port.address, self.spec.write_unit_bytes, port.dtype.itemsize
        part = self.part(port, worker)
        return own_boxes(port.shape, width, base, granule, part, fits if most is None else max(1, min(most, fits)))

    def cost(self, path: str, nbytes: int, runs: int, scalars: int, clears: int) -> int:
        """Ticks of a computation that makes `nbytes` in `runs` contiguous runs along a vector path."""
        compute = self.spec.compute
        if path not in PATHS:
            raise KernelMisuse(f"got the vector path {path!r}, wanted one of {', '.join(PATHS)}")
        vectors = -(-nbytes // (max(1, runs) * compute.vector_bytes))
        ticks = runs * (compute.run_ticks + vectors * getattr(compute.vector_ticks, path))
        return compute.band_ticks + ticks + scalars * compute.scalar_ticks + clears * compute.clear_ticks


def checked_ticks(ticks: Any) -> int:
    """Ticks that a kernel gives. Raises KernelMisuse for what is none."""
    if isinstance(ticks, bool) or not hasattr(ticks, "__index__"):
        raise KernelMisuse(f"got ticks={ticks!r}, wanted an integer")
    if ticks < 0:
        raise KernelMisuse(f"got ticks={ticks}, wanted at least 0")
    return int(ticks)
