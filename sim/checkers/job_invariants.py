"""Job invariants: what must hold of every job's statistics, whatever the firmware did."""

from collections.abc import Iterator

from tessbed.sim.errors import HazardError
from tessbed.sim.stats import JobStats


def check_job_stats(stats: JobStats) -> None:
    """Raise HazardError naming every rule that the job broke."""
    broken = [*_bytes(stats), *_resources(stats), *_ticks(stats)]
    if broken:
        raise HazardError("; ".join(broken))


def _bytes(stats: JobStats) -> Iterator[str]:
    for name, traffic in (("reads", stats.reads), ("writes", stats.writes)):
        if traffic.moved_bytes != traffic.due_bytes:
            yield f"{name} moved {traffic.moved_bytes} bytes of {traffic.due_bytes}"


def _resources(stats: JobStats) -> Iterator[str]:
    for pool in stats.pools:
        if pool.busy_ticks > pool.channels * stats.device_ticks:
            yield f"pool {pool.kind} is busy for {pool.busy_ticks} of {stats.device_ticks} ticks a channel"
        if pool.peak_in_flight > pool.credits:
            yield f"pool {pool.kind} has {pool.peak_in_flight} transfers in flight of {pool.credits}"
    for port in stats.ports:
        if port.busy_ticks > stats.device_ticks:
            yield f"port {port.name} is busy for {port.busy_ticks} of {stats.device_ticks} ticks"


def _ticks(stats: JobStats) -> Iterator[str]:
    if sum(stats.parts.values()) != stats.job_ticks:
        yield f"the parts {stats.parts} do not sum to {stats.job_ticks} job ticks"
    for worker in stats.workers:
        if not 0 <= worker.start_ticks <= worker.finish_ticks <= stats.device_ticks:
            yield f"worker {worker.worker} ran from {worker.start_ticks} to {worker.finish_ticks}"
