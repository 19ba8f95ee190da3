"""Observables: what of a job can be measured on a board, as the parts of its ticks that it sums, and the units of time.

| observable | from | to |
|---|---|---|
| device | the launch | the end of the last worker: the firmware's own counter |
| record | the doorbell | the completion record in memory, by a host that polls it; the kernel is loaded |
| job | the doorbell | the host's wake by the interrupt; the kernel is loaded |
| first_job | the doorbell | the host's wake, for the first job of its kernel, which loads it |
"""

from collections.abc import Mapping

PARTS = ("dispatch", "decode", "load", "device", "completion")
"""The parts of a job's ticks, in the order in which they pass; see docs/simulation.md, "Life of a job"."""

OBSERVABLES: Mapping[str, tuple[str, ...]] = {
    "device": ("device",),
    "record": ("dispatch", "decode", "device"),
    "job": ("dispatch", "decode", "device", "completion"),
    "first_job": ("dispatch", "decode", "load", "device", "completion"),
}
"""The parts that each observable sums."""

TICKS = "ticks"
SECONDS: Mapping[str, float] = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
"""Units of time, in seconds. The other unit is TICKS: cycles of the vision processor, which need no clock."""
UNITS = (TICKS, *SECONDS)


def in_ticks(value: float, unit: str, clock_mhz: float) -> float:
    """A measured value in ticks of that clock; KeyError for an unknown unit."""
    return value if unit == TICKS else value * SECONDS[unit] * clock_mhz * 1e6


def from_ticks(ticks: float, unit: str, clock_mhz: float) -> float:
    """Ticks of that clock in a unit; KeyError for an unknown one."""
    return ticks if unit == TICKS else ticks / (SECONDS[unit] * clock_mhz * 1e6)
