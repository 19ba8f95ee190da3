"""JobStats, the statistics of a job as values: ticks, traffic, resources, workers, transfers. Engines count them.

Ticks of transfers and workers count from the launch. Nothing here depends on data movement or on wall time.
"""

from typing import TYPE_CHECKING, NamedTuple

import attrs

from tessbed.sim.completion_record import Completion

if TYPE_CHECKING:
    from tessbed.sim.kernel_report import KernelReport

STALLS = ("issue", "gather", "slot", "compute", "order", "end")
WORD = (1 << 64) - 1


@attrs.define
class Traffic:
    """All transfers of one direction. `moved_bytes` really moved, `due_bytes` should have."""

    transfers: int = 0
    descriptors: int = 0
    payload_bytes: int = 0
    port_bytes: int = 0
    bursts: int = 0
    pages: int = 0
    rmw_granules: int = 0
    moved_bytes: int = 0
    due_bytes: int = 0


@attrs.define
class Digest:
    """The times of all transfers of a (worker, direction), in closed form: sums of G, E, C, and of i*C mod 2**64.

    i numbers the requests from 1; ticks count from the launch.
    """

    transfers: int = 0
    sum_grant: int = 0
    sum_end: int = 0
    sum_done: int = 0
    weighted_done: int = 0


@attrs.frozen
class PoolStats:
    """A channel pool: `core` is -1 when all cores share it; busy from grant to data end, summed over channels."""

    kind: str
    core: int
    channels: int
    credits: int
    grants: int
    busy_ticks: int
    peak_in_flight: int


@attrs.frozen
class PortStats:
    """A memory port; busy while reserved."""

    name: str
    busy_ticks: int


@attrs.frozen
class WorkerStats:
    """A worker: first and last tick, and where each tick between went, by the reasons of STALLS."""

    worker: int
    start_ticks: int
    finish_ticks: int
    stalls: dict[str, int]


@attrs.frozen
class TransferRecord:
    """One transfer's timestamps, in ticks from the launch. `pool` is "read" or "write", with "@core" when per core."""

    worker: int
    seq: int
    kind: str
    arrival: int
    channel: int
    pool: str
    grant: int
    start: int
    end: int
    done: int
    payload_bytes: int


class LaunchTotals(NamedTuple):
    """A launch as a whole: its last tick, and ticks of all workers, channels and ports together.

    `stalls` are by the reasons of STALLS; `channel_busy` is of reads and of drains.
    """

    device_ticks: int
    stalls: tuple[int, ...]
    channel_busy: tuple[int, ...]
    port_busy: int


@attrs.frozen
class JobStats:
    """One job. `parts` (queue, dispatch, decode, load, other, device, completion) sum to `job_ticks`.

    `kernel` is what is known of a user's kernel, where the job ran one.
    """

    cookie: int
    completion: Completion
    submit_tick: int
    device_ticks: int
    job_ticks: int
    parts: dict[str, int]
    workers_launched: int
    reads: Traffic
    writes: Traffic
    pools: tuple[PoolStats, ...]
    ports: tuple[PortStats, ...]
    workers: tuple[WorkerStats, ...]
    digests: dict[tuple[int, str], Digest]
    counts: dict[str, int]
    trace: tuple[TransferRecord, ...]
    kernel: "KernelReport | None" = None

    @property
    def transfers(self) -> int:
        """Reads and drain chains together."""
        return self.reads.transfers + self.writes.transfers

    @property
    def totals(self) -> LaunchTotals:
        """The launch as a whole."""
        return LaunchTotals(
            self.device_ticks,
            tuple(sum(worker.stalls[reason] for worker in self.workers) for reason in STALLS),
            tuple(sum(pool.busy_ticks for pool in self.pools if pool.kind == kind) for kind in ("read", "write")),
            sum(port.busy_ticks for port in self.ports),
        )
