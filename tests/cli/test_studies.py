"""The study commands at a terminal: what they say beside their result, and the pictures that they draw."""

import csv
import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tessbed.scenarios.study.scenario_timer import ScenarioTimer
from tests.cli.conftest import HEAD, Said
from tests.cli.forks import fork

SVG = "{http://www.w3.org/2000/svg}"

SWEPT = ("--vary", "device.workers=1,2", "--executor", "here", "--db", "results")
SOUGHT = ("--over", "device.workers=1,2", "--db", "results")
HERE = ("-j", 1)
"""Other processes take longer to start than all that is done here."""
COMMANDS = {
    "explain": (),
    "bound": (),
    "advise": ("--max-workers", 2, *HERE),
    "whatif": HERE,
    "sweep": SWEPT,
    "search": (*SOUGHT, *HERE),
}
ON_DEVICE = ("--set", "jobs.*.backend=ev74")
TIMED = ("--set", "jobs.*.timeout_ticks=9_000_000")
INSTEAD = "job head has a timeout, which only the event engine models"


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch) -> None:
    """A folder with a small scenario in it."""
    monkeypatch.chdir(tmp_path)
    Path("head.toml").write_text(HEAD)


@pytest.mark.parametrize("command", COMMANDS)
def test_another_engine_is_reported(command) -> None:
    """Where simpy runs in place of exact, stderr says so in a sentence, and the document has the same reason."""
    for more, engine, instead in ((TIMED, "simpy", INSTEAD), ((), "exact", None)):
        said = _apart(command, "head.toml", *ON_DEVICE, *more, *COMMANDS[command], "--json")
        reported = json.loads(said.out)
        assert (reported["engine"], reported["instead"]) == (engine, instead)
        assert (f"engine simpy, not exact: {INSTEAD}\n" in said.err) == (engine == "simpy")
        assert ("engine" in said.err) == (engine == "simpy")


def _apart(*arguments: object) -> Said:
    """In a process of its own: whatif tries 256 MiB of scratch, which this one would be seen to have had."""
    done = fork(*map(str, arguments), folder=Path.cwd())
    assert done["code"] == 0
    return Said(*done.values())


def test_whatif_shows_as_many_parameters_as_asked() -> None:
    """The first rows of the whole table, and how many more change something or nothing; the document has all."""
    whole, short, document = (
        _apart("whatif", "head.toml", *ON_DEVICE, *HERE, *more).out
        for more in ((), ("--top", 2), ("--top", 2, "--json"))
    )
    table, rows = whole.split("\n\n")[1].splitlines(), json.loads(document)["rows"]
    moving = len(table) - 1
    assert [line.split() for line in short.splitlines()[2:5]] == [line.split() for line in table[:3]]
    assert short.splitlines()[-1] == f"{moving - 2} more parameters change it, {len(rows) - moving} do not"
    assert whole.splitlines()[0] == short.splitlines()[0]


# command: (its arguments, words that its picture must show)
PLOTS = {
    "explain": (
        ("yolov8n-heads-bf16",),
        ["device ticks", "YOLOv8n heads in BF16", "head 80x80x64", "core", "read latency"],
    ),
    "advise": (
        ("chroma", "--max-workers", 4, *HERE),
        ["workers", "device ticks", "lower bound", "knee", "chroma: 52,350 = 52.35 µs with 4"],
    ),
    "sweep": (
        ("chroma", *SWEPT, "--vary", "device.slots=1..3"),
        ["device.workers", "device ticks", "device.slots", "1", "2, 3"],
    ),
    "bound": (("chroma",), ["device ticks", "chroma: memory port", "binding bound", "the run", "µs"]),
    "whatif": (
        ("head.toml", *ON_DEVICE, *HERE),
        ["change of the device ticks", "best value tried", "worst value tried", "cores = 4"],
    ),
    "compare": (
        ("chroma", "chroma", "--set2", "device.slots=1"),
        ["change of the device ticks", "chroma: write latency (slot, full tiles)", "µs"],
    ),
    "load": (("yolov8n-pipeline-int8",), ["latency in ticks", "camera", "deadline", "waiting for ev74"]),
    "search": (("chroma", *SOUGHT, "--minimise", "job_ticks"), ["trial", "job ticks", "best so far", "as it stands"]),
}


@pytest.mark.filterwarnings("ignore")
def test_every_kind_of_picture_comes_out_the_same_again(tessbed) -> None:
    """PNG, SVG and PDF of one command."""
    pytest.importorskip("matplotlib")
    for suffix in ("png", "svg", "pdf"):
        for name in ("one", "two"):
            assert tessbed("bound", "chroma", "--plot", f"{name}.{suffix}", "-q").code == 0
        assert Path(f"one.{suffix}").read_bytes() == Path(f"two.{suffix}").read_bytes()
    assert Path("one.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("command", PLOTS)
def test_pictures(command, tessbed) -> None:
    """PNG and SVG are written; the PNG is no blank, the SVG has its labels as text and comes out the same again."""
    image = pytest.importorskip("matplotlib.image")
    arguments, words = PLOTS[command]
    for name in ("one.png", "one.svg", "two.svg"):
        assert tessbed(command, *arguments, "--plot", name, "-q").code == 0
    assert Path("one.svg").read_bytes() == Path("two.svg").read_bytes()
    pixels = image.imread("one.png")[:, :, :3]
    assert pixels.shape[0] >= 750
    assert pixels.shape[1:] == (1350, 3)
    inside = pixels[90:660, 225:900].reshape(-1, 3)
    assert len({tuple(pixel) for pixel in inside}) >= 3
    assert (inside.min(axis=1) < 0.95).mean() > 0.001
    texts = {"".join(text.itertext()).strip() for text in ElementTree.parse("one.svg").iter(f"{SVG}text")}
    assert texts >= {*words}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("x.gif", "--plot: got the suffix '.gif', wanted .png, .svg, .pdf"),
        ("x", "--plot: got the suffix '', wanted .png, .svg, .pdf"),
        ("nowhere/x.png", "--plot: no such folder: nowhere"),
        (".", "--plot: got the suffix '', wanted .png, .svg, .pdf"),
    ],
)
@pytest.mark.parametrize("command", PLOTS)
def test_a_picture_that_can_not_be_is_refused_before_the_work(command, name, words, tessbed) -> None:
    """Exit 2 and one line; nothing is simulated."""
    said = tessbed(command, *PLOTS[command][0], "--plot", name)
    assert (said.code, said.out, said.err) == (2, "", f"{words}\n")
    assert not Path("results").exists()


def test_without_matplotlib(tessbed, monkeypatch) -> None:
    """The message says what to install."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    said = tessbed("explain", "chroma", "--plot", "x.png")
    assert (said.code, said.err) == (2, "--plot: needs matplotlib: pip install 'tessbed[plot]'\n")


OVER = ("--over", "device.workers=1..6", "--over", "device.slots=1,2")


def test_a_search_prints_the_same_again_and_says_what_it_cost(tessbed) -> None:
    """stdout is the same though the second run remembers everything; stderr and the document count."""
    first = tessbed("search", "documents-2x17", "--set", "jobs.*.backend=ev74", *OVER, "--trials", 5)
    again = tessbed("search", "documents-2x17", "--set", "jobs.*.backend=ev74", *OVER, "--trials", 5)
    assert first.out == again.out
    assert first.code == again.code == 0
    assert "5 simulated, 1 remembered; results in documents-2x17.sweep.sqlite\n" in first.err
    assert "0 simulated, 6 remembered" in again.err
    counts = json.loads(tessbed("search", "documents-2x17", "--set", "jobs.*.backend=ev74", *OVER, "--json").out)[
        "counts"
    ]
    assert (counts["trials"], counts["simulated"], counts["remembered"]) == (12, 7, 6)


def test_a_search_writes_tables(tessbed) -> None:
    """The rows of the trials, in order, numbered."""
    assert tessbed("search", "chroma", *SOUGHT, "--sampler", "grid", "--out", "t.csv", "--out", "t.jsonl").code == 0
    with open("t.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["trial"], row["device.workers"]) for row in rows] == [("1", "1"), ("2", "2")]
    reported = [json.loads(line) for line in Path("t.jsonl").read_text().splitlines()]
    assert [str(row["device_ticks"]) for row in reported] == [row["device_ticks"] for row in rows]


WRONG = [
    (("--over", "device.wrokers=1,2"), "unknown field 'wrokers'; did you mean 'workers'?"),
    (("--over", "device.workers"), '--over: got "device.workers", wanted KEY=VALUES'),
    (("--over", "device.workers=1", "--over", "device.workers=2"), "--over device.workers: given twice"),
    (("--over", "jobs.0.workers=1", "--over", "jobs[0].workers=2"), "--over jobs[0].workers: given twice"),
    (
        ("--over", "device.workers=1", "--sampler", "luck"),
        '--sampler: got "luck", wanted "tpe", "genetic", "random" or "grid"',
    ),
    (
        ("--over", "device.workers=1", "--minimise", "heat"),
        '--minimise: got "heat", wanted "ticks", "job_ticks", "mean", "p50"',
    ),
    (("--over", "device.workers=1", "--out", "x.xls"), "wanted .csv, .jsonl, .parquet"),
    ((), "tessbed search: got no --over"),
]


@pytest.mark.parametrize(("options", "words"), WRONG, ids=[words for _, words in WRONG])
def test_errors_of_a_search(options, words, tessbed) -> None:
    """Exit 2, and what was wanted."""
    said = tessbed("search", "chroma", *options)
    assert (said.code, said.out) == (2, "")
    assert words in said.err


RECORDS = {
    "cut off": ("{", "is not a record of a run"),
    "a list": ("[]", "is not a record of a run"),
    "jobs without results": ('{"tessbed": "0", "jobs": [{"name": "compact"}]}', "is not a record of a run"),
    "words for ticks": (
        '{"tessbed": "0", "jobs": [{"name": "compact", "results": {"ev74": {"ticks": "7"}}}]}',
        "is not a record of a run",
    ),
    "other ticks": (
        '{"tessbed": "0", "jobs": [{"name": "compact", "results": {"ev74": {"ticks": 7}}}]}',
        "recorded 7 ticks for compact by tessbed 0; this version makes it",
    ),
}


@pytest.mark.parametrize(("text", "words"), RECORDS.values(), ids=RECORDS)
def test_a_folder_with_another_record(text, words, tessbed) -> None:
    """Compare works its scenario out again, and says what the record says otherwise, or that it says nothing."""
    assert tessbed("run", "documents-2x17", "--engine", "exact", "-o", "made", "-q").code == 0
    assert tessbed("compare", "made", "documents-2x17").err == ""
    Path("made/stats.json").write_text(text)
    said = tessbed("compare", "made", "documents-2x17", "--json")
    assert said.code == 0
    assert json.loads(said.out)["difference_ticks"] == 0
    assert words in said.err


def test_rows_that_are_not_there(tessbed, monkeypatch) -> None:
    """The environment is at fault, and no key of the file."""
    monkeypatch.setenv("TESSBED_ROWS", "fortran")
    said = tessbed("run", "luma")
    assert said.code == 2
    assert said.err == "TESSBED_ROWS: got 'fortran', wanted numpy or native, or no value at all [rows_engine]\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_form_of_the_engine_that_is_not_there_is_one_error(command, tessbed, monkeypatch) -> None:
    """Reported once, before anything is timed, and not point by point."""
    monkeypatch.setenv("TESSBED_EXACT", "fortran")
    said = tessbed(command, "documents-2x17", "--set", "jobs.*.backend=ev74", *COMMANDS[command])
    assert said.code == 2
    assert said.err.splitlines()[-1].startswith("TESSBED_EXACT: got 'fortran'")
    assert said.out == ""


FAILING = [
    (("sweep", "chroma", "--set", "jobs.*.backend=ev74", "--vary", "device.workers=1,2,3"), "1 of 3 points"),
    (("search", "chroma", "--set", "jobs.*.backend=ev74", "--over", "device.workers=1..3"), "1 of 4 configurations"),
]


@pytest.mark.parametrize("kind", [TypeError, MemoryError], ids=["a bug", "a machine without memory"])
@pytest.mark.parametrize(("words", "what"), FAILING, ids=["sweep", "search"])
def test_a_failure_of_ours_is_no_verdict(words, what, kind, tessbed, monkeypatch) -> None:
    """A point that tessbed itself fails on ends in exit code 70, with the results of all others; memory does not."""

    def failing(timer, device):
        if device.workers == 2:
            raise kind("for a reason")
        return times(timer, device)

    times = ScenarioTimer.times
    monkeypatch.setattr(ScenarioTimer, "times", failing)
    executor = ("--executor", "here") if words[0] == "sweep" else ()
    said = tessbed(*words, *executor, "--out", "rows.jsonl", "-q")
    rows = [json.loads(line) for line in Path("rows.jsonl").read_text().splitlines()]
    assert [row["error"] for row in rows if row["error"]] == [f"{kind.__name__}: for a reason"]
    assert all(row["device_ticks"] for row in rows if not row["error"])
    assert f"{kind.__name__}: for a reason" in said.out
    assert said.code == (70 if kind is TypeError else 0)
    assert (f"tessbed itself failed on {what}" in said.err) == (kind is TypeError)
