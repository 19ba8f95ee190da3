"""Reports without a browser: well-formed, offline, complete, and with the numbers of the studies."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import attrs
import pytest

from tessbed.cli import main
from tessbed.kernels.a65.cost.parameters import SCHEDULE, tick_parameters
from tessbed.scenarios.html_report.granule_map import granule_maps, touched_granules
from tessbed.scenarios.html_report.markup import element, table
from tessbed.scenarios.html_report.parts.device_part import parameter_rows
from tessbed.scenarios.html_report.parts.timeline_part import PIXELS, merged_spans
from tessbed.scenarios.html_report.run_report import reported_run, run_page
from tessbed.scenarios.html_report.span_table import KeptSpan
from tessbed.scenarios.library import load
from tessbed.scenarios.study import attribution_report
from tessbed.scenarios.study.measurement import measure_scenario, on_device, studied
from tessbed.sim.spec.origins import Origins
from tessbed.sim.transfer.descriptor import Descriptor
from tests.scenarios.html_report.parsed import Element, parse
from tests.scenarios.study.test_tick_attribution import random_measured


def report(*arguments: str) -> tuple[object, str]:
    """The exit code of `tessbed report`, and what it wrote."""
    with pytest.raises(SystemExit) as ended:
        main(["report", "-q", "-o", "report.html", *arguments])
    path = Path("report.html")
    return ended.value.code, path.read_text(encoding="utf-8") if path.exists() else ""


EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(scope="module")
def chroma() -> str:
    """The report of a run of two jobs on both backends."""
    scenario = load("chroma", ["device.slots=3"])
    return run_page(reported_run(scenario)).html()


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def offline(text: str) -> None:
    """No address of another machine or file, and a policy that admits exactly the style and the script within."""
    assert not re.search(r"""(https?:|ftp:|["'(]//|@import|url\()""", text)
    root = parse(text)
    found = {name for part in root.everything() for name in part.attributes}
    assert not found & {"src", "srcset", "style", "action", "onclick", "xlink:href"}
    assert all(a.attributes["href"].startswith("#") for a in root.all("a"))
    ids = [part.attributes["id"] for part in root.everything() if "id" in part.attributes]
    assert len(ids) == len(set(ids))
    assert {a.attributes["href"][1:] for a in root.all("a")} <= set(ids)
    (policy,) = [m.attributes["content"] for m in root.all("meta") if m.attributes.get("http-equiv")]
    assert policy.startswith("default-src 'none';")
    for content in [root.all("style")[0].text, root.all("script")[-1].text]:
        assert f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'" in policy
    assert "unsafe" not in policy


def test_a_report_is_whole_and_loads_nothing(chroma) -> None:
    """It is well-formed, its sections are there, nothing in it leads out of the file."""
    offline(chroma)
    root = parse(chroma)
    sections = [part.attributes["id"] for part in root.by_id("main").content if isinstance(part, Element)]
    assert sections == ["verdict", "configuration", "job-1", "job-2", "buffers", "audit"]
    for part in ("account", "utilisation", "timeline", "granules", "scratch", "packet"):
        assert root.by_id(f"job-1-{part}").text


def test_the_account_is_that_of_explain(chroma) -> None:
    """Terms and counts are those of the document of `explain`, to the tick."""
    reported = attribution_report.document(measure_scenario(studied(load("chroma", ["device.slots=3"]))))
    root = parse(chroma)
    for number, job in enumerate(reported["jobs"], 1):
        account, opened = root.by_id(f"job-{number}-account").all("table")
        rows = [[cell.text for cell in row.all("td")][:4] for row in account.all("tbody")[0].all("tr")]
        assert rows == [[t["resource"], t["reason"], t["tiles"], f"{t['ticks']:,}"] for t in job["account"]]
        parts = [[part["parameter"], part["tiles"], f"{part['count']:,}"] for part in job["compute"]]
        assert [row[:3] for row in opened_rows(opened)] == parts
        assert f"{job['device_ticks']:,} device ticks" in root.by_id(f"job-{number}").text


def opened_rows(found: Element) -> list[list[str]]:
    """The cells of a table."""
    return [[cell.text for cell in row.all("td")] for row in found.all("tbody")[0].all("tr")]


def test_the_configuration_shows_what_differs(chroma) -> None:
    """Only the changed parameter is a difference; every parameter has a provenance."""
    configuration = parse(chroma).by_id("configuration")
    differences, everything = (opened_rows(found) for found in configuration.all("table"))
    assert [row[:3] for row in differences] == [["slots", "2", "3"]]
    device = load("chroma").device
    known = [one.name for one in parameter_rows(device, device, Origins())]
    assert [row[0] for row in everything] == [*known, *(one.name for one in tick_parameters())]
    assert ["a65 cycles", SCHEDULE] in [[row[0], row[5]] for row in everything]
    assert all(row[5] for row in everything)


def test_buffers_are_held_until_the_host_knows(chroma) -> None:
    """Each job holds its buffers for its job ticks, and for those of completion behind its record."""
    rows = parse(chroma).by_id("buffers").rows()
    measured = measure_scenario(studied(load("chroma", ["device.slots=3"]))).jobs
    assert [row[0] for row in rows] == ["chroma", "chroma int8 padded"]
    assert [row[3] for row in rows] == [f"{one.stats.job_ticks:,}" for one in measured]
    assert [row[5] for row in rows] == [f"{one.stats.parts['completion']:,}" for one in measured]


def test_every_sum_of_the_audit_agrees(chroma) -> None:
    """Both sides of each line are equal, and there are lines for every core of every job."""
    rows = parse(chroma).by_id("audit").rows()
    assert {row[4] for row in rows} == {"equal"}
    assert all(row[2] == row[3] for row in rows)
    assert sum("spans of the timeline" in row[1] for row in rows) == 8


def test_the_timeline_has_every_span(chroma) -> None:
    """The data for the script sums to the ticks that the bands of each core took, as `explain` knows them."""
    measured = measure_scenario(studied(load("chroma", ["device.slots=3"]))).jobs[0]
    data = json.loads(parse(chroma).by_id("job-1-timeline").all("script")[0].text)
    assert data["ticks"] == measured.stats.device_ticks
    for lane in data["lanes"]:
        if lane["name"].endswith(" bands"):
            core = int(lane["name"].split()[1])
            (worker,) = [one for one in measured.stats.workers if one.worker == core]
            assert sum(lane["levels"][0][1::3]) == worker.finish_ticks - worker.start_ticks
            assert len(lane["words"]) == len(lane["levels"][0]) // 3


@pytest.mark.parametrize("seed", range(2))
def test_a_granule_map_is_what_the_dma_rewrote(seed) -> None:
    """On random tensors and devices: every byte drained, and as many rewrites as the device counted."""
    for measured in random_measured(25, seed):
        maps = granule_maps(measured)
        assert sum(int(one.rewrites.sum()) for one in maps) == measured.stats.writes.rmw_granules
        assert sum(n for one in maps for n in one.drained_bytes.values()) == measured.stats.writes.payload_bytes


TOUCHED = {
    "whole": (Descriptor(64, 0, 1, 128, 0, 0), [1, 2], []),
    "a part": (Descriptor(70, 0, 1, 10, 0, 0), [1], [1]),
    "both ends": (Descriptor(60, 0, 1, 72, 0, 0), [0, 1, 2], [0, 2]),
    "rows in one granule": (Descriptor(0, 0, 3, 4, 8, 4), [0], [0]),
    "rows apart": (Descriptor(0, 0, 2, 64, 192, 64), [0, 3], []),
    "rows that adjoin": (Descriptor(32, 0, 2, 32, 32, 32), [0, 1], [0, 1]),
}


@pytest.mark.parametrize(("descriptor", "touched", "partial"), TOUCHED.values(), ids=TOUCHED)
def test_granules_by_hand(descriptor, touched, partial) -> None:
    """Granules of 64 bytes that a descriptor touches, and those that it fills in part."""
    found, some = touched_granules(descriptor, 0, 64)
    numbers = list(range(found.start, found.stop)) if isinstance(found, slice) else found.tolist()
    assert (numbers, some.tolist()) == (touched, partial)


def test_byte_strobes_rewrite_nothing() -> None:
    """A memory that writes single bytes has no read-modify-write, in the map as in the statistics."""
    scenario = studied(load("chroma"))
    measured = measure_scenario(on_device(scenario, byte_strobes=True)).jobs[0]
    assert not any(one.rewrites.any() for one in granule_maps(measured))
    assert measured.stats.writes.rmw_granules == 0


def test_what_is_drawn_hides_no_span() -> None:
    """Merged spans cover all that they are made of, and add less than a pixel between."""
    spans = [KeptSpan("read", begin, begin + 3, 0, {}) for begin in range(0, 9000, 9)]
    spans.append(KeptSpan("read", 9500, 9900, 0, {}))
    drawn = list(merged_spans(spans, 10_000 / PIXELS))
    assert len(drawn) < len(spans)
    for span in spans:
        assert any(low <= span.begin and span.end <= low + wide + 0.1 for low, wide in drawn)


NAMES = ["<script>alert(1)</script>", 'a" onmouseover="x', "&amp;", "]]>", "</title>"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_text(name) -> None:
    """Whatever a scenario or a job is called stays text, in elements, attributes and data."""
    scenario = load("documents-calls")
    jobs = tuple(attrs.evolve(job, name=f"{name} {job.index}") for job in scenario.jobs)
    text = run_page(reported_run(attrs.evolve(scenario, name=name, jobs=jobs))).html()
    offline(text)
    root = parse(text)
    assert root.all("h1")[0].text == name
    assert root.by_id("verdict").rows()[0][0] == f"{name} 0"
    assert element("p", name, title=name) == parse_again(element("p", name, title=name))
    assert parse(table((name,), [(name,)])).all("td")[0].text == name


def parse_again(text: str) -> str:
    """An element through the parser and back."""
    found = parse(text).all("p")[0]
    return element("p", found.text, title=found.attributes["title"])


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("fault-stalled-channel", 0, "hang"),
        ("empty", 0, "ok:"),
        ("oversized-pitch", 0, "granules"),
        (f"{EXAMPLES}/race.py:race", 4, "granule_race"),
        (f"{EXAMPLES}/reduce.py:reduce", 0, "its waits are its own"),
        (f"{EXAMPLES}/transpose.py:transpose", 0, "scalars"),
    ],
)
def test_runs_of_every_kind_have_a_report(here, name, code, words) -> None:
    """Hangs, jobs without bytes, pitches beyond a descriptor, and kernels of one's own: racing, bodies, bands."""
    found, text = report(name)
    assert found == code
    offline(text)
    assert words in text


def test_a_run_folder_is_compared_with_its_run(here) -> None:
    """The report of a folder says that the same bytes come in the same ticks; of a changed folder, that not."""
    with pytest.raises(SystemExit):
        main(["run", "-q", "chroma", "-o", "folder"])
    code, text = report("folder")
    rows = parse(text).by_id("audit").rows()
    assert code == 0
    assert sum("run folder" in row[1] for row in rows) == 8
    stats = json.loads(Path("folder/stats.json").read_text())
    stats["jobs"][0]["results"]["ev74"]["ticks"] += 1
    Path("folder/stats.json").write_text(json.dumps(stats))
    code, text = report("folder")
    assert code == 1
    assert "DIFFERENT" in text


def test_studies_have_reports(here) -> None:
    """The documents of a sweep and of a search, as their commands print them; every row is in the table."""
    for command, key, count in (("sweep", "--vary", 6), ("search", "--over", 7)):
        argv = [command, "chroma", key, "device.workers=1..3", key, "device.slots=1,2", "--json", "-q"]
        document = printed(argv)
        Path("study.json").write_text(json.dumps(document))
        code, text = report("study.json")
        assert code == 0
        offline(text)
        root = parse(text)
        rows = root.by_id("points" if command == "sweep" else "trials").rows()
        assert len(rows) == len(document["rows" if command == "sweep" else "trials"]) <= count
        best = min(row["device_ticks"] for row in document["rows"]) if command == "sweep" else document["best"]["ticks"]
        assert f"{best:,}" in root.by_id("verdict").text


def test_a_load_has_a_report(here) -> None:
    """Streams and servers of the document; the report of the scenario has the same sections beside those of its run."""
    document = printed(["load", "yolov8n-pipeline-int8", "--json"])
    Path("load.json").write_text(json.dumps(document))
    code, text = report("load.json")
    assert code == 0
    offline(text)
    rows = parse(text).by_id("servers").rows()
    assert [row[0] for row in rows] == [server["name"] for server in document["servers"]]


def printed(argv: list[str]) -> dict:
    """The document that a command prints."""
    import io
    from contextlib import redirect_stdout

    with redirect_stdout(io.StringIO()) as out, pytest.raises(SystemExit):
        main(argv)
    return json.loads(out.getvalue())


def test_a_sweep_of_loads_is_a_table(here) -> None:
    """Every row of the document, in its order."""
    document = printed(["load", "yolov8n-pipeline-int8", "--vary", "host.cores=1..2", "--json"])
    Path("loads.json").write_text(json.dumps(document))
    code, text = report("loads.json")
    assert code == 0
    offline(text)
    assert [row[0] for row in parse(text).by_id("points").rows()] == ["1", "2"]
    assert "2 stable" in text


REFUSED = {
    "a database": ("x.sqlite", b"SQLite format 3\0", "does not say what was varied"),
    "no JSON": ("x.json", b"{", "got no JSON"),
    "another document": ("x.json", b'{"rows": 1}', "got another document"),
    "a list": ("x.json", b"[]", "got another document"),
    "a document that lacks something": ("x.json", b'{"rows": [{}], "name": "x"}', "without what a report shows"),
}


@pytest.mark.parametrize(("name", "content", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_document_is_refused(here, capsys, name, content, words) -> None:
    """With exit code 2 and a sentence; nothing is written."""
    Path(name).write_bytes(content)
    assert report(name) == (2, "")
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("target", ["x.txt", "no/x.html", "."])
def test_a_file_that_can_not_be_written_is_refused_first(here, capsys, target) -> None:
    """Before the run begins."""
    with pytest.raises(SystemExit) as ended:
        main(["report", "chroma", "-o", target])
    assert ended.value.code == 2
    assert "-o" in capsys.readouterr().err
