"""Point: one configuration, from its settings to a row of results. What a process or a cluster's worker runs."""

import hashlib
import json
import tomllib
from collections.abc import Sequence
from typing import Any

import attrs

from tessbed import __version__
from tessbed.scenarios.model import Scenario, to_values
from tessbed.scenarios.study.measure import measure
from tessbed.sim.errors import SpecError
from tessbed.sim.spec import DeviceSpec, override, to_mapping
from tessbed.sim.stats import STALLS, JobStats

Row = dict[str, Any]
Changes = tuple[tuple[str, str], ...]


@attrs.frozen
class Batch:
    """Points of one scenario that differ in device fields alone: (key, changes) of each."""

    scenario: Scenario
    engine: str
    points: tuple[tuple[str, Changes], ...]


def run_batch(batch: Batch) -> list[tuple[str, Row]]:
    """(key, row) of every point. What a point itself does wrong is its row's `error`."""
    return [(key, run_point(batch.scenario, batch.engine, changes)) for key, changes in batch.points]


def run_point(scenario: Scenario, engine: str, changes: Changes) -> Row:
    """One row: makespans of the whole scenario, busy and stall ticks, and each job's device ticks."""
    try:
        device = changed(scenario.device, changes)
    except SpecError as error:
        return failed(str(error))
    measured = measure(attrs.evolve(scenario, device=device), engine, trace=False)
    if len(measured.jobs) < len(scenario.jobs):
        return failed("a job ended in a fault")
    return _row(measured.engine, [(job.job.name, job.stats) for job in measured.jobs])


def failed(text: str) -> Row:
    """The row of a point without results."""
    return {"error": text}


def _row(engine: str, jobs: Sequence[tuple[str, JobStats]]) -> Row:
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
        "engine": engine,
    }


def changed(spec: DeviceSpec, changes: Changes) -> DeviceSpec:
    """The device with settings such as ("device.dma.outstanding", "8"). Raises SpecError."""
    nested: dict[str, Any] = {}
    for key, value in changes:
        *way, last = key.split(".")[1:]
        table = nested
        for step in way:
            table = table.setdefault(step, {})
        table[last] = _value(value)
    return override(spec, nested) if nested else spec


def _value(text: str) -> Any:
    """A TOML value, or the text itself, as `--set` reads it."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except ValueError:
        return text


def scenario_digest(scenario: Scenario) -> str:
    """What a scenario asks for, apart from its device and its words."""
    values = {name: value for name, value in to_values(scenario).items() if name not in ("device", "name", "about")}
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def key_of(digest: str, device: DeviceSpec | str, engine: str) -> str:
    """The key of a point: scenario, resolved device (or why there is none), engine and version."""
    resolved = device if isinstance(device, str) else to_mapping(device)
    return hashlib.sha256(json.dumps([__version__, engine, digest, resolved]).encode()).hexdigest()
