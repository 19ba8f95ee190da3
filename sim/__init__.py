"""The hardware: what it can do, and when. Memory, DMA, slots, workers, completion, time."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tessbed.sim.device.device import Device
    from tessbed.sim.spec.device_spec import DeviceSpec, load_preset

__all__ = ["Device", "DeviceSpec", "load_preset"]
_HOMES = {
    "Device": "tessbed.sim.device.device",
    "DeviceSpec": "tessbed.sim.spec.device_spec",
    "load_preset": "tessbed.sim.spec.device_spec",
}


def __getattr__(name: str) -> object:
    """The names of the package on first use: importing one of its modules loads nothing else."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
