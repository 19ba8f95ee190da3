"""Fault effects: what a fault makes of a job, asked of the runtime and the event engine once for each class.

A device of a load has one job at a time and a memory port of its own, so what a fault does depends on the job, its
timeout and whether its kernel is loaded, and on nothing around it: when the host knows that the job has ended, by its
record or because the time is over, whether it has ended well, and when the device takes another one. The event run
beside a load asks the same of a device that has had all the other jobs.
"""

from collections.abc import Sequence
from contextlib import ExitStack

import attrs

from tessbed.runtime.jobs.job import OK, Job
from tessbed.runtime.memory.coherency import Policy
from tessbed.runtime.runtime import Runtime
from tessbed.scenarios import backends
from tessbed.scenarios.fault_strikes import idle_faults
from tessbed.scenarios.format.diagnostics import Location, Problem, ScenarioError
from tessbed.scenarios.load.load_model import FrameFault
from tessbed.scenarios.load.program import FaultEffect
from tessbed.scenarios.model import AnyJob, KernelJob, Scenario
from tessbed.sim.device.device import Device
from tessbed.sim.errors import HangError
from tessbed.sim.fault_injection import Fault, by_number
from tessbed.sim.spec.device_spec import DeviceSpec


@attrs.define
class EffectTable:
    """The effects that were asked for so far, by job, device, faults, and whether the kernel is loaded."""

    scenario: Scenario
    known: dict[tuple[int, DeviceSpec, tuple[Fault, ...], bool], FaultEffect] = attrs.field(factory=dict)

    def of(self, job: AnyJob, spec: DeviceSpec, faults: Sequence[FrameFault], *, loaded: bool) -> FaultEffect:
        """The effect of all these faults together. Raises ScenarioError where one strikes nothing, or nothing ends."""
        kinds = tuple(each.fault for each in faults)
        key = (job.index, spec, kinds, loaded)
        if key not in self.known:
            try:
                self.known[key] = _effect(self.scenario, job, spec, kinds, loaded=loaded)
            except HangError:
                said = " and ".join(kind.kind for kind in kinds)
                text = f"got {said}, which no interrupt ends, wanted timeout_ticks at jobs[{job.index}], its job"
                raise fault_refusal(faults[0], text) from None
            except IdleFaultError as error:
                idle = next(each for each in faults if each.fault == error.fault)
                raise fault_refusal(idle, f"wanted one that strikes: {error}") from None
        return self.known[key]


def fault_refusal(fault: FrameFault, text: str) -> ScenarioError:
    """The error at a fault's own place."""
    return ScenarioError([Problem(fault.place or Location(fault.words), f"faults[{fault.index}].kind: {text}")])


class IdleFaultError(Exception):
    """A fault that strikes nothing, however often its job runs."""

    def __init__(self, fault: Fault, text: str) -> None:
        super().__init__(text)
        self.fault = fault


def _effect(
    scenario: Scenario, job: AnyJob, spec: DeviceSpec, faults: tuple[Fault, ...], *, loaded: bool
) -> FaultEffect:
    """Run the job on a device of its own. Raises HangError where it never ends, IdleFaultError."""
    image = backends.image(scenario.firmware, [kernel.planned.kernel for kernel in scenario.kernels])
    plan = by_number({int(loaded): faults})
    device = Device(spec, image, seed=scenario.seed, faults=plan, moves=False)
    with ExitStack() as stack:
        runtime = Runtime(device)
        if loaded:
            runtime.settle(_submitted(runtime, job, stack, None))
        start = runtime.now
        handed = _submitted(runtime, job, stack, job.timeout_ticks)
        runtime.settle(handed)
        over = runtime.now - start
        while runtime.scheduler.links[0].room < 1:
            runtime.step()
        free = runtime.now - start
        _check_struck(runtime, int(loaded), faults, handed)
    return FaultEffect(handed.outcome == OK, over, free)


def _submitted(runtime: Runtime, job: AnyJob, stack: ExitStack, timeout_ticks: int | None) -> Job:
    """The job in storage of its own, whose bytes do not matter."""
    if isinstance(job, KernelJob):
        views = backends.kernel_views(runtime, job, stack)
        ports = [[views[port.name] for port in side] for side in (job.planned.inputs, job.planned.outputs)]
        return runtime.submit(job.planned, *ports, workers=job.workers, timeout_ticks=timeout_ticks)
    source = stack.enter_context(backends.input_buffer(runtime, job.plan, Policy(job.policy)))
    target = stack.enter_context(backends.output_buffer(runtime, job.plan, job.output_prefill, Policy(job.policy)))
    return runtime.submit(job.plan, [source], [target], workers=job.workers, timeout_ticks=timeout_ticks)


def _check_struck(runtime: Runtime, number: int, faults: Sequence[Fault], handed: Job) -> None:
    """Raise IdleFaultError for a fault that has struck nothing, once nothing is on its way any more."""
    while runtime.env.peek() != float("inf"):
        runtime.step()
    struck = [fault for job, fault in runtime.devices[0].struck if job == number]
    for text in idle_faults(faults, struck, handed.stats):
        raise IdleFaultError(next(fault for fault in faults if fault not in struck), text)
