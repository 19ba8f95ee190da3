"""The statistics of a job, gathered from its engine, its launch and its parts."""

from tessbed.sim.completion import Completion
from tessbed.sim.dma import Dma
from tessbed.sim.job import JobContext
from tessbed.sim.stats import JobStats, PoolStats, PortStats, Traffic


def job_stats(job: JobContext, done: Completion, submit_tick: int, queue_ticks: int, end_tick: int) -> JobStats:
    """The JobStats of `job`, whose record is written at `end_tick`; a job that never launched moved nothing."""
    spec, launch = job.spec, job.launched
    dma = launch.dma if launch else None
    ends = {"queue": queue_ticks, "dispatch": spec.dispatch_ticks}
    return JobStats(
        cookie=job.cookie,
        completion=done,
        submit_tick=submit_tick,
        device_ticks=job.parts["device"],
        job_ticks=end_tick + spec.completion_ticks - submit_tick,
        parts={**ends, **job.parts, "completion": spec.completion_ticks},
        workers_launched=job.workers,
        reads=dma.traffic["read"] if dma else Traffic(),
        writes=dma.traffic["write"] if dma else Traffic(),
        pools=_pools(dma) if dma else (),
        ports=tuple(PortStats(name, busy) for name, busy in dma.port_busy.items()) if dma else (),
        workers=tuple(sorted(launch.ended, key=lambda worker: worker.worker)) if launch else (),
        digests={key: dma.digests[key] for key in sorted(dma.digests)} if dma else {},
        counts={name: job.counts[name] for name in sorted(job.counts)},
        trace=tuple(dma.trace) if dma else (),
    )


def _pools(dma: Dma) -> tuple[PoolStats, ...]:
    return tuple(
        PoolStats(
            pool.kind,
            pool.core,
            len(pool.free_at),
            pool.credits,
            pool.grants,
            pool.busy_ticks,
            pool.peak_in_flight,
        )
        for pool in dma.pools
    )
