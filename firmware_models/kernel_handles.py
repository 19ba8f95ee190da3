"""Kernel handles: the kernel of an operation and dtype is loaded at its first job, and stays.

There is one body for each direction; a handle represents what a device keeps of it, apart for each operation and dtype.
"""

from collections.abc import Callable, Mapping

import attrs

from tessbed.firmware_models.geometry import PacketGeometry
from tessbed.firmware_models.ops import pack, unpack
from tessbed.firmware_models.worker_loop import WorkItems
from tessbed.sim.spec.device_spec import DeviceSpec

Kernel = Callable[[PacketGeometry, DeviceSpec, int], WorkItems]
WORK_ITEMS: Mapping[bool, Kernel] = {True: pack.pack_work_items, False: unpack.unpack_work_items}
"""The kernels, by whether they pack: all operations of one direction run one body."""


@attrs.define(eq=False)
class KernelHandles:
    """The kernels loaded so far, by operation and dtype; never by a tensor's name or shape."""

    loaded: dict[tuple[str, str], Kernel] = attrs.field(factory=dict, init=False)

    def load_ticks(self, geometry: PacketGeometry, spec: DeviceSpec) -> int:
        """What a job must wait before its kernel can run: nothing where its handle is there."""
        return 0 if _key(geometry) in self.loaded else spec.kernel_load_ticks

    def load(self, geometry: PacketGeometry) -> Kernel:
        """The kernel of a job, from now on loaded."""
        return self.loaded.setdefault(_key(geometry), WORK_ITEMS[geometry.packs])


def _key(geometry: PacketGeometry) -> tuple[str, str]:
    return geometry.op, geometry.tiled_dtype
