"""Point: one configuration, from its device to a row of results. What a process or a cluster's worker runs."""

from collections.abc import Callable, Iterable, Sequence
from time import perf_counter
from typing import Any

import attrs

from tessbed.kernels.errors import BindingError, ContractError, NotRepresentable
from tessbed.runtime.errors import CapabilityError, HeapExhausted
from tessbed.scenarios.exact.exact_device import TimedJob
from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.format.option_values import ENGINES
from tessbed.scenarios.model import Scenario
from tessbed.scenarios.study.measurement import FailedJob, Measurement, measure_scenario
from tessbed.scenarios.study.scenario_timer import ScenarioTimer
from tessbed.scenarios.study.sweep.load_sweep import LOAD, is_load_row, load_row
from tessbed.sim.errors import HangError, HazardError
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.stats import STALLS, JobStats

Row = dict[str, Any]
Result = tuple[str, Row]
COUNTS = (
    "device_ticks",
    "job_ticks",
    "transfers",
    "port_busy_ticks",
    "read_busy_ticks",
    "write_busy_ticks",
    *(f"{reason}_ticks" for reason in STALLS),
)
"""The columns of a row that are ticks or counts."""
EXACT = "exact"
MOST = 2**63 - 1
CHUNK_S = 0.25
"""How long a process works before it hands over what is done."""
REFUSALS = (BindingError, NotRepresentable, CapabilityError, HeapExhausted)
ENDINGS = (MemoryError, OSError, HazardError, HangError)
"""What a run can raise without a failure of tessbed itself: a machine without room, and findings about firmware."""


@attrs.frozen
class Batch:
    """Points of one scenario that differ in the device alone: (key, device) of each."""

    scenario: Scenario
    engine: str
    points: tuple[tuple[str, DeviceSpec], ...]


def run_batch(batch: Batch) -> list[Result]:
    """(key, row) of the points of a chunk.

    What a point itself does wrong is its row's `error`. So is a failure of tessbed itself, as a `bug`.
    """
    return run_chunk(PointRunner(batch.scenario, batch.engine).row, batch)


def run_chunk(run: Callable[[DeviceSpec], Row], batch: Batch) -> list[Result]:
    """(key, result) of every point, or of the first ones where they take longer than CHUNK_S; at least of one."""
    began, results = perf_counter(), []
    for key, device in batch.points:
        results.append((key, run(device)))
        if perf_counter() - began >= CHUNK_S:
            break
    return results


@attrs.define(eq=False)
class PointRunner:
    """The points of a scenario, one after the other. What they share is made once, as the first point needs it."""

    scenario: Scenario
    engine: str
    _timer: ScenarioTimer | None = attrs.field(default=None, init=False)
    _asked: bool = attrs.field(default=False, init=False)

    def row(self, device: DeviceSpec) -> Row:
        """Makespans of the whole scenario, busy and stall ticks, and each job's device ticks; or a load's row."""
        try:
            return self._result(device)
        except REFUSALS as error:
            return failed(str(error))
        except (ContractError, ScenarioError) as error:  # a kernel that is another one where this runs
            return failed(str(error), passing=True)
        except Exception as error:
            return failed(f"{type(error).__name__}: {error}", passing=True, bug=not isinstance(error, ENDINGS))

    def _result(self, device: DeviceSpec) -> Row:
        if self.engine == LOAD:
            return {**load_row(self.scenario), "engine": LOAD}
        timer = self._exact_timer()
        if timer is not None:
            return exact_row(timer, device)
        return measured_row(measure_scenario(attrs.evolve(self.scenario, device=device), self.engine, trace=False))

    def _exact_timer(self) -> ScenarioTimer | None:
        if self.engine == EXACT and not self._asked:
            self._timer, self._asked = ScenarioTimer.of(self.scenario), True
        return self._timer


def exact_row(timer: ScenarioTimer, device: DeviceSpec) -> Row:
    """The row of a point by the exact engine, from the totals of its launches alone."""
    timed, failures = [], []
    for job in timer.times(device):
        if isinstance(job, FailedJob):
            failures.append(job)
        else:
            timed.append((job.name, job))
    return _failed_jobs(failures) if failures else {**_counts(timed), "engine": EXACT}


def measured_row(measured: Measurement) -> Row:
    """The row of a point by any engine, from the statistics of its jobs."""
    if measured.failed:
        return _failed_jobs(measured.failed)
    counts = _counts([(job.job.name, job.stats) for job in measured.jobs])
    return {**counts, "engine": measured.engine, **({"instead": measured.instead} if measured.instead else {})}


def _failed_jobs(jobs: Iterable[FailedJob]) -> Row:
    return failed("; ".join(f"job {job.name} {job.text}" for job in jobs))


def failed(text: str, *, passing: bool = False, bug: bool = False) -> Row:
    """The row of a point without results.

    `passing`: another try may end otherwise, so no store keeps it. `bug`: tessbed itself failed, which is no verdict.
    """
    return {"error": text, **({"passing": True} if passing else {}), **({"bug": True} if bug else {})}


def bugs(rows: Iterable[Row]) -> int:
    """The number of rows whose points tessbed itself failed on."""
    return sum("bug" in row for row in rows)


def is_row(row: Any) -> bool:
    """True for what a PointRunner may return and a store may keep: a result, or an error that comes again."""
    if not isinstance(row, dict):
        return False
    if "error" in row:
        return set(row) == {"error"} and isinstance(row["error"], str) and bool(row["error"])
    if row.get("engine") == LOAD:
        return is_load_row(row)
    if set(row) - {"instead"} != {*COUNTS, "jobs", "engine"} or row["engine"] not in ENGINES:
        return False
    jobs = row["jobs"]
    if not isinstance(jobs, dict) or not all(map(_is_count, (*jobs.values(), *(row[name] for name in COUNTS)))):
        return False
    why = row.get("instead", "-")
    return isinstance(why, str) and bool(why) and sum(jobs.values()) == row["device_ticks"]


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MOST


def _counts(jobs: Sequence[tuple[str, JobStats | TimedJob]]) -> Row:
    """The columns of COUNTS, summed over the jobs, and the device ticks of each."""
    rows = [_job_counts(job) for _, job in jobs]
    summed = rows[0] if len(rows) == 1 else map(sum, zip(*rows, strict=True))
    return {**dict(zip(COUNTS, summed, strict=True)), "jobs": {name: job.totals.device_ticks for name, job in jobs}}


def _job_counts(job: JobStats | TimedJob) -> tuple[int, ...]:
    totals = job.totals
    return (
        totals.device_ticks,
        job.job_ticks,
        job.transfers,
        totals.port_busy,
        *totals.channel_busy,
        *totals.stalls,
    )
