"""Run: takes an admitted scenario through its backends, one job after the other, and has the oracle judge every byte.

All EV74 jobs of a scenario share one device and one runtime, so a kernel that is loaded stays loaded. A job's input is
written once; the A65 reads it where the device will. What a device does wrong ends its job, never the scenario.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import attrs
import numpy as np

from tessbed.kernels import ChannelStorage, MlaCBlocked, Strided
from tessbed.runtime import jobs as runtime_jobs
from tessbed.runtime.audit import audit, audit_ended
from tessbed.runtime.buffers import Buffer
from tessbed.runtime.errors import JobFault, JobLost, LifetimeError, StateError
from tessbed.runtime.runtime import Runtime
from tessbed.scenarios import backends, inputs
from tessbed.scenarios.backends import BackendRun, Bytes
from tessbed.scenarios.engines import difference
from tessbed.scenarios.exact import ExactDevice, why_not
from tessbed.scenarios.model import Geometry, Job, Scenario
from tessbed.scenarios.oracle import Mismatch, OracleCase, verify
from tessbed.scenarios.strikes import idle_faults, planned_faults, submitted
from tessbed.sim.errors import HangError, HazardError
from tessbed.sim.faults import Fault

# What ends a job that went wrong on the simulated device, by kind.
TROUBLES: dict[type[Exception], str] = {
    JobFault: "fault",
    JobLost: "lost",
    HangError: "hang",
    HazardError: "hazard",
    LifetimeError: "lifetime",
    StateError: "lifetime",
}
NO_OUTPUT = np.empty(0, np.uint8)
SPOILS_DEVICE = ("hazard", "lifetime")


@attrs.frozen
class Trouble:
    """Why a job gave no output: fault, lost, hang, hazard, lifetime, or not_run behind one that spoilt the device.

    `status` is what a scenario can expect: the status of the completion record for a fault, else the kind.
    """

    kind: str
    text: str
    status: str


@attrs.frozen
class Outcome:
    """One job on one backend. `mismatch` is the first wrong byte; `run` has no output any more.

    `timing_only`: no byte was moved, so none was judged. `parted` is where two engines disagreed. `idle` has a
    sentence for each planned fault that struck nothing.
    """

    backend: str
    output_sha256: str | None
    output_bytes: int
    mismatch: Mismatch | None
    expected_sha256: str | None
    run: BackendRun | None
    trouble: Trouble | None = None
    expected_fault: str | None = None
    timing_only: bool = False
    parted: str | None = None
    idle: tuple[str, ...] = ()

    @property
    def verified(self) -> bool:
        """True where the oracle has seen every byte and found it right."""
        return self.trouble is None and self.mismatch is None and not self.timing_only

    @property
    def ok(self) -> bool:
        """As the scenario expects, and every fault that it plans has struck."""
        return self.as_expected and not self.idle

    @property
    def as_expected(self) -> bool:
        """Verified, with the hash that the scenario names, or failed in the way that it names."""
        if self.timing_only or self.parted:
            return self.parted is None
        if self.expected_fault:
            return self.trouble is not None and self.trouble.status == self.expected_fault
        return self.verified and self.expected_sha256 in (None, self.output_sha256)


@attrs.frozen
class JobOutcome:
    """One job on all its backends."""

    job: Job
    outcomes: tuple[Outcome, ...]


@attrs.frozen
class Run:
    """A scenario and what came of it. `notices` counts the oddities that the runtime saw, by kind.

    `engine` is what timed the EV74 jobs, `instead` why it is not the one that was asked for.
    """

    scenario: Scenario
    jobs: tuple[JobOutcome, ...]
    notices: dict[str, int]
    engine: str = "simpy"
    instead: str | None = None

    @property
    def outcomes(self) -> Iterator[Outcome]:
        """Every outcome, job by job."""
        return (outcome for job in self.jobs for outcome in job.outcomes)

    @property
    def ok(self) -> bool:
        """The verdict."""
        return all(outcome.ok for outcome in self.outcomes)


Progress = Callable[[Job, str], None]


def run(
    scenario: Scenario,
    *,
    engine: str = "simpy",
    trace: bool = False,
    progress: Progress = lambda job, backend: None,
) -> Run:
    """Run every job on its backends; `progress` hears of each before it starts. `trace` keeps every DMA transfer.

    Raises BindingError, CapabilityError, MemoryError, OSError for what the caller must mend.
    """
    instead = why_not(scenario) if engine != "simpy" else None
    engine = "simpy" if instead else engine
    exact = ExactDevice(scenario.device, trace or engine == "verify") if engine != "simpy" else None
    runtime = None
    if engine != "exact" and any("ev74" in job.backends for job in scenario.jobs):
        runtime = _runtime(scenario, trace=trace or engine == "verify")
    runner = Runner(scenario, runtime, progress, exact)
    jobs = tuple(runner.run(job) for job in scenario.jobs)
    if runtime and not runner.spoilt:
        jobs = runner.settled(jobs)
        runtime.close()
    return Run(scenario, jobs, dict(sorted(runtime.scheduler.noted.items())) if runtime else {}, engine, instead)


def _runtime(scenario: Scenario, *, trace: bool) -> Runtime:
    """One runtime on one device for all EV74 jobs."""
    firmware, faults = backends.image(scenario.firmware), planned_faults(scenario)
    return backends.ev74(scenario.device, firmware=firmware, seed=scenario.seed, trace=trace, faults=faults)


@attrs.define
class Runner:
    """A scenario under way: the runtime that its EV74 jobs share, and what spoilt it.

    `exact` times those jobs, too, or in place of a runtime.
    """

    scenario: Scenario
    runtime: Runtime | None
    progress: Progress
    exact: ExactDevice | None = None
    spoilt: str | None = None

    def run(self, job: Job) -> JobOutcome:
        """The job on all its backends, with its input in memory once."""
        if self.runtime is None and job.backends == ("ev74",):
            return JobOutcome(job, (self._timed(job),))
        backends.check_room(job.name, job.plan)
        with ExitStack() as stack:
            lent: Buffer | None = None
            if self.runtime and "ev74" in job.backends:
                lent = stack.enter_context(backends.input_buffer(self.runtime, job.plan))
            source = lent.host if lent else backends.storage(job.plan.input.required_bytes)
            inputs.fill(source, job, self.scenario.seed)
            return JobOutcome(job, tuple(self._on(backend, job, source, lent) for backend in job.backends))

    def _on(self, backend: str, job: Job, source: Bytes, lent: Buffer | None) -> Outcome:
        if backend == "ev74" and self.runtime is None:
            return self._timed(job)
        self.progress(job, backend)
        if lent is None or self.runtime is None or backend == "a65":
            return judge(backend, job, source, backends.run_a65(job.plan, source, job.output_prefill))
        if self.spoilt:
            return _troubled(job, Trouble("not_run", f"the device is spoilt since job {self.spoilt}", "not_run"), None)
        with backends.output_buffer(self.runtime, job.plan, job.output_prefill) as taken:
            limits = {"workers": job.workers, "timeout_ticks": job.timeout_ticks}
            handed = backends.submit(self.runtime, job.plan, lent, taken, **limits, name=job.name)
            try:
                self.runtime.wait(handed)
            except tuple(TROUBLES) as error:
                trouble = _trouble(error)
                self.spoilt = job.name if trouble.kind in SPOILS_DEVICE else None
                if trouble.kind == "hang":
                    self.runtime.reset()
                if trouble.kind in ("hang", "lost"):
                    self._recovered(handed)
                return _troubled(job, trouble, backends.ran(handed, NO_OUTPUT))
            return self._compared(judge(backend, job, source, backends.ran(handed, taken.host)), job)

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
        if broken := [*audit(self.runtime), *(text for job in ran for text in audit_ended(job))]:
            raise HazardError("; ".join(broken))
        numbers = {job.index: number for number, job in enumerate(submitted(self.scenario))}
        return tuple(self._judged(entry, numbers.get(entry.job.index)) for entry in jobs)

    def _judged(self, entry: JobOutcome, number: int | None) -> JobOutcome:
        assert self.runtime is not None
        if number is None or not entry.job.faults:
            return entry
        struck = [fault for job, fault in self.runtime.devices[0].struck if job == number]
        return attrs.evolve(entry, outcomes=tuple(_idle(entry.job, outcome, struck) for outcome in entry.outcomes))

    def _timed(self, job: Job) -> Outcome:
        """The job's ticks, and no bytes."""
        assert self.exact is not None
        self.progress(job, "ev74")
        result = self.exact.run(job)
        done = BackendRun(NO_OUTPUT, result.device_ticks, result=result)
        return Outcome("ev74", None, job.plan.output.required_bytes, None, None, done, timing_only=True)

    def _compared(self, outcome: Outcome, job: Job) -> Outcome:
        """The outcome, with where the exact engine disagrees."""
        ran = outcome.run.result.stats if outcome.run and outcome.run.result else None
        timed = self.exact.run(job).stats if self.exact else None
        if ran is None or timed is None:
            return outcome
        return attrs.evolve(outcome, parted=difference(ran, timed))


def _idle(job: Job, outcome: Outcome, struck: Sequence[Fault]) -> Outcome:
    if outcome.backend != "ev74":
        return outcome
    stats = outcome.run.result.stats if outcome.run and outcome.run.result else None
    return attrs.evolve(outcome, idle=idle_faults(job.faults, struck, stats))


def judge(backend: str, job: Job, source: Bytes, done: BackendRun) -> Outcome:
    """Hash the output and compare every byte of it with the oracle's."""
    return Outcome(
        backend=backend,
        output_sha256=hashlib.sha256(done.output.data).hexdigest(),
        output_bytes=done.output.size,
        mismatch=verify(oracle_case(job.geometry), source, done.output, job.output_prefill),
        expected_sha256=job.expected_sha256,
        run=attrs.evolve(done, output=NO_OUTPUT),
        expected_fault=job.expected_fault if backend == "ev74" else None,
    )


def _trouble(error: Exception) -> Trouble:
    kind = next(kind for known, kind in TROUBLES.items() if isinstance(error, known))
    return Trouble(kind, str(error), error.status if isinstance(error, JobFault) else kind)


def _troubled(job: Job, trouble: Trouble, done: BackendRun | None) -> Outcome:
    size, expected = job.plan.output.required_bytes, job.expected_sha256
    return Outcome("ev74", None, size, None, expected, done, trouble, job.expected_fault)


def oracle_case(geometry: Geometry) -> OracleCase:
    """The geometry in the oracle's own words."""
    layout = geometry.tiled
    plan = geometry.admit() if geometry.parameters else None
    tiles: dict[str, Any]
    if isinstance(layout, MlaCBlocked):
        tiles = {"cblocked": (layout.tile_h, layout.tile_w, layout.tile_c)}
    else:
        padded = layout.channel_storage is ChannelStorage.PAD16
        tiles = {"axes": layout.axes, "tile": layout.tile_shape, "pad16": padded}
    return OracleCase(
        op=geometry.op.name,
        shape=geometry.shape,
        dtype=geometry.tiled_dtype.value,
        strides_bytes=geometry.linear.strides if isinstance(geometry.linear, Strided) else None,
        to=geometry.linear_dtype.value,
        fill=plan.channel_fill if plan else geometry.int8_channel_padding or 0,
        parameters=plan.parameters if plan else (),
        **tiles,
    )
