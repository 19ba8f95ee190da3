"""Run report: a scenario that ran on the event engine, from its verdict to the provenance of every parameter."""

from collections.abc import Iterator

import attrs

from tessbed import __version__
from tessbed.runtime.jobs.job import Job
from tessbed.scenarios.forecast import Meter
from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.html_report.audit import Check, job_checks, worker_checks
from tessbed.scenarios.html_report.findings import busy_window, finding_text, findings_of, stopped_spans
from tessbed.scenarios.html_report.granule_map import granule_maps
from tessbed.scenarios.html_report.markup import Markup, concat, count, element, note, section, table
from tessbed.scenarios.html_report.page import Page
from tessbed.scenarios.html_report.parts.account_part import account_part, utilisation_part
from tessbed.scenarios.html_report.parts.buffer_part import buffer_part
from tessbed.scenarios.html_report.parts.core_part import core_part, steps_by_core
from tessbed.scenarios.html_report.parts.device_part import device_part
from tessbed.scenarios.html_report.parts.ending_part import ending_part
from tessbed.scenarios.html_report.parts.granule_part import granule_part
from tessbed.scenarios.html_report.parts.packet_part import packet_part
from tessbed.scenarios.html_report.parts.scratch_part import scratch_part
from tessbed.scenarios.html_report.parts.timeline_part import (
    MOST_WORDS,
    findings_lane,
    lanes_of,
    launch_window,
    timeline_part,
)
from tessbed.scenarios.html_report.parts.verdict_part import verdict_part
from tessbed.scenarios.html_report.span_table import LaneSpans, SpanTable
from tessbed.scenarios.html_report.units import microseconds
from tessbed.scenarios.model import Scenario
from tessbed.scenarios.outcome import ScenarioRun, Trouble
from tessbed.scenarios.provenance.basis_words import model_ticks, scenario_words
from tessbed.scenarios.runner import run_scenario
from tessbed.scenarios.study.measurement import MeasuredJob, measurement_of
from tessbed.scenarios.timeline.timeline import Timeline
from tessbed.sim.stats import JobStats

WAITS_OF_ITS_OWN = (
    "A kernel at level body: its waits are its own, so there is no account of its bands. What each core did is summed "
    "from the timeline below."
)


@attrs.frozen
class ReportedRun:
    """A run with everything that a report shows."""

    run: ScenarioRun
    spans: SpanTable

    @property
    def device_jobs(self) -> list[tuple[int, Job]]:
        """The jobs that a device got, with the numbers of the scenario's jobs."""
        return [
            (entry.job.index, outcome.run.job)
            for entry in self.run.jobs
            for outcome in entry.outcomes
            if outcome.run and outcome.run.job and outcome.run.job.cookie
        ]

    @property
    def bands(self) -> list[LaneSpans]:
        """The lanes of the bands of each core."""
        return [lane for lane in self.spans.lanes if lane.name.endswith(" bands")]

    @property
    def troubles(self) -> dict[int, Trouble]:
        """Why jobs gave no result on a device, by the numbers of the scenario's jobs."""
        return {
            entry.job.index: outcome.trouble
            for entry in self.run.jobs
            for outcome in entry.outcomes
            if outcome.backend == "ev74" and outcome.trouble
        }


def reported_run(scenario: Scenario, meter: Meter | None = None) -> ReportedRun:
    """Run the scenario with every transfer and every span kept. Raises as `run_scenario`."""
    spans = SpanTable()
    run = run_scenario(scenario, trace=True, meter=meter, timeline=Timeline.of_scenario(spans, scenario))
    return ReportedRun(run, spans)


def run_page(reported: ReportedRun, more: tuple[Check, ...] = (), parts: tuple[Markup, ...] = ()) -> Page:
    """The report. `more` are checks that only the caller can make, `parts` sections behind those of the jobs."""
    run, scenario = reported.run, reported.run.scenario
    measured = {one.job.index: one for one in measurement_of(run).jobs}
    anchors = {index: f"job-{index + 1}" for index, _ in reported.device_jobs}
    checks, sections = list(more), []
    for index, job in reported.device_jobs:
        made, found = _job(reported, job, measured.get(index), reported.troubles.get(index), anchors[index])
        sections.append(made)
        checks += found
    head = [verdict_part(run, anchors), device_part(scenario)]
    held = [buffer_part([job for _, job in reported.device_jobs], reported.spans, scenario.device.clock_mhz)]
    tail = [*(held if reported.device_jobs else []), *parts, _audit(run, checks)]
    about = f"{scenario.about}. " if scenario.about else ""
    return Page(
        scenario.name,
        f"{about}tessbed {__version__}; {model_ticks(scenario.device.clock_mhz, scenario_words(scenario))}.",
        (*head, *sections, *tail),
        "ok" if run.ok and all(check.holds for check in checks) else "failed",
    )


def _job(
    reported: ReportedRun, job: Job, measured: MeasuredJob | None, trouble: Trouble | None, anchor: str
) -> tuple[Markup, list[Check]]:
    """The section of a job, and its checks: its account where it has a result, else how it ended."""
    window = launch_window(reported.spans, job.cookie)
    parts: list[Markup] = []
    checks: list[Check] = []
    if measured is not None:
        parts, checks = _studied(reported, measured, window, anchor)
    elif trouble is not None:
        parts, checks = _failed(reported, job, trouble, window, anchor)
    if window is not None:
        parts.insert(min(2, len(parts)), _timeline(reported, job, window, anchor))
    if job.raw:
        parts.append(packet_part(job.raw, anchor))
    return section(f"Job {job.name}", *parts, anchor=anchor), checks


def _failed(
    reported: ReportedRun, job: Job, trouble: Trouble, window: tuple[int, int] | None, anchor: str
) -> tuple[list[Markup], list[Check]]:
    parts = [ending_part(job, trouble, reported.spans, window, anchor)]
    if window is None:
        return parts, []
    return [*parts, *_cores(reported, window, anchor)], list(_worker_checks(reported, job.name, job.stats, window))


def _cores(reported: ReportedRun, window: tuple[int, int], anchor: str) -> list[Markup]:
    """The ticks of each core, where one ran."""
    shown = _shown(reported.spans, window)
    return [core_part(reported.spans, shown, anchor)] if steps_by_core(reported.spans, shown) else []


def _worker_checks(
    reported: ReportedRun, name: str, stats: JobStats | None, window: tuple[int, int]
) -> Iterator[Check]:
    """What the device counted of its workers, and the spans; nothing where it did not come to count."""
    cores = reported.run.scenario.device.cores
    return worker_checks(name, stats, reported.bands, cores, window) if stats else iter(())


def _studied(
    reported: ReportedRun, measured: MeasuredJob, window: tuple[int, int] | None, anchor: str
) -> tuple[list[Markup], list[Check]]:
    stats, mhz = measured.stats, measured.spec.clock_mhz
    head = note(
        f"{stats.device_ticks:,} device ticks ({microseconds(stats.device_ticks, mhz)}) with {measured.workers} "
        f"workers, {stats.job_ticks:,} job ticks: "
        + ", ".join(f"{name} {ticks:,}" for name, ticks in stats.parts.items() if ticks)
    )
    try:
        parts = [Markup(head + account_part(measured, anchor)), utilisation_part(measured, anchor)]
    except ScenarioError:  # a kernel at level body, whose bands nobody knows but itself
        parts = [Markup(head + note(WAITS_OF_ITS_OWN)), utilisation_part(measured, anchor)]
        if window is None:
            return parts, []
        checks = list(_worker_checks(reported, measured.job.name, stats, window))
        return [*parts, *_cores(reported, window, anchor)], checks
    if window is None:
        return parts, []
    maps = granule_maps(measured)
    slots = [lane for lane in reported.spans.lanes if " slot " in lane.name]
    parts += [granule_part(maps, anchor), scratch_part(measured, slots, window, anchor)]
    return parts, list(job_checks(measured, maps, reported.bands, window))


def _shown(spans: SpanTable, window: tuple[int, int]) -> tuple[int, int]:
    """What is shown of a launch: all of it, or up to where nothing happened any more."""
    return busy_window(spans, window) if stopped_spans(spans, window) else window


def _timeline(reported: ReportedRun, job: Job, window: tuple[int, int], anchor: str) -> Markup:
    spans, mhz = reported.spans, reported.run.scenario.device.clock_mhz
    shown = _shown(spans, window)
    findings = findings_lane([(mark, finding_text(mark, job.name)) for mark in findings_of(spans, job)], shown)
    lanes = [*findings, *lanes_of(spans, shown)]
    return timeline_part(lanes, shown, window, mhz, anchor, words=spans.slices <= MOST_WORDS)


def _audit(run: ScenarioRun, checks: list[Check]) -> Markup:
    """What is known from two sides, and what the runtime noticed."""
    rows = [
        (check.subject, check.claim, _cell(check.here), _cell(check.there), "equal" if check.holds else "DIFFERENT")
        for check in checks
    ]
    wrong = [number for number, check in enumerate(checks) if not check.holds]
    text = f"{len(checks) - len(wrong)} of {len(checks)} sums agree that are known from two sides."
    noticed = [element("li", f"the runtime noticed {kind} {times}x") for kind, times in run.notices.items()]
    return section(
        "Audit",
        note(text),
        table(("of", "claim", "one side", "other side", "verdict"), rows, numbers=(2, 3), marked=wrong),
        element("ul", concat(noticed)) if noticed else "",
        anchor="audit",
    )


def _cell(value: int | str) -> str:
    return value if isinstance(value, str) else count(value)


def output_checks(run: ScenarioRun, recorded: dict[str, str]) -> Iterator[Check]:
    """What a run folder recorded of each output, and what the run has written now."""
    for entry in run.jobs:
        for outcome in entry.outcomes:
            key = f"{entry.job.name} on {outcome.backend}"
            if key in recorded:
                yield Check(
                    key,
                    "output of the run folder = output now",
                    recorded[key][:16],
                    (outcome.output_sha256 or "-")[:16],
                )
