"""Measurement: the EV74 jobs of a scenario and what an engine counted of each; what every study starts from."""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import attrs

from tessbed.firmware_models.geometry import PacketGeometry
from tessbed.kernels.ev74.codec import decode
from tessbed.scenarios.forecast import Meter
from tessbed.scenarios.format.diagnostics import Location, Problem, ScenarioError
from tessbed.scenarios.model import AnyJob, KernelJob, Scenario
from tessbed.scenarios.provenance.basis_words import KEY, basis_document
from tessbed.scenarios.provenance.tick_basis import tick_basis
from tessbed.scenarios.study.kernel_work import KernelWork
from tessbed.sim.errors import SpecError
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tessbed.sim.stats import JobStats

if TYPE_CHECKING:
    from tessbed.scenarios.outcome import Outcome, ScenarioRun


@attrs.frozen
class MeasuredJob:
    """One job as a device saw it: what its packet asks for, the grid, statistics, and every transfer if traced."""

    job: AnyJob
    spec: DeviceSpec
    asked: PacketGeometry | KernelWork
    workers: int
    stats: JobStats


@attrs.frozen
class FailedJob:
    """A job without ticks to study, and why."""

    name: str
    text: str

    @classmethod
    def of(cls, job: AnyJob, status: str) -> "FailedJob":
        """A job that ended in a status other than ok."""
        return cls(job.name, f"ended in {status}")


@attrs.frozen
class Measurement:
    """All jobs of a scenario. `engine` is what ran, `instead` why it is not the one that was asked for."""

    scenario: Scenario
    jobs: tuple[MeasuredJob, ...]
    failed: tuple[FailedJob, ...]
    engine: str
    instead: str | None

    @property
    def device_ticks(self) -> int:
        """The makespans of all jobs; jobs of one device run one after the other."""
        return sum(measured.stats.device_ticks for measured in self.jobs)


def on_device(scenario: Scenario, **changes: Any) -> Scenario:
    """The scenario on a device with nested `changes`. Raises SpecError for what can not be."""
    device = override(scenario.device, changes)
    check_workers(scenario, device)
    return attrs.evolve(scenario, device=device)


def check_workers(scenario: Scenario, device: DeviceSpec) -> None:
    """Raise SpecError where a job asks for more workers than the device has: no run admits that."""
    most = max((job.workers or 0 for job in scenario.jobs), default=0)
    if most > device.workers:
        raise SpecError([(("workers",), f"got {device.workers}, wanted at least {most}, which a job asks for")])


def studied(scenario: Scenario, purpose: str = "study") -> Scenario:
    """The scenario with its EV74 jobs alone. Raises ScenarioError where there is none that moves a byte."""
    jobs = tuple(
        job if isinstance(job, KernelJob) else attrs.evolve(job, backends=("ev74",))
        for job in scenario.jobs
        if "ev74" in job.backends and not job.empty
    )
    if not jobs:
        text = f"no job runs on ev74 and moves a byte: there is nothing to {purpose}"
        raise ScenarioError([Problem(Location(scenario.name), text)])
    return attrs.evolve(scenario, jobs=jobs)


def measure_scenario(
    scenario: Scenario, engine: str = "exact", *, trace: bool = True, meter: Meter | None = None
) -> Measurement:
    """Run the EV74 jobs; `trace` keeps every transfer, `meter` hears of each step.

    What a job did until it failed is no subject of a study.
    """
    from tessbed.scenarios.runner import run_scenario  # with the event engine, which a sweep by ticks does without

    done = run_scenario(studied(scenario), engine=engine, trace=trace, meter=meter)
    return measurement_of(done)


def measurement_of(done: "ScenarioRun") -> Measurement:
    """What the EV74 jobs of a run were measured to do."""
    found = [
        _measured(entry.job, done.scenario.device, outcome)
        for entry in done.jobs
        for outcome in entry.outcomes
        if outcome.backend == "ev74" and not entry.job.empty
    ]
    jobs = tuple(job for job in found if isinstance(job, MeasuredJob))
    failed = tuple(job for job in found if isinstance(job, FailedJob))
    return Measurement(done.scenario, jobs, failed, done.engine, done.instead)


def provenance(*measurements: Measurement) -> dict[str, Any]:
    """What a study's document says of its numbers: the engines that ran, why not the one asked for, jobs left out."""
    engines = dict.fromkeys(measured.engine for measured in measurements)
    failed = dict.fromkeys(job for measured in measurements for job in measured.failed)
    return {
        "engine": " and ".join(engines),
        "instead": next((measured.instead for measured in measurements if measured.instead), None),
        "failed": [attrs.asdict(job) for job in failed],
        KEY: basis_document(tick_basis(measured.scenario) for measured in measurements),
    }


def planned_alike(measured: MeasuredJob) -> None:
    """Raise ScenarioError for a job whose bands nobody knows but its kernel: one at level body."""
    if isinstance(measured.asked, KernelWork) and measured.asked.kernel.level == "body":
        name = measured.job.name
        text = f"job {name} runs a kernel at level body: its waits are its own, so no study of bands fits it"
        advice = "sweep, search and whatif time it; explain, bound and advise need level bands"
        raise ScenarioError([Problem(Location(name), f"{text}; {advice}")])


def whole(measurement: Measurement) -> Measurement:
    """The same. Raises ScenarioError where a job failed: what is summed over all jobs has no meaning then."""
    if measurement.failed:
        advice = "a study needs jobs that end: take away their faults and timeouts"
        raise ScenarioError(
            [
                Problem(Location(measurement.scenario.name), f"job {f.name} {f.text}; {advice}")
                for f in measurement.failed
            ]
        )
    return measurement


def _measured(job: AnyJob, spec: DeviceSpec, outcome: "Outcome") -> MeasuredJob | FailedJob:
    if outcome.trouble:
        return FailedJob.of(job, outcome.trouble.status)
    if outcome.disagreement:
        return FailedJob(job.name, outcome.disagreement)
    result = outcome.run.result if outcome.run else None
    assert result is not None
    assert result.stats is not None
    asked = KernelWork.of(job.planned.kernel, result.packet) if isinstance(job, KernelJob) else _geometry(result.packet)
    return MeasuredJob(job, spec, asked, result.stats.workers_launched, result.stats)


@lru_cache(maxsize=256)
def _geometry(packet: bytes) -> PacketGeometry:
    """A study runs the same few packets on many devices."""
    return PacketGeometry.of(decode(packet))
