"""The hardware: what it can do, and when. Memory, DMA, slots, workers, completion, time."""

from typing import TYPE_CHECKING

from tessbed.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from tessbed.sim.device.device import Device
    from tessbed.sim.spec.device_spec import DeviceSpec, load_preset

__all__ = ["Device", "DeviceSpec", "load_preset"]
__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "device.device": ["Device"],
        "spec.device_spec": ["DeviceSpec", "load_preset"],
    },
)
