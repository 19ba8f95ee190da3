"""Exact device: stands in for an EV74 of a scenario, in any number of workers; computes ticks, and moves no byte.

Packet, binding, the firmware's bands and their waits are the real ones; only the event engine is replaced by the
recurrence of sim/exact/engine.py. What a fault, a cancellation or a timeout does to a device is for the event engine
alone.
"""

from collections.abc import Callable
from functools import lru_cache

import attrs

from tessbed.firmware_models.custom.outline import kernel_outline
from tessbed.firmware_models.geometry import PacketGeometry
from tessbed.firmware_models.kernel_handles import KernelHandles
from tessbed.firmware_models.launch_outline import Outline
from tessbed.firmware_models.launch_summary import exact_program, outline
from tessbed.kernels import Plan
from tessbed.kernels.custom.codec import CustomPacket, KernelCall, decode_call
from tessbed.kernels.custom.encode import encode_kernel
from tessbed.kernels.ev74.codec import Packet, decode
from tessbed.kernels.ev74.encode import encode_plan
from tessbed.runtime.jobs.job import OK, JobResult
from tessbed.runtime.jobs.states import State
from tessbed.runtime.memory.device_addresses import SuccessiveJobs, device_heap
from tessbed.scenarios.model import AnyJob, KernelJob, Scenario, ScenarioJob
from tessbed.sim.completion_record import Completion, Record
from tessbed.sim.exact.engine import simulate
from tessbed.sim.exact.program import Timing, unrolled
from tessbed.sim.kernel_report import KernelReport
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.stats import JobStats, TransferRecord


@attrs.frozen
class ExactLaunch:
    """A plan ready to be timed: its bound packet, and the outline of what a grid of `workers` does.

    `asked` is what the packet says: the geometry of an operation, or the call of a kernel of one's own.
    """

    packet: Packet | CustomPacket
    asked: PacketGeometry | KernelCall
    workers: int
    outline: Outline

    def timing(self, spec: DeviceSpec, *, trace: bool = False) -> Timing:
        """The ticks on a device of that spec, which must plan the same launch."""
        return simulate(spec, exact_program(self.outline, spec), trace=trace)


def prepare_launch(plan: Plan, spec: DeviceSpec, workers: int | None, source: int, target: int) -> ExactLaunch:
    """The launch of a plan that is not empty, its input and output at these device addresses.

    Raises NotRepresentable where a packet field can not hold a value.
    """
    return _launch(_bound_packet(_packet(plan), source, target), spec, workers)


@lru_cache(maxsize=64)
def _packet(plan: Plan) -> Packet:
    """The packet of a plan, kept for all devices that a study tries it on."""
    return encode_plan(plan)


@lru_cache(maxsize=64)
def _bound_packet(packet: Packet, source: int, target: int) -> tuple[Packet, PacketGeometry]:
    """A packet with its addresses, and the geometry that the firmware reads from its bytes."""
    bound = packet.bind(source, target)
    return bound, PacketGeometry.of(decode(bound.raw))


def _launch(bound: tuple[Packet, PacketGeometry], spec: DeviceSpec, workers: int | None) -> ExactLaunch:
    """The launch of a bound packet."""
    packet, geometry = bound
    grid = spec.workers if workers is None else min(workers, spec.workers)
    return ExactLaunch(packet, geometry, grid, outline(geometry, spec, grid))


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


Advance = Callable[[int], None]
EVERY_RECORDS = 4096
"""Transfers between two reports of how many are recorded."""


@attrs.define
class ExactDevice:
    """One device and its runtime, seen by ticks alone: jobs one after the other, kernels stay loaded.

    Buffers get the addresses that they would get, and are refused where they would be, by the rule of
    `runtime/memory/device_addresses.py`. `advance` hears of the transfers that a trace has recorded.
    """

    spec: DeviceSpec
    tracing: bool = False
    advance: Advance = lambda count: None
    now: int = 0
    jobs: int = 0
    storage: SuccessiveJobs = attrs.field(init=False)
    handles: KernelHandles = attrs.field(factory=KernelHandles, init=False)

    def __attrs_post_init__(self) -> None:
        self.storage = SuccessiveJobs(device_heap([self.spec.memory]))

    def run(self, job: AnyJob) -> JobResult:
        """What the event engine would report of the job. Raises HeapExhausted, NotRepresentable, KernelFailure."""
        if job.empty:
            return JobResult(job.name, 0, State.RETIRED, OK, 0, 0, None, None, b"")
        launch = self.launch(job)
        timing = launch.timing(self.spec, trace=self.tracing)
        stats = self._stats(launch, timing)
        self.now += stats.job_ticks
        record = Record(self.jobs, stats.completion, stats.device_ticks, launch.workers)
        return JobResult(
            job.name,
            self.jobs,
            State.RETIRED,
            OK,
            stats.device_ticks,
            stats.job_ticks,
            record,
            stats,
            launch.packet.raw,
            stats.parts,
        )

    def launch(self, job: AnyJob) -> ExactLaunch:
        """The launch of the next job, which moves a byte, at the addresses that it gets. Raises as `run` does."""
        return self._bound_kernel(job) if isinstance(job, KernelJob) else self._bound(job)

    def _bound(self, job: ScenarioJob) -> ExactLaunch:
        """The job at its addresses."""
        packet = _packet(job.plan)  # one that can not be takes no address
        sizes = [port.required_bytes for port in (job.plan.input, job.plan.output)]
        source, target, *_ = self.storage.addresses(sizes, packet=True)
        self.jobs += 1
        return _launch(_bound_packet(packet, source, target), self.spec, job.workers)

    def _bound_kernel(self, job: KernelJob) -> ExactLaunch:
        """The job of a kernel at its addresses."""
        plan = job.planned
        offsets = [job.buffer(port.name).offset for port in plan.ports]
        sizes = [offset + port.required_bytes for offset, port in zip(offsets, plan.ports, strict=True)]
        addresses = self.storage.addresses(sizes, packet=True)
        self.jobs += 1
        bound = [address + offset for address, offset in zip(addresses, offsets, strict=False)]
        packet = encode_kernel(plan).bind(bound)
        call = decode_call(packet.raw)
        grid = self.spec.workers if job.workers is None else min(job.workers, self.spec.workers)
        return ExactLaunch(packet, call, grid, kernel_outline(plan.kernel, call, self.spec, grid))

    def _stats(self, launch: ExactLaunch, timing: Timing) -> JobStats:
        parts = self._parts(launch, timing.device_ticks)
        return JobStats(
            cookie=self.jobs,
            completion=Completion(0),
            submit_tick=self.now,
            device_ticks=timing.device_ticks,
            job_ticks=sum(parts.values()),
            parts=parts,
            workers_launched=launch.workers,
            reads=launch.outline.reads,
            writes=launch.outline.writes,
            pools=timing.pools,
            ports=timing.ports,
            workers=timing.workers,
            digests=dict(sorted(timing.digests.items())),
            counts=dict(launch.outline.counts),
            trace=tuple(records(launch.outline, timing, self.advance)),
            kernel=KernelReport(launch.asked.name, (), ()) if isinstance(launch.asked, KernelCall) else None,
        )

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
