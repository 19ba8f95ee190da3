"""Forecast: how much there is to do for a run, from the plans of its jobs alone and before any of it is begun."""

import os

import attrs

from tessbed.kernels import Plan
from tessbed.scenarios.model import Scenario, ScenarioJob
from tessbed.sim.spec.device_spec import DeviceSpec

LONG_BANDS = 50_000
"""A job of so many bands takes more than a few seconds on either engine."""
TRACED_BYTES = 450
"""Memory of one transfer in a trace: its record, and its line of the run folder."""


@attrs.frozen
class Forecast:
    """A job on the EV74: its tiles, and the fewest bands and transfers that move them."""

    job: str
    tiles: int
    bands: int

    @property
    def transfers(self) -> int:
        """A read and a write for each band, at least."""
        return 2 * self.bands

    @property
    def trace_bytes(self) -> int:
        """Memory that a trace of all transfers takes, about."""
        return self.transfers * TRACED_BYTES

    @property
    def long(self) -> bool:
        """Whether a person should hear of it before it begins."""
        return self.bands >= LONG_BANDS

    def __str__(self) -> str:
        return (
            f"job {self.job} on ev74: {self.tiles:,} tile{'s' * (self.tiles != 1)}, at least {self.bands:,} bands and"
            f" {self.transfers:,} transfers: this takes a while, Ctrl-C ends it"
        )


def forecast(name: str, plan: Plan, spec: DeviceSpec) -> Forecast:
    """What a plan comes to on a device: a band holds no more than an area of scratch does."""
    area = max(1, spec.usable_scratch_bytes // (1 + spec.slots))
    tiles = bands = 0
    for tile in plan.classes:
        count = 1
        for along in tile.counts:
            count *= along
        for axis in plan.outer:
            count *= axis.extent
        tiles += count
        bands += count * max(1, -(-tile.span_bytes // area))
    return Forecast(name, tiles, bands)


def forecasts(scenario: Scenario) -> list[Forecast]:
    """Those of the EV74 jobs that move a byte."""
    return [forecast(job.name, job.plan, scenario.device) for job in scenario.jobs if _moves(job)]


def _moves(job: ScenarioJob) -> bool:
    return "ev74" in job.backends and not job.plan.empty


def check_trace(found: list[Forecast]) -> None:
    """Raise MemoryError where the traces of all jobs would not fit into the memory that is free."""
    needed, free = sum(one.trace_bytes for one in found), free_bytes()
    if needed > free:
        most = max(found, key=lambda one: one.trace_bytes)
        raise MemoryError(
            f"the transfers of the run folder take about {needed:,} bytes of memory, this machine has {free:,} free;"
            f" job {most.job!r} has {most.transfers:,} or more: run without -o, or with fewer tiles"
        )


def free_bytes() -> int:
    """Memory that this machine could still give; no limit where it does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 1 << 62
