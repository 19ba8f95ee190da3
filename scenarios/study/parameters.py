"""Knobs: the numeric parameters of a device that can change its ticks, and which way is better.

Taken from the fields of DeviceSpec and their limits; HIGHER says of which more is better, of all others less is.
"""

from collections.abc import Iterator
from typing import Any

import attrs

from tessbed.sim.spec.device_spec import DeviceSpec, to_mapping

HIGHER = {
    "workers", "cores", "slots", "scratch_bytes",
    "dma.read_channels", "dma.write_channels", "dma.outstanding", "dma.bytes_per_tick", "dma.burst_bytes",
    "dma.outstanding_bursts", "dma.wait_group", "dma.field_bits", "memory.bytes_per_tick", "compute.vector_bytes",
}  # fmt: skip
TIMELESS = {
    "clock_mhz", "dispatch_ticks", "completion_ticks", "reset_ticks", "decode_ticks", "kernel_load_ticks",
    "memory.window_base", "memory.window_bytes",
}  # fmt: skip


@attrs.frozen
class Knob:
    """One parameter: its dotted path, its value, its limits, whether it is a power of two, whether more is better."""

    path: str
    value: int
    low: int
    high: int
    power_of_two: bool
    higher: bool

    def changes(self, value: int) -> dict[str, Any]:
        """The nested change that sets it."""
        nested: Any = value
        for name in reversed(self.path.split(".")):
            nested = {name: nested}
        return nested

    @property
    def steps(self) -> dict[str, int]:
        """The values to try by the names of STEPS; without those that a limit forbids or that change nothing."""
        down, up = (self.value // 2, self.value * 2) if self.power_of_two else (self.value - 1, self.value + 1)
        best = self.high if self.higher else max(self.low, 1) if self.power_of_two else self.low
        wanted = {"down": down, "up": up, "halved": self.value // 2, "doubled": self.value * 2, "infinite": best}
        return {name: value for name, value in wanted.items() if self.low <= value <= self.high and value != self.value}

    def better(self, value: int) -> bool:
        """Whether `value` is a better resource than the present one."""
        return (value > self.value) == self.higher


STEPS = ("down", "up", "halved", "doubled", "infinite")


def knobs(spec: DeviceSpec) -> Iterator[Knob]:
    """Every knob of a device, in the order of its fields."""
    return _knobs(DeviceSpec, to_mapping(spec), "")


def _knobs(cls: Any, values: dict[str, Any], prefix: str) -> Iterator[Knob]:
    for field in attrs.fields(cls):
        path, value = prefix + field.name, values[field.name]
        if attrs.has(field.type):
            yield from _knobs(field.type, value, f"{path}.")
        elif field.type is int and path not in TIMELESS:
            limits = field.metadata
            yield Knob(path, value, limits["low"], limits["high"], limits["power_of_two"], path in HIGHER)
