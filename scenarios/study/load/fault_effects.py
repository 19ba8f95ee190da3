"""Fault effects: what a fault makes of a job, asked of the runtime and the event engine once for each class.

A device has a memory port of its own, so what a fault does to a job that is alone there depends on the job, its timeout
and whether its kernel is loaded: when the host knows that the job has ended, by its record or because the time is over,
whether it has ended well, and when the device takes another one. Where the device holds several jobs, what the host
learns of each depends on those before it; what the device signals, counted from its begin of the job, does not. The
event run beside a load asks the same of devices that have had all the other jobs.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import attrs

from tessbed.runtime.jobs.job import OK, Job
from tessbed.runtime.memory.coherency import Policy
from tessbed.runtime.runtime import Runtime
from tessbed.runtime.scheduling.queues import Queue
from tessbed.scenarios import backends
from tessbed.scenarios.fault_strikes import idle_faults
from tessbed.scenarios.format.diagnostics import Location, Problem, ScenarioError
from tessbed.scenarios.load.load_model import FrameFault
from tessbed.scenarios.load.program import FaultEffect, Signals
from tessbed.scenarios.model import AnyJob, KernelJob, Scenario
from tessbed.sim.completion_record import Record
from tessbed.sim.device.device import Device
from tessbed.sim.errors import HangError
from tessbed.sim.fault_injection import Fault, by_number
from tessbed.sim.spec.device_spec import DeviceSpec


@attrs.frozen
class JobSetting:
    """Where a job runs: the device, how many jobs that holds, and the grace of the job's queue."""

    spec: DeviceSpec
    depth: int
    grace_ticks: int


@attrs.define
class EffectTable:
    """The effects that were asked for so far, by job, setting, faults, and whether the kernel is loaded."""

    scenario: Scenario
    known: dict[tuple[int, JobSetting, tuple[Fault, ...], bool], FaultEffect] = attrs.field(factory=dict)

    def of(self, job: AnyJob, setting: JobSetting, faults: Sequence[FrameFault], *, loaded: bool) -> FaultEffect:
        """The effect of all these faults together. Raises ScenarioError where one strikes nothing, or nothing ends."""
        kinds = tuple(each.fault for each in faults)
        key = (job.index, setting, kinds, loaded)
        if key not in self.known:
            try:
                self.known[key] = self._effect(job, setting, kinds, loaded=loaded)
            except HangError:
                said = " and ".join(kind.kind for kind in kinds)
                text = f"got {said}, which no interrupt ends, wanted timeout_ticks at jobs[{job.index}], its job"
                raise fault_refusal(faults[0], text) from None
            except IdleFaultError as error:
                idle = next(each for each in faults if each.fault == error.fault)
                raise fault_refusal(idle, f"wanted one that strikes: {error}") from None
        return self.known[key]

    def _effect(self, job: AnyJob, setting: JobSetting, faults: tuple[Fault, ...], *, loaded: bool) -> FaultEffect:
        effect = _effect(self.scenario, job, setting, faults, loaded=loaded)
        if setting.depth == 1:
            return effect
        return attrs.evolve(effect, signals=_signals(self.scenario, job, setting, faults, loaded=loaded))


def fault_refusal(fault: FrameFault, text: str) -> ScenarioError:
    """The error at a fault's own place."""
    return ScenarioError([Problem(fault.place or Location(fault.words), f"faults[{fault.index}].kind: {text}")])


class IdleFaultError(Exception):
    """A fault that strikes nothing, however often its job runs."""

    def __init__(self, fault: Fault, text: str) -> None:
        super().__init__(text)
        self.fault = fault


def _runtime(scenario: Scenario, setting: JobSetting, plan: dict[int, tuple[Fault, ...]]) -> Runtime:
    """A runtime on a device of its own, with these faults by the number of the job."""
    image = backends.image(scenario.firmware, [kernel.planned.kernel for kernel in scenario.kernels])
    device = Device(setting.spec, image, seed=scenario.seed, faults=by_number(plan), moves=False)
    return Runtime(device, depth=setting.depth)


def _effect(
    scenario: Scenario, job: AnyJob, setting: JobSetting, faults: tuple[Fault, ...], *, loaded: bool
) -> FaultEffect:
    """Run the job on a device of its own. Raises HangError where it never ends, IdleFaultError."""
    with ExitStack() as stack:
        runtime = _runtime(scenario, setting, {int(loaded): faults})
        if loaded:
            runtime.settle(_submitted(runtime, job, stack, runtime.default_queue))
        start, queue = runtime.now, runtime.queue("struck", grace_ticks=setting.grace_ticks)
        handed = _submitted(runtime, job, stack, queue, job.timeout_ticks)
        runtime.settle(handed)
        over = runtime.now - start
        while runtime.scheduler.links[0].room < setting.depth:
            runtime.step()
        free = runtime.now - start
        _check_struck(runtime, int(loaded), faults, handed)
    return FaultEffect(handed.outcome == OK, over, free, handed.final_tick - start)


def _signals(
    scenario: Scenario, job: AnyJob, setting: JobSetting, faults: tuple[Fault, ...], *, loaded: bool
) -> Signals:
    """Run the job with another one behind it for as long as anything happens; the host's patience has no end here."""
    with ExitStack() as stack:
        runtime = _runtime(scenario, setting, {int(loaded): faults})
        if loaded:
            runtime.settle(_submitted(runtime, job, stack, runtime.default_queue))
        start, interrupts, records = runtime.now, list[int](), list[tuple[int, bool]]()
        struck = _submitted(runtime, job, stack, runtime.queue("struck"))
        behind = _submitted(runtime, job, stack, runtime.queue("behind"))
        runtime.devices[0].delivery.listeners.append(
            lambda cookie, _: interrupts.append(runtime.now - start) if cookie == struck.cookie else None
        )
        while runtime.env.peek() != float("inf"):
            runtime.step()
            if not records and (record := _record_of(struck)) is not None:
                records.append((runtime.now - start, record.completion.status == 0))
    run_ticks = None if behind.stats is None else behind.stats.parts["queue"]
    record_ticks, good = records[0] if records else (None, False)
    return Signals(good, run_ticks, record_ticks, tuple(interrupts))


def _record_of(job: Job) -> Record | None:
    """The record of a job, in place or found already."""
    if job.record is not None or job.final or job.control is None:
        return job.record
    return job.control.read_record(job.cookie)


def _submitted(runtime: Runtime, job: AnyJob, stack: ExitStack, queue: Queue, timeout_ticks: int | None = None) -> Job:
    """The job in storage of its own, whose bytes do not matter."""
    options: dict[str, Any] = {"queue": queue, "workers": job.workers, "timeout_ticks": timeout_ticks}
    if isinstance(job, KernelJob):
        views = backends.kernel_views(runtime, job, stack)
        ports = [[views[port.name] for port in side] for side in (job.planned.inputs, job.planned.outputs)]
        return runtime.submit(job.planned, *ports, **options)
    source = stack.enter_context(backends.input_buffer(runtime, job.plan, Policy(job.policy)))
    target = stack.enter_context(backends.output_buffer(runtime, job.plan, job.output_prefill, Policy(job.policy)))
    return runtime.submit(job.plan, [source], [target], **options)


def _check_struck(runtime: Runtime, number: int, faults: Sequence[Fault], handed: Job) -> None:
    """Raise IdleFaultError for a fault that has struck nothing, once nothing is on its way any more."""
    while runtime.env.peek() != float("inf"):
        runtime.step()
    struck = [fault for job, fault in runtime.devices[0].struck if job == number]
    for text in idle_faults(faults, struck, handed.stats):
        raise IdleFaultError(next(fault for fault in faults if fault not in struck), text)
