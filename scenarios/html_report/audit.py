"""Audit: sums of a run that are known from two sides, and whether both agree."""

from collections.abc import Iterator

import attrs

from tessbed.scenarios.html_report.granule_map import GranuleMap
from tessbed.scenarios.html_report.span_table import LaneSpans
from tessbed.scenarios.study.compute_counts import compute_parts
from tessbed.scenarios.study.measurement import MeasuredJob
from tessbed.scenarios.study.tick_attribution import attribute_core, attribute_ticks
from tessbed.sim.stats import JobStats

STEPS = ("issue", "compute", "wait gather", "wait slot", "wait order", "wait end")


@attrs.frozen
class Check:
    """A number from two sides."""

    subject: str
    claim: str
    here: int | str
    there: int | str

    @property
    def holds(self) -> bool:
        """Whether both sides are equal."""
        return self.here == self.there


def job_checks(
    measured: MeasuredJob, maps: list[GranuleMap], bands: list[LaneSpans], window: tuple[int, int]
) -> Iterator[Check]:
    """What must agree of a job. `bands` are the lanes of the bands of its cores, `window` the ticks of its launch."""
    stats, name = measured.stats, measured.job.name
    yield Check(
        name, "the terms of the account = device ticks", sum(attribute_ticks(measured).values()), stats.device_ticks
    )
    for core in range(min(measured.spec.cores, measured.workers)):
        mine = [worker for worker in stats.workers if worker.worker % measured.spec.cores == core]
        account = attribute_core(measured, core)
        spent = sum(ticks for term, ticks in account.items() if term.resource != "launch")
        ends = max(worker.finish_ticks for worker in mine)
        yield Check(name, f"core {core}: its account = its last tick", sum(account.values()), ends)
        yield Check(name, f"core {core}: spans of the timeline = its account", _shown(bands, core, window), spent)
        counted = sum(part.ticks for part in compute_parts(measured, core))
        yield Check(
            name,
            f"core {core}: counts times parameters = ticks of computation",
            counted,
            sum(w.stalls["compute"] for w in mine),
        )
    yield Check(name, "the parts of the job = job ticks", sum(stats.parts.values()), stats.job_ticks)
    yield Check(
        name,
        "bytes drained by workers = bytes that the DMA wrote",
        sum(n for m in maps for n in m.drained_bytes.values()),
        stats.writes.payload_bytes,
    )
    yield Check(
        name,
        "rewrites of the granule map = rewrites of the DMA",
        sum(int(m.rewrites.sum()) for m in maps),
        stats.writes.rmw_granules,
    )
    for what, traffic in (("read", stats.reads), ("written", stats.writes)):
        yield Check(name, f"bytes {what} = bytes due", traffic.moved_bytes, traffic.due_bytes)


def worker_checks(
    name: str, stats: JobStats, bands: list[LaneSpans], cores: int, window: tuple[int, int]
) -> Iterator[Check]:
    """What the device counted of the workers of each core, and the spans; for a job that has no account."""
    for core in range(min(cores, len(stats.workers))):
        mine = [worker for worker in stats.workers if worker.worker % cores == core]
        ticks = sum(worker.finish_ticks - worker.start_ticks for worker in mine)
        yield Check(
            name, f"core {core}: spans of the timeline = ticks of its workers", _shown(bands, core, window), ticks
        )


def _shown(bands: list[LaneSpans], core: int, window: tuple[int, int]) -> int:
    """Ticks of the steps of a core's bands in the timeline."""
    low, high = window
    return sum(
        span.end - span.begin
        for lane in bands
        if lane.name == f"core {core} bands"
        for span in lane.spans
        if low <= span.begin < high and span.name in STEPS
    )
