"""Device session: one simulated device and its runtime over many calls, each a job from input bytes to a report."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from tessbed.interface.job_report import JobReport, job_report, kernel_report
from tessbed.kernels.custom.declaration import Kernel
from tessbed.kernels.operations import Operation
from tessbed.kernels.ops.requests import AnyRequest
from tessbed.kernels.plan import Plan
from tessbed.kernels.tensor import Strided, TensorSpec
from tessbed.runtime.errors import JobFault
from tessbed.runtime.runtime import Runtime
from tessbed.scenarios import backends
from tessbed.scenarios.backends import BackendRun, Bytes
from tessbed.scenarios.custom.kernel_run import KernelRun, plan_for_arrays, run_on
from tessbed.scenarios.engine_compare import engine_difference
from tessbed.scenarios.exact.exact_device import ExactDevice
from tessbed.scenarios.judgement import judge_output
from tessbed.scenarios.model import AnyJob, Geometry, InputSource, KernelJob, ScenarioJob
from tessbed.scenarios.outcome import NO_OUTPUT, Outcome
from tessbed.scenarios.timeline.timeline import Timeline
from tessbed.sim.errors import HazardError, SpecError
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.stats import JobStats

PREFILL = 0xC3
"""What an output holds before the job, so that the oracle sees what a gap holds afterwards."""
FILL = "int8_channel_padding"
Fill = Callable[[Bytes], None]
Arrays = Mapping[str, np.ndarray]


@attrs.frozen
class ArrayRequest:
    """What a call asks for, admitted: the operation, both sides, and the plan."""

    op: Operation
    request: AnyRequest
    plan: Plan

    @property
    def tiled(self) -> TensorSpec:
        """The tiled side."""
        return (self.request.outputs if self.op.packs else self.request.inputs)[0]

    @property
    def linear(self) -> TensorSpec:
        """The linear side."""
        return (self.request.inputs if self.op.packs else self.request.outputs)[0]

    @property
    def geometry(self) -> Geometry:
        """The same in the words of a scenario."""
        source, target = self.request.inputs[0], self.request.outputs[0]
        params = attrs.asdict(self.request.params)
        fill = params.pop(FILL, None)
        return Geometry(
            op=self.op,
            dtype=source.dtype,
            shape=self.plan.shape,
            tiled=self.tiled.layout,  # pyright: ignore[reportArgumentType]
            linear=self.linear.layout,  # pyright: ignore[reportArgumentType]
            to=target.dtype if self.op.chooses_output else None,
            int8_channel_padding=fill,
            parameters=tuple((name, value) for name, value in params.items() if value is not None),
        )

    def linear_view(self, storage: Bytes, dtype: np.dtype) -> np.ndarray:
        """The linear side's elements in its bytes, as an array of the logical shape."""
        strides = self.linear.layout.strides if isinstance(self.linear.layout, Strided) else None
        return np.ndarray(self.plan.shape, dtype, storage.data, 0, strides)


@attrs.define(eq=False)
class DeviceSession:
    """A device under way. After a hazard, a hang or a loss the next job gets a fresh one."""

    spec: DeviceSpec
    engine: str = "simpy"
    trace: bool = False
    check: bool = True
    seed: int = 0
    jobs: int = 0
    _runtime: Runtime | None = attrs.field(default=None, init=False)
    _exact: ExactDevice | None = attrs.field(default=None, init=False)
    _timeline: Timeline | None = attrs.field(default=None, init=False)
    _followed: Runtime | None = attrs.field(default=None, init=False)

    def run(self, asked: ArrayRequest, fill: Fill) -> tuple[Bytes | None, JobReport]:
        """Run the job on the input that `fill` writes; the output's span, None where no byte moved, and the report."""
        job = ScenarioJob(self.jobs, asked.op.name, asked.geometry, asked.plan, ("ev74",), InputSource(), PREFILL, None)
        backends.check_room(job.name, job.plan)
        self.jobs += 1
        if self.engine == "exact":
            return None, self._report(job, self._timed(job))
        output, outcome = self._moved(job, fill)
        if self.engine == "verify":
            self._compare(job, outcome.run.result.stats if outcome.run and outcome.run.result else None)
        return output, self._report(job, outcome)

    def run_kernel(
        self,
        kernel: Kernel,
        inputs: Mapping[str, np.ndarray],
        outputs: dict[str, np.ndarray],
        arguments: dict[str, Any],
    ) -> tuple[KernelRun | None, JobReport]:
        """Run a kernel of one's own; `outputs` are filled. Raises SpecError for an engine that can not."""
        if self.engine != "simpy" and kernel.level == "body":
            text = (
                f"got '{self.engine}', wanted 'simpy': {kernel.name} is at level body, whose waits only events perform"
            )
            raise SpecError([(("engine",), text)])
        plan = plan_for_arrays(kernel, {**inputs, **outputs}, arguments)
        self.jobs += 1
        job = KernelJob(self.jobs, kernel.name, kernel.name, Path(), plan=plan)
        if self.engine == "exact":
            return None, self._report(job, self._timed(job))
        runtime, self._runtime = self._live(), None
        runtime.devices[0].firmware.custom.hold(kernel)  # pyright: ignore[reportAttributeAccessIssue]
        try:
            done = run_on(runtime, plan, inputs, outputs)
        except JobFault:
            self._runtime = runtime
            raise
        self._runtime = runtime
        if self.engine == "verify":
            self._compare(job, done.result.stats)
        return done, kernel_report(done, self.engine)

    def _live(self) -> Runtime:
        """The runtime, a fresh one where the last job left none."""
        if self._runtime is None:
            self._runtime = backends.ev74(self.spec, seed=self.seed, trace=self.trace or self.engine == "verify")
        if self._timeline is not None and self._followed is None:
            self._followed = self._runtime
            self._timeline.follow(self._runtime)
        return self._runtime

    def follow(self, timeline: Timeline) -> None:
        """Show the next jobs in a timeline; those of a fresh device after a hazard are not, whose time begins anew."""
        self._timeline = timeline

    def leave(self) -> None:
        """The timeline ends."""
        if self._timeline is not None and self._followed is not None:
            self._timeline.leave(self._followed)
        self._timeline = self._followed = None

    def _report(self, job: AnyJob, outcome: Outcome) -> JobReport:
        return job_report(job.name, job.what, outcome, self.engine, judged=self.check)

    def _moved(self, job: ScenarioJob, fill: Fill) -> tuple[Bytes, Outcome]:
        """The job with its bytes, on the event engine."""
        runtime, self._runtime = self._live(), None
        with (
            backends.input_buffer(runtime, job.plan) as source,
            backends.output_buffer(runtime, job.plan, job.output_prefill) as target,
        ):
            fill(source.host)
            handed = backends.submit(runtime, job.plan, source, target, name=job.name)
            try:
                runtime.wait(handed)
            except JobFault:
                self._runtime = runtime
                raise
            output = target.host.copy()
            done = backends.run_result(handed, output)
            outcome = judge_output("ev74", job, source.host, done) if self.check else _unjudged(job, done)
        self._runtime = runtime
        return output, outcome

    def _timed(self, job: AnyJob) -> Outcome:
        """The job's ticks, and no byte, on the exact engine."""
        if self._exact is None:
            self._exact = ExactDevice(self.spec, self.trace or self.engine == "verify")
        result = self._exact.run(job)
        return attrs.evolve(_unjudged(job, BackendRun(NO_OUTPUT, result.device_ticks, result=result)), timing_only=True)

    def _compare(self, job: AnyJob, events: JobStats | None) -> None:
        """Raise HazardError where the engines differ on a job that both ran."""
        timed = self._timed(job).run
        exact = timed.result.stats if timed and timed.result else None
        if events and exact and (difference := engine_difference(events, exact)):
            raise HazardError(difference)


def _unjudged(job: AnyJob, done: BackendRun) -> Outcome:
    ports = job.planned.outputs if isinstance(job, KernelJob) else (job.plan.output,)
    size = sum(port.required_bytes for port in ports)
    return Outcome("ev74", None, size, None, None, attrs.evolve(done, output=NO_OUTPUT))
