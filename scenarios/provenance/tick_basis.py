"""Tick basis: what the ticks of a scenario rest on: guesses, or a preset that a board's measurements made.

A calibration holds where it was measured: for these numbers of workers, these sizes and operations, on the device as it
was calibrated. Each thing that leaves that is a Departure: there the model's ticks are extrapolated.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from tessbed.scenarios.model import AnyJob, KernelJob, Scenario
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.spec.origins import NEUTRAL, MeasuredBoard, Origins, field_values


@attrs.frozen
class Departure:
    """Something that leaves what was measured: what it is, what it is here, and what was measured."""

    subject: str
    here: int | str
    measured: tuple[str, ...]


@attrs.frozen
class TickBasis:
    """What the ticks of one scenario rest on. `held` are the measured fields that still have their values."""

    preset: str
    origins: Origins
    held: tuple[str, ...] = ()
    departures: tuple[Departure, ...] = ()


def tick_basis(scenario: Scenario, device: DeviceSpec | None = None) -> TickBasis:
    """That of a scenario, on another device than its own where one is given."""
    used = device or scenario.device
    basis = device_basis(scenario.preset, scenario.origins, used)
    if scenario.origins.board is None:
        return basis
    ranges = [one for job in scenario.jobs for one in _beyond(job, scenario.origins.board, used.workers)]
    return attrs.evolve(basis, departures=tuple(dict.fromkeys((*ranges, *basis.departures))))


def device_basis(preset: str, origins: Origins, device: DeviceSpec) -> TickBasis:
    """That of a device which starts from a preset, whatever it runs."""
    if origins.board is None or origins.device is None:
        return TickBasis(preset, origins)
    now = dict(field_values(device))
    held = tuple(field.path for field in origins.measured if now[field.path] == field.value)
    return TickBasis(preset, origins, held, tuple(_changes(origins, origins.device, now)))


def job_kind(job: AnyJob) -> str:
    """What a job runs: its operation with the scalar type of its input, or a kernel of one's own."""
    if isinstance(job, KernelJob):
        return f"kernel {job.what}"
    return f"{job.what} {job.geometry.dtype.value}"


def output_bytes(job: AnyJob) -> int | None:
    """The bytes that a job writes; None for a kernel of one's own, which knows them when it runs."""
    if isinstance(job, KernelJob):
        return None
    return job.plan.output.required_bytes


def _beyond(job: AnyJob, board: MeasuredBoard, workers: int) -> Iterator[Departure]:
    """Where a job leaves what was measured."""
    if "ev74" not in job.backends or job.empty:
        return
    low, high = board.workers
    if not low <= (used := job.workers or workers) <= high:
        yield Departure("workers", used, (f"{low} to {high}",))
    low, high = board.output_bytes
    size = output_bytes(job)
    if size is not None and not low <= size <= high:
        yield Departure("output bytes", size, (f"{low:,} to {high:,}",))
    if (name := job_kind(job)) not in board.jobs:
        yield Departure("job", name, board.jobs)


def _changes(origins: Origins, calibrated: DeviceSpec, now: Mapping[str, Any]) -> Iterator[Departure]:
    """The fields that are not as they were calibrated."""
    measured = {field.path for field in origins.measured}
    for path, value in field_values(calibrated):
        if path not in ("workers", *NEUTRAL) and now[path] != value:
            words = str(value) if path in measured else f"no; calibrated with {value}"
            yield Departure(path, now[path], (words,))
