"""Timing: what the exact engine takes and gives, a worker's timed bands and the time part of a job's statistics."""

from typing import NamedTuple

import attrs

from tessbed.sim.stats import Digest, PoolStats, PortStats, WorkerStats


class Cost(NamedTuple):
    """A transfer's channel ticks before the data, port ticks and data ticks; latency belongs to the direction."""

    s: int
    m: int
    c: int


class TimedBand(NamedTuple):
    """A band's wait groups, its ticks of compute, whether its drain waits for all earlier ones, and its drain."""

    groups: tuple[tuple[Cost, ...], ...]
    ticks: int
    ordered: bool
    chain: tuple[Cost]
    descriptors: int


class Run(NamedTuple):
    """Bands that a worker goes through `times` times."""

    bands: tuple[TimedBand, ...]
    times: int = 1


class Moment(NamedTuple):
    """One transfer: who asked when, its pool, and its G, P, E, C."""

    worker: int
    seq: int
    arrival: int
    pool: int
    grant: int
    start: int
    end: int
    done: int


@attrs.frozen
class Timing:
    """The time part of a JobStats, equal to that of the event engine; `trace` is in order of grants, if asked for."""

    device_ticks: int
    workers: tuple[WorkerStats, ...]
    pools: tuple[PoolStats, ...]
    ports: tuple[PortStats, ...]
    digests: dict[tuple[int, str], Digest]
    trace: tuple[Moment, ...] = ()
