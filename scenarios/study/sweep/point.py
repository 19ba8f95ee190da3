"""Point: one configuration, from its device to a row of results. What a process or a cluster's worker runs."""

from collections.abc import Callable, Iterable, Sequence
from time import perf_counter
from typing import Any

import attrs

from tessbed.kernels.errors import BindingError, ContractError, NotRepresentable
from tessbed.runtime.errors import CapabilityError, HeapExhausted
from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.format.option_values import ENGINES
from tessbed.scenarios.model import Scenario
from tessbed.scenarios.study.measurement import measure_scenario
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
    return run_chunk(run_point, batch)


def run_chunk(run: Callable[[Scenario, str, DeviceSpec], Row], batch: Batch) -> list[Result]:
    """(key, result) of every point, or of the first ones where they take longer than CHUNK_S; at least of one."""
    began, results = perf_counter(), []
    for key, device in batch.points:
        results.append((key, run(batch.scenario, batch.engine, device)))
        if perf_counter() - began >= CHUNK_S:
            break
    return results


def run_point(scenario: Scenario, engine: str, device: DeviceSpec) -> Row:
    """One row: makespans of the whole scenario, busy and stall ticks, and each job's device ticks; or a load's row."""
    try:
        if engine == LOAD:
            return {**load_row(scenario), "engine": LOAD}
        measured = measure_scenario(attrs.evolve(scenario, device=device), engine, trace=False)
    except REFUSALS as error:
        return failed(str(error))
    except (ContractError, ScenarioError) as error:  # a kernel that is another one where this runs
        return failed(str(error), passing=True)
    except Exception as error:
        return failed(f"{type(error).__name__}: {error}", passing=True, bug=not isinstance(error, ENDINGS))
    if measured.failed:
        return failed("; ".join(f"job {job.name} {job.text}" for job in measured.failed))
    instead = {"instead": measured.instead} if measured.instead else {}
    return {**_row([(job.job.name, job.stats) for job in measured.jobs]), "engine": measured.engine, **instead}


def failed(text: str, *, passing: bool = False, bug: bool = False) -> Row:
    """The row of a point without results.

    `passing`: another try may end otherwise, so no store keeps it. `bug`: tessbed itself failed, which is no verdict.
    """
    return {"error": text, **({"passing": True} if passing else {}), **({"bug": True} if bug else {})}


def bugs(rows: Iterable[Row]) -> int:
    """The number of rows whose points tessbed itself failed on."""
    return sum("bug" in row for row in rows)


def is_row(row: Any) -> bool:
    """True for what `run_point` may return and a store may keep: a result, or an error that comes again."""
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


def _row(jobs: Sequence[tuple[str, JobStats]]) -> Row:
    stats = [job for _, job in jobs]
    stalls = {f"{reason}_ticks": sum(w.stalls[reason] for job in stats for w in job.workers) for reason in STALLS}
    busy = {
        f"{kind}_busy_ticks": sum(pool.busy_ticks for job in stats for pool in job.pools if pool.kind == kind)
        for kind in ("read", "write")
    }
    return {
        "device_ticks": sum(job.device_ticks for job in stats),
        "job_ticks": sum(job.job_ticks for job in stats),
        "transfers": sum(job.transfers for job in stats),
        "port_busy_ticks": sum(port.busy_ticks for job in stats for port in job.ports),
        **busy,
        **stalls,
        "jobs": {name: job.device_ticks for name, job in jobs},
    }
