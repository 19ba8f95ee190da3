"""Exact device: stands in for an EV74 of a scenario, in any number of workers; computes ticks, and moves no byte.

Packet, binding, the firmware's bands and their waits are the real ones; only the event engine is replaced by the
recurrence of sim/exact/engine.py. What a fault, a cancellation or a timeout does to a device is for the event engine
alone.

`time_job` is the way to ticks: a TimedJob has them, and its totals, at once. The statistics of a job are made of one
when they are asked for; whoever times thousands of devices does without.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs

from tessbed.firmware_models.kernel_handles import KernelHandles
from tessbed.firmware_models.launch_outline import Outline
from tessbed.kernels.custom.codec import KernelCall
from tessbed.scenarios.exact.job_binding import BoundJob, ExactLaunch, JobBinder
from tessbed.scenarios.model import AnyJob, Scenario
from tessbed.sim.completion_record import Completion, Record
from tessbed.sim.exact.engine import LaunchCount
from tessbed.sim.exact.program import Timing, unrolled
from tessbed.sim.kernel_report import KernelReport
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.stats import JobStats, LaunchTotals, TransferRecord

if TYPE_CHECKING:
    from tessbed.runtime.jobs.job import JobResult


def not_exact_because(scenario: Scenario) -> str | None:
    """Why the exact engine can not run a scenario, in words; None where it can."""
    for job in scenario.kernels:
        if job.planned.level == "body":
            return f"job {job.name} runs a kernel at level body, whose waits only the event engine performs"
    for job in scenario.jobs:
        for name, there in (("faults", job.faults), ("an expected fault", job.expected_fault)):
            if there:
                return f"job {job.name} has {name}, which only the event engine supports"
        if job.timeout_ticks is not None:
            return f"job {job.name} has a timeout, which only the event engine models"
    return None


@attrs.frozen
class TimedJob:
    """The ticks of a job: what its launch was counted to take, and the parts of the time from submission to wake-up.

    `number` counts the jobs of the device, `began` is the tick of the submission.
    """

    name: str
    launch: ExactLaunch
    count: LaunchCount
    totals: LaunchTotals
    parts: dict[str, int]
    number: int
    began: int

    @property
    def job_ticks(self) -> int:
        """From submission to wake-up."""
        return sum(self.parts.values())

    @property
    def transfers(self) -> int:
        """Reads and drain chains together, as in JobStats."""
        return self.launch.outline.reads.transfers + self.launch.outline.writes.transfers

    def stats(self, advance: "Advance") -> JobStats:
        """What the event engine would report; `advance` hears of the transfers that a trace has recorded."""
        launch, timing = self.launch, self.count.timing
        return JobStats(
            cookie=self.number,
            completion=Completion(0),
            submit_tick=self.began,
            device_ticks=timing.device_ticks,
            job_ticks=self.job_ticks,
            parts=self.parts,
            workers_launched=launch.workers,
            reads=launch.outline.reads,
            writes=launch.outline.writes,
            pools=timing.pools,
            ports=timing.ports,
            workers=timing.workers,
            digests=dict(sorted(timing.digests.items())),
            counts=dict(launch.outline.counts),
            trace=tuple(records(launch.outline, timing, advance)),
            kernel=KernelReport(launch.asked.name, (), ()) if isinstance(launch.asked, KernelCall) else None,
        )


Advance = Callable[[int], None]
EVERY_RECORDS = 4096
"""Transfers between two reports of how many are recorded."""


@attrs.define
class ExactDevice:
    """One device and its runtime, seen by ticks alone: jobs one after the other, kernels stay loaded.

    `advance` hears of the transfers that a trace has recorded.
    """

    spec: DeviceSpec
    tracing: bool = False
    advance: Advance = lambda count: None
    now: int = 0
    jobs: int = 0
    binder: JobBinder = attrs.field(default=attrs.Factory(lambda self: JobBinder.of(self.spec.memory), takes_self=True))
    handles: KernelHandles = attrs.field(factory=KernelHandles, init=False)

    def run(self, job: AnyJob) -> "JobResult":
        """What the event engine would report of the job. Raises HeapExhausted, NotRepresentable, KernelFailure."""
        from tessbed.runtime.jobs.job import OK, JobResult  # with the runtime, which ticks alone do without
        from tessbed.runtime.jobs.states import State

        if job.empty:
            return JobResult(job.name, 0, State.RETIRED, OK, 0, 0, None, None, b"")
        timed = self.time_job(job)
        stats = timed.stats(self.advance)
        record = Record(self.jobs, stats.completion, stats.device_ticks, timed.launch.workers)
        return JobResult(
            job.name,
            self.jobs,
            State.RETIRED,
            OK,
            stats.device_ticks,
            stats.job_ticks,
            record,
            stats,
            timed.launch.packet.raw,
            stats.parts,
        )

    def time_job(self, job: AnyJob) -> TimedJob:
        """The ticks of the next job, which moves a byte. Raises as `run` does."""
        return self.time_bound(self.binder.bind(job))

    def time_bound(self, bound: BoundJob) -> TimedJob:
        """The ticks of the next job, whose addresses are known. Raises KernelFailure."""
        self.jobs += 1
        launch = bound.launch(self.spec)
        count = launch.count(self.spec, trace=self.tracing)
        totals = count.totals
        parts = self._parts(launch, totals.device_ticks)
        timed = TimedJob(bound.job.name, launch, count, totals, parts, self.jobs, self.now)
        self.now += timed.job_ticks
        return timed

    def launch(self, job: AnyJob) -> ExactLaunch:
        """The launch of the next job, which moves a byte, at the addresses that it gets. Raises as `run` does."""
        self.jobs += 1
        return self.binder.bind(job).launch(self.spec)

    def _parts(self, launch: ExactLaunch, device_ticks: int) -> dict[str, int]:
        load_ticks = self.handles.load_ticks(launch.asked, self.spec)
        self.handles.note_loaded(launch.asked)
        return {
            "queue": 0,
            "dispatch": self.spec.dispatch_ticks,
            "decode": self.spec.decode_ticks,
            "load": load_ticks,
            "other": 0,
            "device": device_ticks,
            "completion": self.spec.completion_ticks,
        }


def records(launched: Outline, timing: Timing, advance: Advance = lambda count: None) -> list[TransferRecord]:
    """The traced transfers in order of completion, each on the lowest channel that was idle at its grant."""
    if not timing.trace:
        return []
    payloads = [
        [size for band in unrolled(runs) for size in launched.bands[band].payloads] for runs in launched.workers
    ]
    names = [pool.kind if pool.core < 0 else f"{pool.kind}@{pool.core}" for pool in timing.pools]
    idle = [[0] * pool.channels for pool in timing.pools]
    found = []
    for number, m in enumerate(timing.trace, 1):
        if number % EVERY_RECORDS == 0:
            advance(EVERY_RECORDS)
        channel = next(channel for channel, tick in enumerate(idle[m.pool]) if tick <= m.grant)
        idle[m.pool][channel] = m.end
        found.append(
            TransferRecord(
                worker=m.worker,
                seq=m.seq,
                kind=timing.pools[m.pool].kind,
                arrival=m.arrival,
                channel=channel,
                pool=names[m.pool],
                grant=m.grant,
                start=m.start,
                end=m.end,
                done=m.done,
                payload_bytes=payloads[m.worker][m.seq],
            )
        )
    return sorted(found, key=lambda record: (record.done, record.worker, record.seq))
