"""Worker scaling: the makespan for every worker count, the knee, and why the curve bends so."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from tessbed.scenarios.model import Scenario
from tessbed.scenarios.output.text_table import aligned, sparkline
from tessbed.scenarios.provenance.basis_words import basis_lines
from tessbed.scenarios.study.attribution_report import bar
from tessbed.scenarios.study.lower_bounds import LowerBound, bounds
from tessbed.scenarios.study.measurement import MeasuredJob, Measurement, measure_scenario, on_device, provenance
from tessbed.scenarios.study.parallel_runs import SERIAL, ParallelRuns
from tessbed.scenarios.study.tick_attribution import attribute_ticks, utilisation
from tessbed.sim.spec.device_spec import DeviceSpec

BUSY = 0.9
KINDS = {"falling": "falls", "flat": "stays", "rising": "rises"}


@attrs.frozen
class Point:
    """One worker count: the makespan, the binding bound, the account by resource, and how busy each resource is."""

    workers: int
    cores: int
    ticks: int
    bound: LowerBound
    account: Counter[str]
    utilisation: dict[str, float]


@attrs.frozen
class ScalingRun:
    """One job alone with one worker count: what was measured, without its jobs, and its point unless it failed."""

    measured: Measurement
    point: Point | None


@attrs.frozen
class Stretch:
    """Worker counts from `first` to `last` along which the curve falls, stays or rises, and why."""

    kind: str
    first: int
    last: int
    reason: str


def scaling_runs(scenario: Scenario, job: int, most: int, engine: str, runs: ParallelRuns = SERIAL) -> list[ScalingRun]:
    """One job alone with 1 to `most` workers."""
    alone = attrs.evolve(scenario, jobs=(attrs.evolve(scenario.jobs[job], workers=None),))
    devices = [on_device(alone, workers=count).device for count in range(1, most + 1)]
    return runs.run(_scaling_run, alone, engine, devices)


def _scaling_run(scenario: Scenario, engine: str, device: DeviceSpec) -> ScalingRun:
    """A trace is large: it ends here, and what the advice needs of it goes on."""
    found = measure_scenario(attrs.evolve(scenario, device=device), engine)
    return ScalingRun(attrs.evolve(found, jobs=()), None if found.failed else _point(found.jobs[0]))


def _point(measured: MeasuredJob) -> Point:
    account: Counter[str] = Counter()
    for term, ticks in attribute_ticks(measured).items():
        account[term.resource] += ticks
    spec, ticks = measured.spec, measured.stats.device_ticks
    return Point(spec.workers, spec.cores, ticks, bounds(measured)[0], account, utilisation(measured))


def curve(found: Sequence[ScalingRun]) -> list[Point]:
    """The points of such runs; none where one of them failed."""
    points = [run.point for run in found if run.point is not None]
    return points if len(points) == len(found) else []


def knee(points: Sequence[Point], percent: float) -> int:
    """The fewest workers after which no larger count is faster by `percent` or more."""
    for index, point in enumerate(points):
        if all(later.ticks * 100 > point.ticks * (100 - percent) for later in points[index + 1 :]):
            return point.workers
    return points[-1].workers


def within(points: Sequence[Point], percent: float) -> int | None:
    """The fewest workers within `percent` of the bound: the lowest that a count on the curve could reach."""
    floor = min(point.bound.ticks for point in points)
    return next((point.workers for point in points if point.ticks * 100 <= floor * (100 + percent)), None)


def stretches(points: Sequence[Point], percent: float) -> list[Stretch]:
    """The curve in stretches of one kind; a step of less than `percent` counts as flat."""
    found: list[Stretch] = []
    start = 0
    for index in range(1, len(points)):
        kind = _kind(points[index - 1], points[index], percent)
        following = _kind(points[index], points[index + 1], percent) if index + 1 < len(points) else ""
        if kind != following:
            found.append(_stretch(kind, points[start], points[index]))
            start = index
    return found


def _kind(before: Point, after: Point, percent: float) -> str:
    if abs(after.ticks - before.ticks) * 100 < percent * before.ticks:
        return "flat"
    return "falling" if after.ticks < before.ticks else "rising"


def _stretch(kind: str, before: Point, after: Point) -> Stretch:
    return Stretch(kind, before.workers, after.workers, _reason(kind, before, after))


def _reason(kind: str, before: Point, after: Point) -> str:
    """Why: a resource that is busy all the time, cores that run out, or the terms that changed most."""
    changes = stretch_difference(before, after)
    less, more = min(changes.items(), key=lambda item: item[1]), max(changes.items(), key=lambda item: item[1])
    if kind == "falling":
        return f"{less[0]} falls by {-less[1]:,} ticks" + (f", {more[0]} grows by {more[1]:,}" if more[1] > 0 else "")
    busy = {name: part for name, part in after.utilisation.items() if not name.startswith("cores")}
    name = max(busy, key=lambda name: busy[name])
    if busy[name] >= BUSY:
        return f"{name} busy for {100 * busy[name]:.0f} % of the makespan"
    if after.workers > after.cores:
        return f"{after.workers} workers take turns on {after.cores} cores; {_both(less, more)}"
    return _both(less, more)


def _both(less: tuple[str, int], more: tuple[str, int]) -> str:
    parts = [f"{less[0]} falls by {-less[1]:,}"] if less[1] < 0 else []
    parts += [f"{more[0]} grows by {more[1]:,}"] if more[1] > 0 else []
    return ", ".join(parts) or "no term of the attribution changes"


def stretch_difference(before: Point, after: Point) -> dict[str, int]:
    """The change of each resource's ticks in the account; the sum is the change of the makespan."""
    resources = dict.fromkeys((*before.account, *after.account))
    return {name: after.account[name] - before.account[name] for name in resources}


def document(scenario: Scenario, most: int, percent: float, engine: str, runs: ParallelRuns = SERIAL) -> dict[str, Any]:
    """The advice for every job; one that fails with any number of workers is left out and named."""
    found = [scaling_runs(scenario, index, most, engine, runs) for index in range(len(scenario.jobs))]
    curves = [(job.name, curve(run)) for job, run in zip(scenario.jobs, found, strict=True)]
    return {
        "schema_version": 1,
        "name": scenario.name,
        **provenance(*(run.measured for job in found for run in job)),
        "percent": percent,
        "jobs": [_job_document(name, points, percent) for name, points in curves if points],
    }


def _job_document(name: str, points: Sequence[Point], percent: float) -> dict[str, Any]:
    return {
        "name": name,
        "cores": points[0].cores,
        "knee": knee(points, percent),
        "best": min(points, key=lambda point: (point.ticks, point.workers)).workers,
        "fewest_within": within(points, percent),
        "points": [
            {
                "workers": point.workers,
                "device_ticks": point.ticks,
                "speedup": points[0].ticks / max(1, point.ticks),
                "bound_ticks": point.bound.ticks,
                "binding": point.bound.resource,
            }
            for point in points
        ],
        "stretches": [attrs.asdict(stretch) for stretch in stretches(points, percent)],
    }


def lines(reported: dict[str, Any]) -> Iterator[str]:
    """The advice for a person."""
    yield f"{reported['name']}: how many workers pay off; model ticks"
    yield from basis_lines(reported)
    for job in reported["jobs"]:
        ticks = [point["device_ticks"] for point in job["points"]]
        yield ""
        yield f"{job['name']}  {sparkline(ticks)}  on {job['cores']} cores"
        yield ""
        rows = [
            (
                str(p["workers"]),
                f"{p['device_ticks']:,}",
                f"{p['speedup']:.2f}",
                f"{p['bound_ticks']:,}",
                p["binding"],
                bar(p["device_ticks"], max(ticks)),
            )
            for p in job["points"]
        ]
        yield from aligned(("workers", "ticks", "speed-up", "bound", "binding", ""), rows, numbers=(0, 1, 2, 3))
        yield ""
        yield f"knee: {job['knee']} workers; beyond them no count gains {reported['percent']:g} %"
        yield _near(job, reported["percent"], min(ticks), min(point["bound_ticks"] for point in job["points"]))
        for stretch in job["stretches"]:
            yield f"{stretch['first']} to {stretch['last']} workers: {KINDS[stretch['kind']]}: {stretch['reason']}"


def _near(job: dict[str, Any], percent: float, best: int, floor: int) -> str:
    if job["fewest_within"] is not None:
        return f"within {percent:g} % of the bound {floor:,}: {job['fewest_within']} workers at the least"
    over = 100 * (best - floor) / max(1, floor)
    near = f"no count comes within {percent:g} % of the bound {floor:,}"
    return f"{near}; the best, {job['best']} workers, is {over:.1f} % above it"
