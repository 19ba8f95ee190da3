"""Parameter space: the device parameters that a calibration looks for, with the range in which it looks for each.

A parameter is fitted on a logarithmic scale, since data say how many percent it may be off. A tick that may be 0 is
fitted as log(1 + ticks), and `background_percent` as the share of the memory that it leaves. What is documented of the
device, what plans its bands (slots, scratch, granules) and what changes no tick is not looked for. Channels and credits
count things: they are whole numbers, and tried one by one.
"""

from collections.abc import Mapping
from math import exp, log
from typing import Any, Literal

import attrs

from tessbed.sim.spec.device_spec import DeviceSpec, VectorTicks, to_mapping

Scale = Literal["rate", "ticks", "share", "count"]


@attrs.frozen
class FreeParameter:
    """One parameter of the device, by its path: its range, and the scale on which it is fitted.

    `rate` divides (log x), `ticks` are added (log 1 + x), `share` is a percentage that others take (log 100 - x), and
    `count` is a whole number of things, each tried.
    """

    path: str
    low: int
    high: int
    scale: Scale = "ticks"

    def coordinate(self, value: float) -> float:
        """Where a value is on the scale."""
        return log(100 - value) if self.scale == "share" else log(value + (self.scale == "ticks"))

    def value(self, coordinate: float) -> float:
        """The value at a place on the scale."""
        return 100 - exp(coordinate) if self.scale == "share" else exp(coordinate) - (self.scale == "ticks")


def _vector_ticks() -> tuple[FreeParameter, ...]:
    guesses = to_mapping(VectorTicks())
    return tuple(FreeParameter(f"compute.vector_ticks.{path}", 0, 6 * guess) for path, guess in guesses.items())


PARAMETERS: tuple[FreeParameter, ...] = (
    FreeParameter("dispatch_ticks", 5_000, 1_000_000),
    FreeParameter("completion_ticks", 2_500, 500_000),
    FreeParameter("decode_ticks", 100, 20_000),
    FreeParameter("kernel_load_ticks", 250, 50_000),
    FreeParameter("launch_stagger_ticks", 0, 1_000),
    FreeParameter("relaunch_ticks", 0, 1_000),
    FreeParameter("dma.outstanding", 1, 64, "count"),
    FreeParameter("dma.bytes_per_tick", 4, 64, "rate"),
    FreeParameter("dma.issue_ticks", 1, 100),
    FreeParameter("dma.setup_ticks", 8, 400),
    FreeParameter("dma.row_ticks", 0, 16),
    FreeParameter("dma.outstanding_bursts", 1, 64, "rate"),
    FreeParameter("memory.bytes_per_tick", 16, 256, "rate"),
    FreeParameter("memory.background_percent", 0, 75, "share"),
    FreeParameter("memory.read_latency_ticks", 40, 1_000),
    FreeParameter("memory.write_latency_ticks", 24, 600),
    FreeParameter("memory.page_walk_ticks", 0, 100),
    FreeParameter("compute.band_ticks", 30, 1_000),
    FreeParameter("compute.run_ticks", 0, 40),
    *_vector_ticks(),
    FreeParameter("compute.scalar_ticks", 0, 24),
    FreeParameter("compute.clear_ticks", 0, 12),
)
"""The parameters that are looked for, each with the range that it is looked for in unless a setup says otherwise."""
CLOCK = FreeParameter("clock_mhz", 200, 4_000, "rate")
"""Beside them where a clock is only assumed: it is never determined, and neither is then what scales with it."""
DISCRETE: Mapping[str, tuple[Any, ...]] = {
    "dma.channel_scope": ("shared", "per_core"),
    "dma.arbitration": ("fifo", "round_robin"),
    "memory.split_port": (False, True),
}
"""Choices that a setup may ask to try, with their values."""


def in_ranges(ranges: Mapping[str, tuple[int, int]]) -> tuple[FreeParameter, ...]:
    """All PARAMETERS in the ranges that a setup gives; those of equal ends are known."""
    ends = {parameter.path: (parameter.low, parameter.high) for parameter in PARAMETERS} | dict(ranges)
    return tuple(attrs.evolve(one, low=ends[one.path][0], high=ends[one.path][1]) for one in PARAMETERS)


def values_by_path(device: DeviceSpec) -> dict[str, float]:
    """The values of all PARAMETERS of a device, by their paths."""
    return {parameter.path: float(parameter_value(device, parameter.path)) for parameter in PARAMETERS}


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by their paths as the nested changes of a device."""
    changes: dict[str, Any] = {}
    for path, value in values.items():
        *folders, name = path.split(".")
        at = changes
        for folder in folders:
            at = at.setdefault(folder, {})
        at[name] = value
    return changes


def parameter_value(device: DeviceSpec, path: str) -> Any:
    """A parameter of a device by its path."""
    at: Any = device
    for name in path.split("."):
        at = getattr(at, name)
    return at
