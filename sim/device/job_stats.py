"""Fills in the JobStats of a job that has ended, from its DMA engine, its launch and its workers."""

import attrs

from tessbed.sim.completion_record import Completion
from tessbed.sim.device.job import JobContext
from tessbed.sim.dma.engine import Dma
from tessbed.sim.kernel_report import KernelReport
from tessbed.sim.stats import Digest, JobStats, PoolStats, PortStats, Traffic


def job_stats(
    job: JobContext,
    done: Completion,
    submit_tick: int,
    queue_ticks: int,
    end_tick: int,
    kernel: KernelReport | None = None,
) -> JobStats:
    """The JobStats of `job`, whose record is written at `end_tick`; a job that never launched moved nothing."""
    spec, launch = job.spec, job.launched
    dma = launch.dma if launch else None
    if dma:
        dma.book()
    ends = {"queue": queue_ticks, "dispatch": spec.dispatch_ticks}
    return JobStats(
        cookie=job.cookie,
        completion=done,
        submit_tick=submit_tick,
        device_ticks=job.parts["device"],
        job_ticks=end_tick + spec.completion_ticks - submit_tick,
        parts={**ends, **job.parts, "completion": spec.completion_ticks},
        workers_launched=job.workers,
        reads=_traffic(dma, "read") if dma else Traffic(),
        writes=_traffic(dma, "write") if dma else Traffic(),
        pools=_pools(dma) if dma else (),
        ports=tuple(PortStats(port.name, port.busy_ticks) for port in dma.ports) if dma else (),
        workers=tuple(sorted(launch.ended, key=lambda worker: worker.worker)) if launch else (),
        digests=_digests(dma) if dma else {},
        counts={name: job.counts[name] for name in sorted(job.counts)},
        trace=tuple(dma.trace) if dma else (),
        kernel=kernel,
    )


def _traffic(dma: Dma, kind: str) -> Traffic:
    streams = [attrs.astuple(stream.traffic) for stream in dma.streams.values() if stream.kind == kind]
    return Traffic(*map(sum, zip(*streams, strict=True)))


def _digests(dma: Dma) -> dict[tuple[int, str], Digest]:
    return {key: stream.digest for key, stream in sorted(dma.streams.items()) if stream.landed}


def _pools(dma: Dma) -> tuple[PoolStats, ...]:
    streams = {pool.name: [stream for stream in dma.streams.values() if stream.pool is pool] for pool in dma.pools}
    return tuple(
        PoolStats(
            pool.kind,
            pool.core,
            len(pool.free_at),
            pool.credits,
            sum(stream.landed for stream in streams[pool.name]),
            sum(stream.busy_ticks for stream in streams[pool.name]),
            pool.peak_in_flight,
        )
        for pool in dma.pools
    )
