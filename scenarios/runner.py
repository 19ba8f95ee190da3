"""Runner: runs an admitted scenario on its backends, one job after the other, and has the oracle check every byte.

All EV74 jobs of a scenario share one device and one runtime, so a kernel that is loaded stays loaded. A job's input is
written once; the A65 reads it where the device will. What a device does wrong ends its job, never the scenario.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial

import attrs

from tessbed.firmware_models.custom.planning import KernelFailure
from tessbed.runtime.errors import JobFault, JobLost, LifetimeError, StateError
from tessbed.runtime.invariants import check_runtime, check_runtime_ended
from tessbed.runtime.jobs import job as runtime_jobs
from tessbed.runtime.memory.buffers import Buffer
from tessbed.runtime.memory.coherency import Policy
from tessbed.runtime.runtime import Runtime
from tessbed.scenarios import backends
from tessbed.scenarios.backends import BackendRun, Bytes
from tessbed.scenarios.custom.buffers import fill_port, streams
from tessbed.scenarios.custom.preparation import prepared
from tessbed.scenarios.engine_compare import engine_difference
from tessbed.scenarios.exact.exact_device import ExactDevice, not_exact_because
from tessbed.scenarios.fault_strikes import idle_faults, planned_faults, submitted
from tessbed.scenarios.forecast import Meter
from tessbed.scenarios.format.diagnostics import Location, Problem, ScenarioError
from tessbed.scenarios.judgement import fill_input, judge_kernel, judge_output
from tessbed.scenarios.model import AnyJob, KernelJob, Scenario, ScenarioJob
from tessbed.scenarios.outcome import NO_OUTPUT, JobOutcome, Outcome, ScenarioRun, Trouble, kernel_trouble
from tessbed.scenarios.timeline.timeline import Timeline
from tessbed.sim.errors import HangError, HazardError
from tessbed.sim.fault_injection import Fault

# What ends a job that went wrong on the simulated device, by kind.
TROUBLES: dict[type[Exception], str] = {
    JobFault: "fault",
    JobLost: "lost",
    HangError: "hang",
    HazardError: "hazard",
    LifetimeError: "lifetime",
    StateError: "lifetime",
}


STOPS_DEVICE = ("hazard", "lifetime")
Keep = Callable[[AnyJob, str, str, Bytes], None]
"""Gets a job, the backend that wrote or "" for what is read, the port of a kernel or "", and the bytes."""


def keep_nothing(job: AnyJob, backend: str, port: str, held: Bytes) -> None:
    """Let the bytes go."""


def run_scenario(
    scenario: Scenario,
    *,
    engine: str = "simpy",
    trace: bool = False,
    meter: Meter | None = None,
    timeline: Timeline | None = None,
    keep: Keep | None = None,
) -> ScenarioRun:
    """Run every job on its backends; `meter` hears of each step and its parts. `trace` keeps every DMA transfer.

    A `timeline` shows what the event engine does on the device of the scenario, up to the end of the run. `keep` gets
    the bytes that each job reads, once, and those that it writes, from each backend that moves any.
    Kernels of one's own are loaded here: this runs their modules. Raises BindingError, CapabilityError, ContractError,
    MemoryError, OSError, ScenarioError for what the caller must correct.
    """
    if not scenario.jobs:
        text = "no job to run: all are external, wanted a job of an operation or a kernel, or `tessbed load`"
        raise ScenarioError([Problem(Location(scenario.name), text)])
    scenario = prepared(scenario)
    instead = not_exact_because(scenario) if engine != "simpy" else None
    engine = "simpy" if instead else engine
    meter = meter or Meter({})
    traced = partial(meter.advance, "transfers traced")
    exact = ExactDevice(scenario.device, trace or engine == "verify", traced) if engine != "simpy" else None
    runtime = None
    if engine != "exact" and any("ev74" in job.backends for job in scenario.jobs):
        runtime = _runtime(scenario, trace=trace or engine == "verify")
    if runtime and timeline:
        timeline.follow(runtime)
    runner = Runner(scenario, runtime, meter, exact, timeline, keep or keep_nothing)
    jobs = tuple(runner.run(job) for job in scenario.jobs)
    if runtime and not runner.stopped_by:
        jobs = runner.settled(jobs)
        runtime.close()
    if runtime and timeline:
        timeline.leave(runtime)
    return ScenarioRun(
        scenario, jobs, dict(sorted(runtime.scheduler.noted.items())) if runtime else {}, engine, instead
    )


def _runtime(scenario: Scenario, *, trace: bool) -> Runtime:
    """One runtime on one device for all EV74 jobs."""
    kernels = [job.planned.kernel for job in scenario.kernels]
    firmware, faults = backends.image(scenario.firmware, kernels), planned_faults(scenario)
    return backends.ev74(scenario.device, firmware=firmware, seed=scenario.seed, trace=trace, faults=faults)


@attrs.define
class Runner:
    """A scenario under way: the runtime that its EV74 jobs share, and what corrupted it.

    `exact` times those jobs, too, or in place of a runtime. `timeline` shows them. `made` has what jobs of kernels have
    left in their outputs, by job and port, as far as it is `wanted` by others.
    """

    scenario: Scenario
    runtime: Runtime | None
    meter: Meter
    exact: ExactDevice | None = None
    timeline: Timeline | None = None
    keep: Keep = keep_nothing
    stopped_by: str | None = None
    made: dict[str, dict[str, Bytes]] = attrs.field(factory=dict, init=False)
    wanted: frozenset[str] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        buffers = [buffer for job in self.scenario.kernels for buffer in job.buffers]
        self.wanted = frozenset(buffer.made_by[0] for buffer in buffers if buffer.made_by)

    def run(self, job: AnyJob) -> JobOutcome:
        """The job on all its backends, with its input in memory once."""
        self.meter.begin(job.name, job.backends[0])
        if self.runtime is None and job.backends == ("ev74",):
            return JobOutcome(job, (self._timed(job),))
        if isinstance(job, KernelJob):
            return JobOutcome(job, (self._kernel(job),))
        backends.check_room(job.name, job.plan)
        with ExitStack() as stack:
            input_buffer: Buffer | None = None
            if self.runtime and "ev74" in job.backends:
                input_buffer = stack.enter_context(backends.input_buffer(self.runtime, job.plan, Policy(job.policy)))
            source = self._filled(job, input_buffer)
            self.keep(job, "", "", source)
            return JobOutcome(job, tuple(self._on(backend, job, source, input_buffer) for backend in job.backends))

    def _filled(self, job: ScenarioJob, buffer: Buffer | None) -> Bytes:
        """The job's input, in the buffer that the device reads or in the host's storage."""

        def fill(out: Bytes) -> None:
            fill_input(out, job, self.scenario.seed, partial(self.meter.advance, "bytes filled"))

        if buffer is not None:
            backends.fill_buffer(buffer, fill)
            return backends.cpu_bytes(buffer)
        source = backends.storage(job.plan.input.required_bytes)
        fill(source)
        return source

    def _on(self, backend: str, job: ScenarioJob, source: Bytes, input_buffer: Buffer | None) -> Outcome:
        if backend != job.backends[0]:
            self.meter.begin(job.name, backend)
        if backend == "ev74" and self.runtime is None:
            return self._timed(job)
        if input_buffer is None or self.runtime is None or backend == "a65":
            return self._judge(backend, job, source, backends.run_a65(job.plan, source, job.output_prefill))
        if self.stopped_by:
            return self._not_run(job)
        policy = Policy(job.policy)
        with backends.output_buffer(self.runtime, job.plan, job.output_prefill, policy) as output_buffer:
            limits = {"workers": job.workers, "timeout_ticks": job.timeout_ticks}
            handed = backends.submit(self.runtime, job.plan, input_buffer, output_buffer, **limits, name=job.name)
            if (troubled := self._waited(job, handed)) is not None:
                return troubled
            done = self._judge(backend, job, source, backends.run_result(handed, backends.cpu_bytes(output_buffer)))
            return self._compared(done, job)

    def _judge(self, backend: str, job: ScenarioJob, source: Bytes, done: BackendRun) -> Outcome:
        self.keep(job, backend, "", done.output)
        return judge_output(backend, job, source, done, partial(self.meter.advance, "bytes checked"))

    def _kernel(self, job: KernelJob) -> Outcome:
        """A job of a kernel of one's own: every buffer filled, run, and judged by the kernel's reference."""
        assert self.runtime is not None
        if self.stopped_by:
            return self._not_run(job)
        plan = job.planned
        backends.check_room(job.name, plan)
        lacking = [b.made_by[0] for b in job.buffers if b.made_by and b.made_by[0] not in self.made]
        if lacking:
            return _troubled(job, Trouble("not_run", f"job {lacking[0]} has left no output for it", "not_run"), None)
        with ExitStack() as stack:
            views = backends.kernel_views(self.runtime, job, stack)
            for port, stream in zip(plan.ports, streams(job.index), strict=False):
                handed_on = job.buffer(port.name).made_by
                if handed_on is not None:
                    outputs = self.made[handed_on[0]]
                    views[port.name].host[:] = outputs[handed_on[1] or next(iter(outputs))]
                elif not port.written:
                    fill_port(views[port.name].host, port, job.buffer(port.name), self.scenario.seed, stream)
            sources, targets = ([views[port.name] for port in ports] for ports in (plan.inputs, plan.outputs))
            for port, view in zip(plan.inputs, sources, strict=True):
                self.keep(job, "", port.name, view.host)
            handed = self.runtime.submit(
                plan, sources, targets, workers=job.workers, timeout_ticks=job.timeout_ticks, name=job.name
            )
            if (troubled := self._waited(job, handed)) is not None:
                return troubled
            read, made = ([view.host for view in side] for side in (sources, targets))
            for port, held in zip(plan.outputs, made, strict=True):
                self.keep(job, "ev74", port.name, held)
            if job.name in self.wanted:
                self.made[job.name] = {port.name: held.copy() for port, held in zip(plan.outputs, made, strict=True)}
            return self._compared(judge_kernel(job, read, made, backends.run_result(handed, NO_OUTPUT)), job)

    def _waited(self, job: AnyJob, handed: runtime_jobs.Job) -> Outcome | None:
        """Wait for a job; the outcome of one that goes wrong, None for one that goes well."""
        assert self.runtime is not None
        try:
            self.runtime.wait(handed)
        except tuple(TROUBLES) as error:
            trouble = _trouble(error)
            if self.timeline:
                self.timeline.mark(trouble.kind, f"{job.name}: {trouble.text}", self.runtime.now)
            self.stopped_by = job.name if trouble.kind in STOPS_DEVICE else None
            if trouble.kind == "hang":
                self.runtime.reset()
            if trouble.kind in ("hang", "lost"):
                self._recovered(handed)
            report = handed.stats.kernel if handed.stats else None
            if report is not None and isinstance(job, KernelJob):
                trouble = kernel_trouble(trouble, report, job.planned, handed.raw)
            return _troubled(job, trouble, backends.run_result(handed, NO_OUTPUT))
        return None

    def _not_run(self, job: AnyJob) -> Outcome:
        text = f"the device can not be used after job {self.stopped_by}"
        return _troubled(job, Trouble("not_run", text, "not_run"), None)

    def _recovered(self, job: runtime_jobs.Job) -> None:
        """Let time pass until the device is free of the job."""
        assert self.runtime is not None
        while not job.final:
            self.runtime.step()

    def settled(self, jobs: Sequence[JobOutcome]) -> tuple[JobOutcome, ...]:
        """The outcomes, once every interrupt has come: with the faults that struck nothing. Raises HazardError."""
        assert self.runtime is not None
        while self.runtime.env.peek() != float("inf"):
            self.runtime.step()
        ran = [outcome.run.job for entry in jobs for outcome in entry.outcomes if outcome.run and outcome.run.job]
        if broken := [*check_runtime(self.runtime), *(text for job in ran for text in check_runtime_ended(job))]:
            raise HazardError("; ".join(broken))
        numbers = {job.index: number for number, job in enumerate(submitted(self.scenario))}
        return tuple(self._judged(entry, numbers.get(entry.job.index)) for entry in jobs)

    def _judged(self, entry: JobOutcome, number: int | None) -> JobOutcome:
        assert self.runtime is not None
        if number is None or not entry.job.faults:
            return entry
        struck = [fault for job, fault in self.runtime.devices[0].struck if job == number]
        return attrs.evolve(entry, outcomes=tuple(_idle(entry.job, outcome, struck) for outcome in entry.outcomes))

    def _timed(self, job: AnyJob) -> Outcome:
        """The job's ticks, and no bytes."""
        assert self.exact is not None
        try:
            result = self.exact.run(job)
        except KernelFailure as error:
            kind = "hazard" if error.status == "kernel_hazard" else "fault"
            return _troubled(job, Trouble(kind, str(error), error.status), None)
        done = BackendRun(NO_OUTPUT, result.device_ticks, result=result)
        limits = job.expected_ticks
        return Outcome("ev74", None, _output_bytes(job), None, None, done, timing_only=True, expected_ticks=limits)

    def _compared(self, outcome: Outcome, job: AnyJob) -> Outcome:
        """The outcome, with where the exact engine disagrees."""
        ran = outcome.run.result.stats if outcome.run and outcome.run.result else None
        timed = self.exact.run(job).stats if self.exact else None
        if ran is None or timed is None:
            return outcome
        return attrs.evolve(outcome, disagreement=engine_difference(ran, timed))


def _idle(job: AnyJob, outcome: Outcome, struck: Sequence[Fault]) -> Outcome:
    if outcome.backend != "ev74":
        return outcome
    stats = outcome.run.result.stats if outcome.run and outcome.run.result else None
    return attrs.evolve(outcome, idle=idle_faults(job.faults, struck, stats))


def _trouble(error: Exception) -> Trouble:
    kind = next(kind for known, kind in TROUBLES.items() if isinstance(error, known))
    return Trouble(kind, str(error), error.status if isinstance(error, JobFault) else kind)


def _troubled(job: AnyJob, trouble: Trouble, done: BackendRun | None) -> Outcome:
    return Outcome("ev74", None, _output_bytes(job), None, job.expected_sha256, done, trouble, job.expected_fault)


def _output_bytes(job: AnyJob) -> int:
    ports = job.planned.outputs if isinstance(job, KernelJob) else (job.plan.output,)
    return sum(port.required_bytes for port in ports)
