"""Scenario timer: the EV74 jobs of one scenario on one device after the other, by the exact engine, for ticks alone.

What devices share is made once: kernels of one's own are planned once, and packets bound once for each window of device
memory. No bytes, no statistics and no outcomes are made on the way; `measure_scenario` makes them of the same ticks.
"""

from collections.abc import Iterator

import attrs

from tessbed.firmware_models.custom.planning import KernelFailure
from tessbed.scenarios.custom.preparation import prepared
from tessbed.scenarios.exact.exact_device import ExactDevice, TimedJob, not_exact_because
from tessbed.scenarios.exact.job_binding import BoundJob, JobBinder
from tessbed.scenarios.model import AnyJob, Scenario
from tessbed.scenarios.study.measurement import FailedJob, studied
from tessbed.sim.spec.device_spec import DeviceSpec, MemorySpec


@attrs.define(eq=False)
class _BoundJobs:
    """The jobs of a scenario in one window, bound as far as they were asked for."""

    jobs: tuple[AnyJob, ...]
    binder: JobBinder
    bound: list[BoundJob] = attrs.field(factory=list, init=False)

    def __iter__(self) -> Iterator[BoundJob]:
        for number, job in enumerate(self.jobs):
            if number == len(self.bound):
                self.bound.append(self.binder.bind(job))
            yield self.bound[number]


@attrs.frozen(eq=False)
class ScenarioTimer:
    """Times the EV74 jobs of a scenario that the exact engine can run."""

    jobs: tuple[AnyJob, ...]
    _windows: dict[tuple[int, int], _BoundJobs] = attrs.field(factory=dict, init=False)

    @classmethod
    def of(cls, scenario: Scenario) -> "ScenarioTimer | None":
        """That of a scenario; None for one that is for the event engine. Raises ScenarioError, ContractError."""
        ready = prepared(studied(scenario))
        return None if not_exact_because(ready) else cls(ready.jobs)

    def times(self, device: DeviceSpec) -> Iterator[TimedJob | FailedJob]:
        """The jobs on a device in its first state, one after the other. Raises HeapExhausted, NotRepresentable."""
        bound_jobs = self._bound(device.memory)
        exact = ExactDevice(device, binder=bound_jobs.binder)
        for bound in bound_jobs:
            try:
                yield exact.time_bound(bound)
            except KernelFailure as error:
                yield FailedJob.of(bound.job, error.status)

    def _bound(self, memory: MemorySpec) -> _BoundJobs:
        window = memory.first_address, memory.end_address
        if window not in self._windows:
            self._windows[window] = _BoundJobs(self.jobs, JobBinder.of(memory))
        return self._windows[window]
