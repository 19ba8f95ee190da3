"""Reports of jobs that failed: what was found, what was under way, and what the cores did until then."""

import json
from pathlib import Path

import pytest

from tessbed.scenarios.html_report.findings import busy_window, findings_of, stopped_spans
from tessbed.scenarios.html_report.parts.timeline_part import launch_window
from tessbed.scenarios.html_report.run_report import ReportedRun, reported_run, run_page
from tessbed.scenarios.html_report.span_table import SpanTable
from tessbed.scenarios.library import load
from tessbed.scenarios.timeline.spans import TimelineSpan, argument_fields
from tests.scenarios.html_report.parsed import Element, parse

EXAMPLES = Path(__file__).parents[3] / "examples"
RACE = f"{EXAMPLES}/race.py:race"
FAILED = {
    "a fault": ("fault-dma-error", "dma_error", ["fault dma_error", "fault dma_error", "fault"]),
    "a lost completion": ("fault-lost-completion", "lost", ["fault lost", "lost"]),
    "a hang": ("fault-stalled-channel", "hang", ["fault stall", "hang"]),
    "a race": (RACE, "kernel_hazard", ["granule_race", "fault"]),
}


@pytest.fixture(scope="module")
def reports() -> dict[str, tuple[ReportedRun, Element]]:
    """Each run of FAILED, and its report."""
    made = {}
    for name, *_ in FAILED.values():
        reported = reported_run(load(name))
        made[name] = reported, parse(run_page(reported).html())
    return made


def data_of(root: Element) -> dict:
    """The data of the timeline of the first job."""
    return json.loads(root.by_id("job-1-timeline").all("script")[0].text)


@pytest.mark.parametrize(("name", "status", "found"), FAILED.values(), ids=FAILED)
def test_the_end_is_explained(reports, name, status, found) -> None:
    """The status with the whole diagnosis of the run, and every finding with its tick."""
    reported, root = reports[name]
    end = root.by_id("job-1-end")
    trouble = reported.troubles[reported.device_jobs[0][0]]
    assert end.all("b")[0].text == status
    assert f"{status}: {trouble.text}" in end.text
    rows = [[cell.text for cell in row.all("td")] for row in end.all("table")[0].all("tbody")[0].all("tr")]
    assert [row[2] for row in rows] == found
    low, _ = launch_window(reported.spans, 1) or (0, 0)
    for tick, of_launch, *_ in rows:
        assert int(tick.replace(",", "")) - low == int(of_launch.replace(",", ""))


@pytest.mark.parametrize(("name", "status", "found"), FAILED.values(), ids=FAILED)
def test_the_cores_are_those_of_the_timeline(reports, name, status, found) -> None:
    """The ticks of each core are those that the data for the script has of its steps."""
    _, root = reports[name]
    table = root.by_id("job-1-cores").all("table")[0]
    steps = [head.text for head in table.all("th")][1:-2]
    data = data_of(root)
    for row in table.all("tbody")[0].all("tr"):
        core, *cells = (cell.text for cell in row.all("td"))
        (lane,) = [lane for lane in data["lanes"] if lane["name"] == f"{core} bands"]
        flat = [triple for level in lane["levels"] for triple in zip(level[1::3], level[2::3], strict=True)]
        for step, text in zip(steps, cells, strict=False):
            assert sum(ticks for ticks, kind in flat if data["names"][kind] == step) == int(text.replace(",", "") or 0)


@pytest.mark.parametrize(("name", "status", "found"), FAILED.values(), ids=FAILED)
def test_findings_have_a_lane(reports, name, status, found) -> None:
    """The first lane of the timeline has the findings of the launch with their texts, each at its tick."""
    reported, root = reports[name]
    lane = data_of(root)["lanes"][0]
    assert lane["name"] == "findings"
    marks = list(findings_of(reported.spans, reported.device_jobs[0][1]))
    assert [mark.name for mark in marks] == found
    assert lane["words"]
    assert marks[0].arguments["text"] in lane["words"][0]


def test_what_a_hang_waits_for_is_under_way(reports) -> None:
    """The stalled read and the wait for it, since their ticks; the timeline ends soon behind the last event."""
    reported, root = reports["fault-stalled-channel"]
    rows = [[cell.text for cell in row.all("td")] for row in root.by_id("job-1-end").all("table")[1].all("tr")][1:]
    assert [row[:4] for row in rows] == [
        ["read channel 0", "read", "107,012", "12"],
        ["core 0 bands", "wait gather", "107,012", "12"],
    ]
    assert rows[1][5] == "for transfer 0"
    assert data_of(root)["ticks"] < 2_000
    assert "stopped at tick 201,675 of the launch" in root.by_id("job-1-timeline").text
    assert "stopped at" not in root.by_id("job-2-timeline").text
    assert not stopped_spans(reported.spans, launch_window(reported.spans, 2) or (0, 0))


def test_the_audit_has_the_workers_of_what_ended(reports) -> None:
    """A job that ended with a fault or a race has a line for each core: its spans are its workers' ticks."""
    for name in ("fault-dma-error", RACE):
        rows = [row for row in reports[name][1].by_id("audit").rows() if "ticks of its workers" in row[1]]
        assert len(rows) == 4
        assert {row[4] for row in rows} == {"equal"}


def test_a_kernel_at_level_body_has_its_lines() -> None:
    """No account, and yet the ticks of each line of its source, which sum to those of its cores."""
    root = parse(run_page(reported_run(load(f"{EXAMPLES}/reduce.py:reduce"))).html())
    cores, lines = root.by_id("job-1-cores").all("table")
    totals = [
        sum(int(row.all("td")[-2].text.replace(",", "")) for row in one.all("tbody")[0].all("tr"))
        for one in (cores, lines)
    ]
    assert totals[0] == totals[1] == 24_765
    assert all(row.all("td")[0].text.startswith("reduce.py:") for row in lines.all("tbody")[0].all("tr"))
    assert {row[4] for row in root.by_id("audit").rows()} == {"equal"}


def table_of(*spans: tuple[int, int]) -> SpanTable:
    """One lane with these spans."""
    made = SpanTable()
    lane = made.lane(("core 0", "core 0 bands"))
    for begin, end in spans:
        made.span(TimelineSpan(lane, "wait gather", begin, end, argument_fields("mostly:text"), ("never ends",)))
    return made


@pytest.mark.parametrize(
    ("spans", "window", "busy"),
    [
        ([(100, 180), (180, 1000)], (100, 1000), (100, 191)),
        ([(100, 600), (600, 1000)], (100, 1000), (100, 1000)),
        ([(100, 1000)], (100, 1000), (100, 101)),
        ([], (0, 50), (0, 1)),
    ],
)
def test_silence_is_not_drawn(spans, window, busy) -> None:
    """A launch is shown up to an eighth behind its last event, where more than half of it is silence."""
    assert busy_window(table_of(*spans), window) == busy
