"""A point of a sweep is what a run with the same settings is: its ticks, or its refusal."""

import os
import signal
import subprocess
import sys
import time
from contextlib import closing

import pytest

from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.library import load
from tessbed.scenarios.study.measurement import measure_scenario, studied
from tessbed.scenarios.study.sensitivity import sensitivities
from tessbed.scenarios.study.sweep import execution, space
from tessbed.scenarios.study.sweep.batches import BatchRunner
from tessbed.scenarios.study.sweep.execution import open_store, plan_sweep, run_sweep
from tessbed.scenarios.study.sweep.executors import LocalExecutor

HEAD = """\
name = "head"
device = { dma = { bytes_per_tick = 4 } }
[[jobs]]
name = "head"
op = "detesscast"
backend = "ev74"
dtype = "bf16"
shape = [20, 20, 64]
cblocked = { tile = [4, 4, 16] }
to = "fp32"
input = { pattern = "golden" }
"""


@pytest.fixture
def head(tmp_path):
    path = tmp_path / "head.toml"
    path.write_text(HEAD)
    return str(path)


def rows(name, varied, tmp_path):
    """The settings of each point, and its row."""
    planned = plan_sweep(name, [], space.parse_space(varied), None, 0, "exact")
    with closing(open_store(str(tmp_path / "r.sqlite"))) as store:
        return zip(planned.points, run_sweep(planned, store, BatchRunner(LocalExecutor, 1)), strict=True)


def alone(name, point):
    """The ticks of a run with these settings; None where it is refused."""
    try:
        return measure_scenario(studied(load(name, [f"{key}={value}" for key, value in point]))).device_ticks
    except ScenarioError:
        return None


TABLES = {
    "a table": ["device.dma={outstanding=1},{}"],
    "a table before one of its keys": ["device.dma={outstanding=1},{}", "device.dma.bytes_per_tick=2,8"],
    "a table behind one of its keys": ["device.dma.bytes_per_tick=2,8", "device.dma={outstanding=1},{}"],
    "no table where one is wanted": ["device.dma={},5", "device.dma.outstanding=1,2"],
    "the whole device": ["device.workers=1,2", "device={slots=1},{slots=2}"],
    "a preset": ["device.preset=ev74-4core,ev74-1core", "device.slots=1,2"],
}


@pytest.mark.parametrize("varied", TABLES.values(), ids=TABLES)
def test_tables_replace_as_in_a_run(varied, head, tmp_path) -> None:
    """What a table in the file said is gone, and so is what was set before the table."""
    ticks = [(row.get("device_ticks"), alone(head, point)) for point, row in rows(head, varied, tmp_path)]
    assert all(one == other for one, other in ticks)
    assert any(other is not None for _, other in ticks)


def test_fewer_workers_than_a_job_asks_for(tmp_path) -> None:
    """No run admits them: the points are refused, and whatif has no cell for them."""
    path = tmp_path / "six.toml"
    six = HEAD.replace("= 4 } }", "= 4 }, workers = 6 }").replace("[[jobs]]", "[[jobs]]\nworkers = 6")
    path.write_text(six)
    for point, row in rows(str(path), ["device.workers=5..7"], tmp_path):
        assert row.get("device_ticks") == alone(str(path), point)
        assert ("error" in row) == (dict(point)["device.workers"] == "5")
    scenario = load(str(path))
    _, reported = sensitivities(studied(scenario), "exact")
    steps = next(row.cells for row in reported if row.knob.path == "workers")
    assert sorted({cell.value for cell in steps.values()}) == [7, 12, 64]


def test_a_sweep_of_nothing_is_refused(head) -> None:
    """As by every other study; not where a varied key may change that."""
    with pytest.raises(ScenarioError, match="there is nothing to study"):
        plan_sweep(head, ["jobs.*.backend=a65"], space.parse_space(["device.workers=1,2"]), None, 0, "exact")
    planned = plan_sweep(head, ["jobs.*.backend=a65"], space.parse_space(["jobs.*.backend=a65,ev74"]), None, 0, "exact")
    assert (len(planned.resolved), len(planned.refused)) == (1, 1)


def test_too_many_values_or_points(head, monkeypatch) -> None:
    """They are refused at once, with a way out."""
    with pytest.raises(ScenarioError, match="wanted 10,000 values at most: a range may have a step"):
        space.parse_space(["device.clock_mhz=1..4000000000"])
    monkeypatch.setattr(execution, "MOST_POINTS", 11)
    varied = space.parse_space(["device.workers=1..4", "device.slots=1..3"])
    with pytest.raises(ScenarioError, match="--vary: got 12 points, wanted 11 at most: --random N draws some"):
        plan_sweep(head, [], varied, None, 0, "exact")
    assert len(plan_sweep(head, [], varied, 11, 0, "exact").points) == 11


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="looks for processes in /proc")
def test_processes_of_a_killed_sweep_end(tmp_path) -> None:
    """SIGKILL notifies nobody; its workers notice and leave."""
    varied = ["--vary", "device.workers=1..64", "--vary", "device.dma.setup_ticks=1..400"]
    line = [sys.executable, "-m", "tessbed", "sweep", "yolov8n-heads-int8", *varied, "-j", "2"]
    process = subprocess.Popen(
        line, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        assert _in_time(lambda: len(_session(process.pid)) >= 3)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert _in_time(lambda: not _session(process.pid))


def _session(leader: int) -> list[str]:
    """The processes of a session, but for the leader and what is dead."""
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                state, _, _, session, *_ = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(session) == leader and state not in "ZX" and int(name) != leader:
            found.append(name)
    return found


def _in_time(holds) -> bool:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.05)
    return False
