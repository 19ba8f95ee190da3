"""Kernel handles: the kernel of an operation and dtype is loaded at its first job, and stays.

There is one body for each direction; a handle represents what a device keeps of it, apart for each operation and dtype.
"""

from collections.abc import Callable, Mapping

import attrs

from tessbed.firmware_models.geometry import PacketGeometry
from tessbed.firmware_models.ops import pack, unpack
from tessbed.firmware_models.worker_loop import WorkItems
from tessbed.kernels.custom.codec import KernelCall
from tessbed.sim.spec.device_spec import DeviceSpec

WorkDivision = Callable[[PacketGeometry, DeviceSpec, int], WorkItems]
WORK_ITEMS: Mapping[bool, WorkDivision] = {True: pack.pack_work_items, False: unpack.unpack_work_items}
"""The kernels, by whether they pack: all operations of one direction run one body."""


@attrs.define(eq=False)
class KernelHandles:
    """The kernels loaded so far, by operation and dtype; never by a tensor's name or shape."""

    loaded: dict[tuple[str, str], bool] = attrs.field(factory=dict, init=False)

    def load_ticks(self, wanted: PacketGeometry | KernelCall, spec: DeviceSpec) -> int:
        """What a job must wait before its kernel can run: nothing where its handle is there."""
        return 0 if _key(wanted) in self.loaded else spec.kernel_load_ticks

    def load(self, geometry: PacketGeometry) -> WorkDivision:
        """The kernel of a job, from now on loaded."""
        self.note_loaded(geometry)
        return WORK_ITEMS[geometry.packs]

    def note_loaded(self, wanted: PacketGeometry | KernelCall) -> None:
        """The kernel is loaded from now on."""
        self.loaded[_key(wanted)] = True


def _key(wanted: PacketGeometry | KernelCall) -> tuple[str, str]:
    """Operation and scalar type, or the name and hash of a kernel of one's own."""
    if isinstance(wanted, KernelCall):
        return wanted.name, wanted.digest
    return wanted.op, wanted.tiled_dtype
