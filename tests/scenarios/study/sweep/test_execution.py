"""Sweeps: the space, the rows, resuming, and workers that die."""

import csv
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing

import pytest

from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.library import load
from tessbed.scenarios.runner import run_scenario
from tessbed.scenarios.study.measurement import studied
from tessbed.scenarios.study.parameters import knobs
from tessbed.scenarios.study.sweep import point, resolver, space, table
from tessbed.scenarios.study.sweep.batches import BatchRunner
from tessbed.scenarios.study.sweep.device_family import DeviceFamily
from tessbed.scenarios.study.sweep.execution import open_store, plan_sweep, run_sweep
from tessbed.scenarios.study.sweep.executors import LocalExecutor, parse_executor
from tessbed.sim.errors import SpecError
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tests.scenarios.study.sweep import deadly

VARIED = ("device.workers=1..4", "device.slots=1,2,3")


def swept(tmp_path, varied=VARIED, where="here", name="documents-2x17", **options):
    """The rows of a sweep, flat, in order."""
    spanned = space.parse_space(varied)
    planned = plan_sweep(
        name, ["jobs.*.backend=ev74"], spanned, options.get("count"), 0, options.get("engine", "exact")
    )
    chosen = parse_executor(where, 2)
    store = open_store(str(tmp_path / "results.sqlite"))
    farm = BatchRunner(
        chosen.make_executor, chosen.width, chosen.deaths, **({"work": options["work"]} if "work" in options else {})
    )
    rows = run_sweep(planned, store, farm, options.get("progress", lambda done: None))
    store.close()
    chosen.close()
    return table.flat(planned.points, rows)


SPACES = [
    (["a=1..3"], [("1",), ("2",), ("3",)]),
    (["a=1..9..4", "b=x,y"], [("1", "x"), ("1", "y"), ("5", "x"), ("5", "y"), ("9", "x"), ("9", "y")]),
    (["a=[1, 2],[3]"], [("[1, 2]",), ("[3]",)]),
    (["a=1,1..2,8"], [("1",), ("2",), ("8",)]),
    (['a="x,y",z'], [('"x,y"',), ("z",)]),
]


@pytest.mark.parametrize(("varied", "values"), SPACES, ids=[str(case[0]) for case in SPACES])
def test_space_by_hand(varied, values) -> None:
    """Ranges, steps, lists, both mixed, commas inside values; the last parameter is the fastest."""
    spanned = space.parse_space(varied)
    assert [tuple(value for _, value in point) for point in spanned.points(None, 0)] == values
    assert spanned.size == len(values)


def test_a_random_sweep_draws_distinct_points() -> None:
    """The same seed draws the same distinct points of the product, even of one too large to list."""
    spanned = space.parse_space([f"device.k{n}=1..1000" for n in range(6)])
    drawn = list(spanned.points(50, 3))
    assert drawn == list(spanned.points(50, 3)) != list(spanned.points(50, 4))
    assert len(set(drawn)) == 50


@pytest.mark.parametrize("text", ["device.workers", "device.workers=", "=1"])
def test_an_error_in_the_space(text) -> None:
    """It is reported with what was wanted."""
    with pytest.raises(ScenarioError, match="wanted KEY=VALUES"):
        space.parse_space([text])


@pytest.mark.parametrize("varied", ["device.wrokers=1..2", "device.workers=100,200", "jobs.0.shap=[1]"])
def test_a_parameter_that_can_not_be_is_refused_at_once(tmp_path, varied) -> None:
    """An unknown key, or one with no valid value, stops the sweep before it starts."""
    with pytest.raises(ScenarioError, match=r"--vary (device|jobs)"):
        swept(tmp_path, (varied,))


def test_rows_are_the_runs(tmp_path) -> None:
    """Each row has the makespan of an event-engine run with the same settings."""
    for row in swept(tmp_path):
        settings = [f"{key}={row[key]}" for key in ("device.workers", "device.slots")]
        moved = run_scenario(studied(load("documents-2x17", ["jobs.*.backend=ev74", *settings])))
        assert row["device_ticks"] == sum(outcome.run.ticks for outcome in moved.outcomes)
        assert row["error"] == ""


def test_points_that_do_not_go_together_say_why(tmp_path) -> None:
    """Scratch without room for so many slots is a row with an error, and the rest goes on."""
    rows = swept(tmp_path, ("device.slots=1,8", "device.scratch_bytes=66048,262144"))
    assert [bool(row["error"]) for row in rows] == [False, False, True, False]
    assert "scratch" in rows[2]["error"]


def test_other_keys_than_the_device_s(tmp_path) -> None:
    """A tile can be varied, too: each is another scenario."""
    rows = swept(tmp_path, ('jobs.0.tiled.channels="compact","pad16"', "device.workers=1,2"))
    assert len(rows) == 4
    assert rows[0]["device_ticks"] != rows[2]["device_ticks"]


def test_engines_agree_and_have_rows_of_their_own(tmp_path) -> None:
    """simpy and verify fill the same columns with the same ticks; none takes another's rows for its own."""
    found = {engine: swept(tmp_path, engine=engine) for engine in ("exact", "simpy", "verify")}
    for engine, rows in found.items():
        assert {row.pop("engine") for row in rows} == {engine}
    assert found["exact"] == found["simpy"] == found["verify"]


def test_an_interrupted_sweep_resumes(tmp_path) -> None:
    """What is in the database is not run again, and the table is the one of an uninterrupted sweep."""

    def stop(done):
        nonlocal seen
        seen += done
        if seen >= 32:
            raise KeyboardInterrupt

    varied, seen = ("device.workers=1..16", "device.slots=1..6"), 0
    with pytest.raises(KeyboardInterrupt):
        swept(tmp_path / "a" if (tmp_path / "a").mkdir() is None else tmp_path, varied, progress=stop)
    reported = []
    resumed = swept(tmp_path / "a", varied, progress=reported.append)
    assert reported[0] >= 32
    assert sum(reported) == 96
    (tmp_path / "b").mkdir()
    assert resumed == swept(tmp_path / "b", varied)


def test_processes_give_the_same_table(tmp_path) -> None:
    """Where a point runs changes nothing."""
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    assert swept(tmp_path / "there", where="processes") == swept(tmp_path / "here")


def test_a_dead_worker_costs_its_point_one_retry(tmp_path, monkeypatch) -> None:
    """A process killed once: every row is there. One that always dies: that one row says so, all others are there."""
    monkeypatch.setenv(deadly.FOLDER, str(tmp_path))
    for name in ("right", "once", "always"):
        (tmp_path / name).mkdir()
    right = swept(tmp_path / "right")
    assert swept(tmp_path / "once", where="processes", work=deadly.once) == right
    assert (tmp_path / "died").exists()
    rows = swept(tmp_path / "always", where="processes", work=deadly.always)
    bad = [n for n, row in enumerate(rows) if row["error"]]
    assert [(rows[n]["device.workers"], rows[n]["device.slots"]) for n in bad] == [(2, 2)]
    assert [row for n, row in enumerate(rows) if n not in bad] == [row for n, row in enumerate(right) if n not in bad]


class LosingExecutor(LocalExecutor):
    """Loses the results of its third call, as Dask's does when the worker is lost before they are handed over."""

    calls = 0

    def submit(self, fn, /, *args, **kwargs):
        self.calls += 1
        future = super().submit(fn, *args, **kwargs)
        if self.calls == 3:
            future = Future()
            future.set_exception(ValueError("not enough values to unpack (expected 3, got 2)"))
        return future


def test_a_lost_result_is_computed_again() -> None:
    """Where the executor says by which exception it loses results, their points are tried once more."""
    batch = point.Batch(None, "exact", tuple((str(n), None) for n in range(40)))
    runner = BatchRunner(
        LosingExecutor, 4, (ValueError,), lambda some: [(key, {"error": key}) for key, _ in some.points]
    )
    found = {key: row for results in runner.run([batch]) for key, row in results}
    assert found == {str(n): {"error": str(n)} for n in range(40)}


@pytest.mark.parametrize("where", ["here", "processes"])
def test_an_exception_of_the_work_is_no_death(tmp_path, monkeypatch, where) -> None:
    """It is not tried again: the rows of its points say what it was, and are not kept."""
    monkeypatch.setenv(deadly.FOLDER, str(tmp_path))
    rows = swept(tmp_path, where=where, work=deadly.wrong)
    assert {row["error"] for row in rows} == {"LookupError: a bug"}
    asked = (tmp_path / "asked").read_text().splitlines()
    assert sorted(point for line in asked for point in line.split()) == sorted(
        f"{workers},{slots}" for workers in (1, 2, 3, 4) for slots in (1, 2, 3)
    )
    assert {row["error"] for row in swept(tmp_path)} == {""}


def test_a_bug_in_one_point_is_its_row(tmp_path, monkeypatch) -> None:
    """The others have their results; the point is run once, and again by the next sweep."""

    def buggy(timer, device):
        asked.append((device.workers, device.slots))
        if asked[-1] == (2, 2):
            raise ZeroDivisionError("a bug")
        return exact_row(timer, device)

    asked: list[tuple[int, int]] = []
    exact_row = point.exact_row
    monkeypatch.setattr(point, "exact_row", buggy)
    bad = [row for row in swept(tmp_path) if row["error"]]
    assert [(row["device.workers"], row["device.slots"], row["error"]) for row in bad] == [
        (2, 2, "ZeroDivisionError: a bug")
    ]
    assert len(asked) == 12
    swept(tmp_path)
    assert asked[12:] == [(2, 2)]


def test_a_job_that_fails_gives_its_point_no_result(tmp_path) -> None:
    """Ticks until a fault are no makespan: the row names the job, and the rows say which engine ran, and why."""
    spanned = space.parse_space(["device.workers=1,4"])
    planned = plan_sweep("fault-dma-error", [], spanned, None, 0, "exact")
    with closing(open_store(str(tmp_path / "r.sqlite"))) as store:
        found = run_sweep(planned, store, BatchRunner(LocalExecutor, 1))
    rows = table.flat(planned.points, found)
    assert [row["error"] for row in rows] == ["", "job struck ended in dma_error"]
    by = table.table_provenance(found, planned.bases())
    assert by == {
        "engine": "simpy",
        "instead": "job struck has faults, which only the event engine supports",
        "calibration": {"words": "not calibrated on silicon", "calibrated": [], "extrapolated": []},
    }
    lines = list(table.table_lines("x", spanned, rows, by["calibration"]))
    assert "  1 of them: job struck ended in dma_error" in lines


def test_settings_change_the_device_as_its_own_override_does() -> None:
    """The quick way to a device takes and refuses the same values, in the same words."""
    spec = DeviceSpec()
    changed = DeviceFamily(spec).changed
    assert changed([("device.core_ids", "[3, 2, 1, 0]"), ("device.dma.outstanding", "7")]) == override(
        spec, {"core_ids": [3, 2, 1, 0], "dma": {"outstanding": 7}}
    )
    for changes in (
        {"workers": 0},
        {"dma": 5},
        {"dma": {"burst_bytes": 100}},
        {"slots": 8, "scratch_bytes": 66048},
        {"dna": {"outstanding": 7}},
        {"dma": {"outstandin": 7}},
        {"workers": {"x": 1}},
        {"byte_strobes": 1},
    ):
        with pytest.raises(SpecError) as right:
            override(spec, changes)
        with pytest.raises(SpecError) as reported:
            changed(list(_settings("device", changes)))
        assert str(reported.value) == str(right.value)


DRAWN = {
    "workers": (1, 7, 64, 65, True), "slots": (1, 2, 8, 9), "scratch_bytes": (66048, 262144, 4.0),
    "byte_strobes": (True, 1), "write_granule_bytes": (64, 4096, 48), "core_ids": ([], [3, 2, 1, 0], [1, 1, 2, 3], [0]),
    "dma.outstanding": (1, True, 16, 0), "dma.burst_bytes": (64, 100), "dma.arbitration": ("fifo", "fifu"),
    "memory.window_base": (0, 4096, 77), "memory.split_port": (True, False, 0), "memory.dma": (1,), "dma": (5,),
    "compute.vector_ticks.copy": (2, 5, -1, True), "compute.run_ticks": (6, 7), "compute.vector_ticks.copyy": (1,),
}  # fmt: skip
"""Values by their keys; a part of them can not be, alone or together. True is no 1, though it is equal to it."""


def test_devices_of_a_family_are_those_of_override() -> None:
    """Whatever was made before, and shares its tables: the same device, or every error in the same words."""
    rng, family, refused = random.Random(3), DeviceFamily(DeviceSpec()), 0
    for _ in range(600):
        keys = rng.sample(list(DRAWN), rng.randint(1, 4))
        keys = [key for key in keys if not any(key.startswith(f"{other}.") for other in keys)]
        drawn = {f"device.{key}": rng.choice(DRAWN[key]) for key in keys}
        found, wanted = (_device_or_words(make, drawn) for make in (family.changed, _overridden))
        assert found == wanted
        assert repr(found) == repr(wanted)
        refused += isinstance(found, str)
    assert 100 < refused < 500


def _device_or_words(make, drawn):
    try:
        return make([(key, json.dumps(value)) for key, value in drawn.items()])
    except SpecError as error:
        return str(error)


def _overridden(settings):
    nested = {}
    for key, text in settings:
        *way, last = key.split(".")[1:]
        table = nested
        for step in way:
            table = table.setdefault(step, {})
        table[last] = json.loads(text)
    return override(DeviceSpec(), nested)


def test_a_sweep_by_ticks_leaves_the_event_engine_alone(tmp_path) -> None:
    """It imports neither that nor the runtime's jobs: most of the time of a small sweep would be their import."""
    line = [
        "sweep",
        "documents-2x17",
        "--vary",
        "device.workers=1,2",
        "--executor",
        "here",
        "--db",
        str(tmp_path / "r"),
    ]
    code = (
        "import sys\nfrom tessbed.commands.exits import run\nassert run(sys.argv[1:]) == 0\n"
        "print(sorted({'simpy', 'asyncio', 'tessbed.sim.device.device', 'tessbed.runtime.runtime'} & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code, *line], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def _settings(prefix, changes):
    for name, value in changes.items():
        if isinstance(value, dict):
            yield from _settings(f"{prefix}.{name}", value)
        else:
            yield f"{prefix}.{name}", str(value)


def test_a_key_covers_every_field_of_the_device() -> None:
    """Two devices that differ in any one parameter have different keys."""
    spec = DeviceSpec()
    keys = {resolver.key_of("digest", spec, "exact")}
    changed = [override(spec, knob.changes(value)) for knob in knobs(spec) for value in list(knob.steps.values())[:1]]
    changed += [
        override(spec, change) for change in ({"clock_mhz": 7}, {"byte_strobes": True}, {"core_ids": [1, 0, 2, 3]})
    ]
    keys |= {resolver.key_of("digest", device, "exact") for device in changed}
    assert len(keys) == 1 + len(changed) > 40


def test_tables_hold_the_rows(tmp_path) -> None:
    """CSV, JSON lines and Parquet say the same."""
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = swept(tmp_path)
    for suffix, write in table.WRITERS.items():
        write(tmp_path / f"out{suffix}", rows)
    with (tmp_path / "out.csv").open(newline="") as file:
        reported = list(csv.DictReader(file))
    assert [{k: str(v) for k, v in row.items()} for row in rows] == reported
    assert [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()] == rows
    assert parquet.read_table(tmp_path / "out.parquet").to_pylist() == rows


def test_a_table_whose_library_is_missing_is_refused_before_the_work(monkeypatch) -> None:
    """Without pyarrow the message says what to install; the other tables need nothing."""
    monkeypatch.setattr(table, "find_spec", lambda name: None)
    table.check_files(["x.csv", "x.jsonl"])
    with pytest.raises(ScenarioError, match=r"--out x.parquet: needs pyarrow: pip install 'tessbed\[parquet\]'"):
        table.check_files(["x.csv", "x.parquet"])


def command(tmp_path, *more):
    """The command line of a sweep of 320 points."""
    varied = ["--vary", "device.workers=1..16", "--vary", "device.slots=1..4", "--vary", "device.dma.outstanding=1..5"]
    files = ["--db", str(tmp_path / "r.sqlite"), "--out", str(tmp_path / "r.csv")]
    return [
        sys.executable,
        "-m",
        "tessbed",
        "sweep",
        "yolov8n-heads-int8",
        *varied,
        *files,
        "--executor",
        "here",
        *more,
    ]


def test_a_killed_sweep_resumes_to_the_identical_table(tmp_path) -> None:
    """SIGKILL in the middle; the same command then ends with the table of an undisturbed sweep, byte for byte."""
    (tmp_path / "killed").mkdir()
    (tmp_path / "whole").mkdir()
    process = subprocess.Popen(command(tmp_path / "killed"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    base = tmp_path / "killed" / "r.sqlite"
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and _kept(base) < 64:
            time.sleep(0.02)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert 64 <= _kept(base) < 320
    for folder in ("killed", "whole"):
        subprocess.run(command(tmp_path / folder), check=True, capture_output=True)
    assert (tmp_path / "killed" / "r.csv").read_bytes() == (tmp_path / "whole" / "r.csv").read_bytes()
    assert _kept(base) == 320


def test_slow_points_go_one_by_one_to_every_process() -> None:
    """Each is handed over alone, and two are under way all the time, though they are few."""
    under_way, most, sizes = 0, 0, []
    lock = threading.Lock()

    def slow(batch):
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        time.sleep(0.3)
        with lock:
            under_way -= 1
        return [(key, {"error": "slow"}) for key, _ in batch.points]

    batch = point.Batch(None, "exact", tuple((str(n), None) for n in range(24)))
    for results in BatchRunner(lambda: ThreadPoolExecutor(2), 4, work=slow).run([batch]):
        sizes.append(len(results))
    assert (most, sizes) == (2, [1] * 24)


def test_quick_points_go_together() -> None:
    """Chunks grow with what was measured, and shrink at the end, so that nobody waits for the last one."""
    sizes = []

    def quick(batch):
        sizes.append(len(batch.points))
        return [(key, {"error": "quick"}) for key, _ in batch.points]

    batch = point.Batch(None, "exact", tuple((str(n), None) for n in range(5000)))
    keys = [key for results in BatchRunner(LocalExecutor, 2, work=quick).run([batch]) for key, _ in results]
    assert sorted(keys, key=int) == [key for key, _ in batch.points]
    assert (sizes[0], max(sizes), sizes[-1]) == (1, 256, 1)
    assert len(sizes) < 5000 / 64 + 64


def test_a_chunk_that_turns_out_slow_is_handed_over_early(monkeypatch) -> None:
    """A worker stops when its time is up; the rest of the chunk waits in its place; no point is lost or repeated."""
    clock = iter(range(100_000))
    monkeypatch.setattr(point, "perf_counter", lambda: next(clock) / 10)
    monkeypatch.setattr(point.PointRunner, "row", lambda self, device: {"error": str(device)})
    batch = point.Batch(None, "exact", tuple((str(n), n) for n in range(300)))
    assert len(point.run_batch(batch)) == 3
    found = list(BatchRunner(LocalExecutor, 1).run([batch]))
    assert [key for results in found for key, _ in results] == [str(n) for n in range(300)]
    assert max(map(len, found)) == 3


def test_an_interrupt_keeps_what_the_processes_have_done(tmp_path) -> None:
    """What is done and not handed over yet goes into the file, too."""
    spanned = space.parse_space(("device.workers=1..4",))
    planned = plan_sweep("documents-2x17", ["jobs.*.backend=ev74"], spanned, None, 0, "exact")
    with closing(open_store(str(tmp_path / "r.sqlite"))) as store, ThreadPoolExecutor(4) as pool:
        farm = BatchRunner(lambda: pool, 4)

        def stop(done):
            if done and any(running.done() or wait([running]) for running in list(farm._running)):
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run_sweep(planned, store, farm, stop)
        assert store.count(planned.keys) >= 2


def test_an_interrupt_ends_the_processes() -> None:
    """They would work on for minutes; and a Ctrl-C that reaches them, too, is left to the sweep."""
    chosen = parse_executor("processes", 2)
    pool = chosen.make_executor()
    assert pool.submit(signal.getsignal, signal.SIGINT).result() == signal.SIG_IGN
    batch = point.Batch(None, "exact", tuple((str(n), None) for n in range(3)))
    found = BatchRunner(lambda: pool, 4, work=deadly.endless).run([batch])
    assert next(found) == [("0", {"error": "quick"})]
    processes = list(pool._processes.values())
    found.close()
    assert [process.exitcode for process in processes] == [-signal.SIGTERM] * len(processes)


SLOW = """\
name = "slow"
[[jobs]]
name = "image"
op = "tess"
backend = "ev74"
dtype = "bf16"
shape = [160, 160, 3]
tiled = { axes = [-1, 0, 1, 2], tile = [1, 16, 1, 3] }
input = { pattern = "golden" }
"""


def test_ctrl_c_says_how_many_points_are_in_the_file(tmp_path) -> None:
    """And that is true, though there are a few only; it ends at once, without a word of a worker's."""
    (tmp_path / "slow.toml").write_text(SLOW)
    varied = ["--vary", "device.workers=1..8", "--vary", "device.slots=1..3"]
    line = [sys.executable, "-m", "tessbed", "sweep", "slow.toml", "-j", "2", "--engine", "simpy", "--db", "r", *varied]
    process = subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and _kept(tmp_path / "r") < 3:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does it: to the workers, too
    out, err = process.communicate(timeout=20)
    count = _kept(tmp_path / "r")
    assert 3 <= count < 24
    assert err == f"interrupted; {count} of 24 points are in r, the same command resumes\ninterrupted\n"
    assert (process.returncode, out) == (130, "")


def test_rows_of_another_version_and_damaged_ones_are_computed_again(tmp_path) -> None:
    """The table is the same as without them, whatever was done to the file; one line counts them; exit 0."""
    line = [sys.executable, "-m", "tessbed", "sweep", "luma", "--vary", "device.workers=1..6", "--executor", "here"]
    line += ["--db", "r", "--out", "t.csv"]
    first = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, check=True)
    right = (tmp_path / "t.csv").read_bytes()
    with closing(sqlite3.connect(tmp_path / "r")) as base, base:
        keys = [key for (key,) in base.execute("select key from results order by key")]
        changes = ["version = '0.0.9'", "row = replace(row, ': ', ': -')", "digest = null", "row = cast(row as blob)"]
        for key, change in zip(keys, changes, strict=False):
            base.execute(f"update results set {change} where key = ?", [key])
    second = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert second.stdout == first.stdout
    assert (tmp_path / "t.csv").read_bytes() == right
    words = "4 rows in r damaged or of another version: not used, computed again"
    assert second.stderr.splitlines().count(words) == 1
    assert "damaged" not in subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, check=True).stderr


def test_a_locked_file_is_said_and_ctrl_c_ends_the_wait(tmp_path) -> None:
    """Within two seconds of the wait, with how long it will be; the interrupt ends it at once."""
    line = [sys.executable, "-m", "tessbed", "sweep", "luma", "--vary", "device.workers=1,2", "--executor", "here"]
    subprocess.run([*line, "--db", "r"], capture_output=True, cwd=tmp_path, check=True)
    with closing(sqlite3.connect(tmp_path / "r", isolation_level=None)) as other:
        other.execute("begin immediate")
        process = subprocess.Popen([*line, "--db", "r"], stderr=subprocess.PIPE, text=True, cwd=tmp_path)
        said = process.stderr.readline()
        assert said == "another program holds r: waiting for it, 30 s at most\n"
        time.sleep(0.3)  # it sleeps, too, and is not in the middle of printing
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        assert process.communicate(timeout=20)[1] == "interrupted\n"
        assert time.monotonic() - began < 5
        assert process.returncode == 130


def _kept(base) -> int:
    if not base.exists():
        return 0
    try:
        return sqlite3.connect(base).execute("select count(*) from results").fetchone()[0]
    except sqlite3.Error:
        return 0


WRONG = [
    (["--out", "x.xls"], "wanted .csv, .jsonl, .parquet"),
    (["--executor", "moon"], "wanted here, processes or dask://HOST:PORT"),
    (["--db", ""], '--db: got "", wanted the name of a file'),
    (["--db", "x.csv", "--out", "x.csv"], "--out x.csv: is the file of --db, too"),
    (["--out", "nowhere/x.csv"], "--out nowhere/x.csv: no such folder: nowhere"),
    (["--out", "linked.csv"], "--out linked.csv: File exists and is a symbolic link"),
    (["--plot", "linked.svg"], "--plot: File exists and is a symbolic link"),
    (["--db", "linked.csv"], "can not be used as a database of results: File exists and is a symbolic link"),
    (["--db", "/dev/stdout"], "can not be used as a database of results: File exists and is a symbolic link"),
    (["--db", "nowhere/r"], "can not be used as a database of results: no such folder: nowhere"),
    (["--db", "/dev/null/x"], "can not be used as a database of results"),
    (["--executor", "dask://127.0.0.1:1"], "no Dask scheduler answers at 127.0.0.1:1"),
    (["--executor", "dask://127.0.0.1"], 'got "dask://127.0.0.1", wanted dask://HOST:PORT'),
]


@pytest.mark.parametrize(("options", "words"), WRONG, ids=[case[0][1] for case in WRONG])
def test_errors_of_the_command(options, words, tmp_path) -> None:
    """Exit 2, one line, no traceback."""
    for name in ("linked.csv", "linked.svg"):
        (tmp_path / name).symlink_to("theirs")
    (tmp_path / "theirs").write_text("theirs")
    line = [sys.executable, "-m", "tessbed", "sweep", "luma", "--vary", "device.workers=1,2", *options]
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "theirs").read_text() == "theirs"


@pytest.fixture
def composed(monkeypatch) -> list[int]:
    """One entry for every time that a scenario is composed from its values."""
    counted: list[int] = []

    def counting(*arguments, **options):
        counted.append(1)
        return compose(*arguments, **options)

    monkeypatch.setattr(resolver, "compose", counting)
    return counted


def test_too_large_a_space_is_refused_before_anything_is_tried(composed) -> None:
    """Its size is known from the options alone."""
    spanned = space.parse_space(["seed=1..10000", "jobs.0.workers=1..10000"])
    with pytest.raises(ScenarioError, match="got 100,000,000 points, wanted 1,000,000 at most"):
        plan_sweep("luma", [], spanned, None, 0, "exact")
    assert not composed


@pytest.mark.parametrize("axis", ["seed=1..10000", "device.decode_ticks=1..10000", "jobs.*.output_prefill=0..255"])
def test_a_draw_tries_only_what_was_drawn(axis, composed) -> None:
    """A sweep of five points of a large space composes about five scenarios."""
    spanned = space.parse_space([axis, "device.dispatch_ticks=1..10000"])
    plan_sweep("luma", ["jobs.*.backend=ev74"], spanned, 5, 0, "exact")
    assert len(composed) <= 12


@pytest.mark.parametrize("axis", ["seed=1..10000", "device.slots=1..10000", "jobs.*.timeout_ticks=1..10000"])
def test_an_axis_is_left_when_a_value_works(axis, composed) -> None:
    """Whether an axis is wrong by itself is known when one of its numbers works."""
    resolver.check_configuration("luma", ["jobs.*.backend=ev74"], space.parse_space([axis]), "--over")
    assert len(composed) <= 2


def test_a_name_that_is_not_there_is_found_behind_one_that_is() -> None:
    """Values that are names are all tried: an unknown preset is an error of the sweep, not of its points."""
    with pytest.raises(ScenarioError, match="unknown preset 'nope'"):
        resolver.check_configuration("luma", [], space.parse_space(["device.preset=ev74-4core,nope"]), "--over")


def test_settings_inside_others() -> None:
    """A point with a key inside another's table is laid over the file in order; others may share what is loaded."""
    assert resolver.split([("device.dma", "{}"), ("device.dma.outstanding", "1")])[1] == ()
    assert resolver.split([("device.dma.outstanding", "1"), ("device.dmax", "1")])[0] == ()
