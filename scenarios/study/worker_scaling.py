"""Worker scaling: the makespan for every worker count, the knee, and why the curve bends so."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from tessbed.scenarios.forecast import Meter
from tessbed.scenarios.model import Scenario
from tessbed.scenarios.output.text_table import aligned
from tessbed.scenarios.provenance.basis_words import basis_lines
from tessbed.scenarios.study.attribution_report import bar
from tessbed.scenarios.study.lower_bounds import LowerBound, bounds
from tessbed.scenarios.study.measurement import MeasuredJob, Measurement, measure_scenario, on_device, provenance
from tessbed.scenarios.study.tick_attribution import attribute_ticks, utilisation

BARS = "▁▂▃▄▅▆▇█"
BUSY = 0.9
KINDS = {"falling": "falls", "flat": "stays", "rising": "rises"}


@attrs.frozen
class Point:
    """One worker count: what was measured, and the binding bound there."""

    workers: int
    measured: MeasuredJob
    bound: LowerBound

    @property
    def ticks(self) -> int:
        """The makespan."""
        return self.measured.stats.device_ticks


@attrs.frozen
class Stretch:
    """Worker counts from `first` to `last` along which the curve falls, stays or rises, and why."""

    kind: str
    first: int
    last: int
    reason: str


def runs(scenario: Scenario, job: int, most: int, engine: str, meter: Meter | None = None) -> list[Measurement]:
    """One job alone with 1 to `most` workers."""
    alone = attrs.evolve(scenario, jobs=(attrs.evolve(scenario.jobs[job], workers=None),))
    devices = (on_device(alone, workers=count) for count in range(1, most + 1))
    return [measure_scenario(there, engine, meter=meter) for there in devices]


def curve(found: Sequence[Measurement]) -> list[Point]:
    """The points of such runs, none of which failed."""
    return [Point(count, run.jobs[0], bounds(run.jobs[0])[0]) for count, run in enumerate(found, 1)]


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
    changes = stretch_difference(before.measured, after.measured)
    less, more = min(changes.items(), key=lambda item: item[1]), max(changes.items(), key=lambda item: item[1])
    cores = after.measured.spec.cores
    if kind == "falling":
        return f"{less[0]} falls by {-less[1]:,} ticks" + (f", {more[0]} grows by {more[1]:,}" if more[1] > 0 else "")
    busy = {name: part for name, part in utilisation(after.measured).items() if not name.startswith("cores")}
    name = max(busy, key=lambda name: busy[name])
    if busy[name] >= BUSY:
        return f"{name} busy for {100 * busy[name]:.0f} % of the makespan"
    if after.workers > cores:
        return f"{after.workers} workers take turns on {cores} cores; {_both(less, more)}"
    return _both(less, more)


def _both(less: tuple[str, int], more: tuple[str, int]) -> str:
    parts = [f"{less[0]} falls by {-less[1]:,}"] if less[1] < 0 else []
    parts += [f"{more[0]} grows by {more[1]:,}"] if more[1] > 0 else []
    return ", ".join(parts) or "no term of the attribution changes"


def stretch_difference(before: MeasuredJob, after: MeasuredJob) -> Counter[str]:
    """The change of each resource's ticks in the account; the sum is the change of the makespan."""
    changes: Counter[str] = Counter()
    for sign, measured in ((-1, before), (1, after)):
        for term, ticks in attribute_ticks(measured).items():
            changes[term.resource] += sign * ticks
    return changes


def document(scenario: Scenario, most: int, percent: float, engine: str, meter: Meter | None = None) -> dict[str, Any]:
    """The advice for every job; one that fails with any number of workers is left out and named."""
    found = [runs(scenario, index, most, engine, meter) for index in range(len(scenario.jobs))]
    curves = [curve(job) for job in found if not any(run.failed for run in job)]
    return {
        "schema_version": 1,
        "name": scenario.name,
        **provenance(*(run for job in found for run in job)),
        "percent": percent,
        "jobs": [_job_document(points, percent) for points in curves],
    }


def _job_document(points: Sequence[Point], percent: float) -> dict[str, Any]:
    measured = points[0].measured
    return {
        "name": measured.job.name,
        "cores": measured.spec.cores,
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


def sparkline(values: Sequence[float], floor: float = 0) -> str:
    """A sparkline from `floor` to the largest value."""
    span = max(values) - floor or 1
    return "".join(BARS[min(len(BARS) - 1, int(len(BARS) * (value - floor) / span))] for value in values)
