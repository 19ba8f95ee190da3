"""`tessbed load` at a terminal: its document, its bytes by seed, its options together, and its exit codes."""

import json
import os
import subprocess
import sys

import attrs
import pytest

from tests.scenarios.format.load.test_load_parser import SOUND

OPEN = """\
name = "queue"
[[jobs]]
name = "network"
op = "external"
server = "mla"
ticks = { poisson = 700_000 }
[[streams]]
name = "camera"
arrivals = { poisson = 1_000_000 }
[load]
frames = 1000
seed = 3
"""


FAULT = """\
[[faults]]
stream = "camera"
frame = 17
job = "image"
kind = "lost"
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "open.toml").write_text(OPEN)
    (tmp_path / "sound.toml").write_text(SOUND)


def test_the_document_has_its_keys(tessbed) -> None:
    """The names that programs read are those of the page, and too few frames give null."""
    reported = json.loads(tessbed("load", "open.toml", "--json", "--set", "load.frames=100").out)
    (stream,) = reported["streams"]
    assert {"name", "offered", "accepted", "dropped", "completed", "missed", "stable"} <= set(stream)
    assert stream["offered"] == stream["accepted"] + stream["dropped"] == 100
    assert stream["completed"] == stream["accepted"]
    assert list(stream["latency_ticks"]) == ["mean", "p50", "p90", "p95", "p99", "max"]
    assert stream["latency_ticks"]["p90"] is not None
    assert stream["latency_ticks"]["p99"] is None
    assert isinstance(stream["throughput_per_second"], float)
    (server,) = reported["servers"]
    assert server["name"] == "mla"
    assert 0 < server["utilisation"] < 1
    assert server["mean_queue"] >= 0


def test_the_same_seed_gives_the_same_bytes(tessbed) -> None:
    """Twice the same, and another seed another report; --seed wins over the seed of the load."""
    first, again = (tessbed("load", "open.toml", "--json").out for _ in range(2))
    other, third = (tessbed("load", "open.toml", "--json", "--seed", seed).out for seed in (4, 3))
    assert first == again == third != other


def test_the_same_bytes_in_every_process(tmp_path) -> None:
    """No order of a set or a hash is in a report: two processes with other hash seeds print the same bytes."""
    timed = SOUND.replace('backend = "ev74"', 'backend = "ev74"\ntimeout_ticks = 700_000', 1)
    (tmp_path / "fault.toml").write_text(timed + FAULT)
    printed = []
    for hash_seed in ("1", "2"):
        command = [sys.executable, "-m", "tessbed", "load", "fault.toml", "--json", "--engine", "verify"]
        ran = subprocess.run(
            command, cwd=tmp_path, capture_output=True, check=True, env={**os.environ, "PYTHONHASHSEED": hash_seed}
        )
        printed.append(ran.stdout)
    assert printed[0] == printed[1] != b""


def test_the_same_bytes_in_python_and_in_c(tessbed, monkeypatch) -> None:
    """The form of the recurrence is nobody's business."""
    native = tessbed("load", "open.toml", "--json").out
    monkeypatch.setenv("TESSBED_EXACT", "python")
    assert tessbed("load", "open.toml", "--json").out == native


def test_verified_frames_are_counted(tessbed) -> None:
    """The pipeline of a tess, an external job and a detess on a core that reads the tess agrees with events."""
    said = tessbed("load", "sound.toml", "--engine", "verify")
    assert said.code == 0
    assert "verify: 6 frames ran by events with every byte; all 18 jobs" in said.out


def test_a_disagreement_ends_with_1(tessbed, monkeypatch) -> None:
    """Where events and the recurrence differ, the report says so and the exit code is that of a failed check."""
    from tessbed.scenarios.study.load import verification

    real = verification.times_of_load

    def one_job_less(program):
        times = real(program)
        return attrs.evolve(times, jobs=times.jobs[1:])

    monkeypatch.setattr(verification, "times_of_load", one_job_less)
    said = tessbed("load", "sound.toml", "--engine", "verify")
    assert said.code == 1
    assert "verify: FAILED: job image of frame 0 of camera: ready, start, end" in said.out


def test_faults_are_reported_with_their_cost(tessbed, tmp_path) -> None:
    """The frame that failed, the frames behind it, the verification; a fault that strikes nothing ends with 1."""
    timed = SOUND.replace('backend = "ev74"', 'backend = "ev74"\ntimeout_ticks = 700_000', 1)
    (tmp_path / "fault.toml").write_text(timed + FAULT)
    said = tessbed("load", "fault.toml", "--engine", "verify")
    assert said.code == 0
    assert "fault: lost in frame 17 of camera, job image: it fails after 700,000 ticks" in said.out
    assert "       camera: 1 failed, 2 more delayed by 226,726 on average, 400,000 at most" in said.out
    assert "at the same ticks, 1 fault among them" in said.out
    assert "    fault   lost in frame 17, job image" in tessbed("show", "fault.toml").out
    at_once = ("--set", "streams.0.arrivals={ at_once = 60 }", "--set", "streams.0.in_flight=1")
    said = tessbed("load", "fault.toml", *at_once)
    assert said.code == 1
    assert "fault: lost in frame 17 of camera, job image: struck nothing: its job never started" in said.out


def test_a_row_for_each_value(tessbed, tmp_path) -> None:
    """--vary makes a table, on stdout and in a file; a value that can not be is an error in its row."""
    vary = ("--vary", "host.cores=0,1", "--vary", "streams.0.queue=1,2")
    said = tessbed("load", "sound.toml", *vary, "--json", "--out", "rows.csv")
    rows = json.loads(said.out)["rows"]
    assert [(row["host.cores"], row["streams.0.queue"]) for row in rows] == [(0, 1), (0, 2), (1, 1), (1, 2)]
    assert [bool(row["error"]) for row in rows] == [True, True, False, False]
    assert rows[2]["mean_ticks"] >= 225_147
    assert (tmp_path / "rows.csv").read_text().startswith("host.cores,streams.0.queue,stable,")


OVER = ("--over", "host.cores=1,2", "--over", "streams.0.queue=1..3")


def test_a_search_finds_the_least_latency_of_a_sweep(tessbed) -> None:
    """Each row of the sweep is the report of `tessbed load` there; the search finds the least, from the same store."""
    vary = ("--vary", "host.cores=1,2", "--vary", "streams.0.queue=1..3")
    options = ("--set", "streams.0.arrivals={ poisson = 220_000 }", "--set", "load.frames=2000", "--db", "kept.sqlite")
    rows = json.loads(tessbed("sweep", "sound.toml", "--load", *vary, *options, "--executor", "here", "--json").out)[
        "rows"
    ]
    for row in rows:
        keys = [pair for key in ("host.cores", "streams.0.queue") for pair in ("--set", f"{key}={row[key]}")]
        (stream,) = json.loads(tessbed("load", "sound.toml", *options[:4], *keys, "--json").out)["streams"]
        assert (row["p99_ticks"], row["missed"]) == (stream["latency_ticks"]["p99"], stream["missed"])
        assert row["frames_per_second"] == stream["throughput_per_second"]
    measures = (("p99", "p99_ticks"), ("missed", "missed"), ("utilisation", "utilisation"))
    for name, column in (*measures, ("interval", "ticks_per_frame")):
        options_of = ("--minimise", name, "--sampler", "grid", "--json")
        found = json.loads(tessbed("search", "sound.toml", *OVER, *options, *options_of).out)
        assert found["best"]["ticks"] == min(row[column] for row in rows)
        assert found["counts"]["simulated"] == 0


def test_another_trace_is_another_point(tessbed, tmp_path) -> None:
    """A result is kept by the rows of a trace, not by its name alone."""
    means = []
    for second in (1_000, 900_000):
        (tmp_path / "a.csv").write_text(f"5,camera\n{second},camera\n")
        trace = ("--set", "streams.0.arrivals={ trace = 'a.csv' }", "--set", "load.warmup=0")
        said = tessbed(
            "sweep", "sound.toml", "--load", "--vary", "host.cores=1,2", *trace, "--executor", "here", "--json"
        )
        means.append(json.loads(said.out)["rows"][0]["mean_ticks"])
    assert means[0] > means[1]


REFUSED = {
    "nothing to run": (("run", "open.toml"), "queue: no job to run: all are external"),
    "no streams": (("load", "luma"), "luma plane: no [[streams]], wanted at least one"),
    "a table of nothing": (("load", "open.toml", "--out", "x.csv"), "got --out without --vary"),
    "two questions": (("load", "open.toml", "--vary", "load.seed=1,2", "--find", "p99 < 5"), "got --vary with --find"),
    "a sweep without a load": (
        ("sweep", "luma", "--load", "--vary", "device.workers=1,2"),
        "luma plane: no [[streams]], wanted at least one",
    ),
    "no condition": (("load", "open.toml", "--find", "fast"), '--find: got "fast", wanted such as'),
    "no deadline": (
        ("load", "open.toml", "--loadgen", "server"),
        "--loadgen: stream camera: got no rate or no deadline",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), REFUSED.values(), ids=REFUSED)
def test_what_can_not_be_asked_is_refused(tessbed, arguments, message) -> None:
    """One line on stderr, and exit code 2."""
    said = tessbed(*arguments)
    assert (said.code, said.out) == (2, "")
    assert message in said.err


def test_a_load_is_shown(tessbed) -> None:
    """`show` has the external jobs and the streams, with their rules in words."""
    shown = tessbed("show", "sound.toml").out
    assert "[1] network: external, on mla, after image\n    takes   70,000 ticks\n" in shown
    assert "stream camera: image, network, head\n    frames  every 500,000 ticks\n" in shown
    assert "    limits  deadline 400,000, queue 2, drop_old when full\n" in shown
    assert "    frames  every 1,000,000 ticks on average, poisson\n" in tessbed("show", "open.toml").out


def test_a_scenario_with_a_load_runs_as_any_other(tessbed) -> None:
    """`run` leaves external jobs out, and a job that reads another's output gets the bytes that this must hold."""
    said = tessbed("run", "sound.toml")
    assert said.code == 0
    assert said.out.splitlines()[-1] == "ok: 2 of 2 results correct, byte for byte"


def test_a_sweep_of_loads_is_drawn(tessbed, tmp_path, monkeypatch) -> None:
    """The worst p99 over the first key, or the mean where there are too few frames."""
    pytest.importorskip("matplotlib")
    from tessbed.scenarios.study.plots import spaces

    drawn, real = [], spaces.plot_sweep
    monkeypatch.setattr(spaces, "plot_sweep", lambda *given: (drawn.append(given), real(*given))[1])
    options = ("--executor", "here", "--db", "kept.sqlite", "-q")
    for frames in (1000, 100):
        plot, set_to = ("--plot", "x.svg"), ("--set", f"load.frames={frames}")
        vary = ("--vary", "streams.0.in_flight=1..3")
        assert tessbed("sweep", "open.toml", "--load", *vary, *set_to, *plot, *options).code == 0
        assert (tmp_path / "x.svg").stat().st_size > 1000
    assert [given[-1] for given in drawn] == ["p99 latency, ticks", "mean latency, ticks"]


def test_the_band_of_the_a65_is_reported(tessbed) -> None:
    """Both ends of the band are runs of their own, and the latencies there differ from those of the core modelled."""
    reported = json.loads(tessbed("load", "sound.toml", "--json").out)
    assert [end["core"] for end in reported["a65_band"]] == ["cortex-a55", "cortex-a76"]
    means = [end["streams"][0]["latency_ticks"]["mean"] for end in reported["a65_band"]]
    assert len({*means, reported["streams"][0]["latency_ticks"]["mean"]}) == 3
    assert "a65_band" not in json.loads(tessbed("load", "open.toml", "--json").out)


def test_validate_finds_what_a_load_would(tessbed, tmp_path) -> None:
    """A deadline below the service time is known once the job is timed; without streams nothing is compiled."""
    assert tessbed("validate", "sound.toml").code == 0
    (tmp_path / "late.toml").write_text(SOUND.replace("deadline_ticks = 400_000", "deadline_ticks = 4"))
    said = tessbed("validate", "late.toml", "sound.toml")
    assert said.code == 2
    assert said.out == "sound.toml: ok, 2 jobs, 1 external job\n"
    assert said.err.startswith("late.toml:34:18: streams[0].deadline_ticks: got 4, wanted at least 2")
    assert said.err == tessbed("load", "late.toml").err


def test_validate_does_not_import_the_kernels_of_a_load(tessbed, tmp_path) -> None:
    """It says that the load was left alone."""
    (tmp_path / "kernel.py").write_text("raise SystemExit(9)\n")
    stream = '[[streams]]\nname = "camera"\nfps = 30\n'
    (tmp_path / "kernel.toml").write_text(f'name = "k"\n[[jobs]]\nname = "j"\nkernel = "kernel.py:f"\n{stream}')
    said = tessbed("validate", "kernel.toml")
    assert (said.code, said.out) == (0, "kernel.toml: ok, 1 job\n")
    note = "note: kernel.toml: streams with kernels of one's own, which `tessbed load` imports and checks\n"
    assert said.err == note


PIPELINES = [f"yolov8n-{kind}-{dtype}" for kind in ("pipeline", "four-cameras") for dtype in ("int8", "bf16")]


@pytest.mark.parametrize("name", PIPELINES)
def test_the_ports_of_the_catalogues_network_are_compared(tessbed, name) -> None:
    """Another tile of the image or of a head no longer fits the network."""
    image = ("--set", "jobs.0.tiled.tile=[1, 16, 16, 3]")
    head = ("--set", "jobs.3.cblocked.tile=[1, 4, 64]")
    for change, message in ((image, "jobs[7].reads[0].job: "), (head, "jobs[3].input.port: ")):
        said = tessbed("validate", name, *change)
        assert said.code == 2
        assert message in said.err
