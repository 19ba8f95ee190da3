"""The quick way to the row of a point, against the way over statistics, and against the event engine with its bytes."""

import random

import attrs
import pytest

from tessbed.runtime.errors import HeapExhausted
from tessbed.scenarios.library import load
from tessbed.scenarios.study.measurement import measure_scenario, studied
from tessbed.scenarios.study.scenario_timer import ScenarioTimer
from tessbed.scenarios.study.sweep.point import exact_row, measured_row
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tests.sim.programs import random_device

KERNELS = """
import tessbed


@tessbed.kernel(inputs={"src": "uint8[rows, 64]"}, outputs={"dst": "uint8[rows, 64]"}, api=1)
def copy(w, src, dst, *, rows=40):
    for box in w.own(dst):
        yield w.band(src[box], dst[box], same)


@tessbed.kernel(inputs={"src": "uint8[rows, 64]"}, outputs={"dst": "uint8[rows, 64]"}, api=1)
def few(w, src, dst, *, rows=40):
    for box in w.own(dst):
        yield w.band(src[box], dst[box], same) if w.workers < 9 else "no band"


def same(source, target):
    target[...] = source
"""
SCENARIO = """
name = "three jobs"
[[jobs]]
name = "image"
op = "tess"
backend = "ev74"
dtype = "bf16"
shape = [24, 33, 3]
tiled = { axes = [-1, 0, 1, 2], tile = [1, 8, 16, 3], channels = "pad16" }
input = { pattern = "golden" }
[[jobs]]
name = "copy"
kernel = "kernels.py:copy"
[[jobs]]
name = "few"
kernel = "kernels.py:few"
"""
NAMES = ("documents-2x17", "yolov8n-heads-int8", "strided-outputs", "three jobs")


@pytest.fixture(params=NAMES)
def scenario(request, tmp_path):
    """Scenarios of one and of several jobs, the last with kernels of one's own; `few` fails from nine workers on."""
    (tmp_path / "kernels.py").write_text(KERNELS)
    (tmp_path / "three jobs.toml").write_text(SCENARIO)
    ours = request.param == "three jobs"
    return studied(
        load(str(tmp_path / "three jobs.toml") if ours else request.param, ["jobs.*.backend=ev74"] * (not ours))
    )


def devices(count):
    """Random devices, a few of them with a window of their own."""
    rng = random.Random(7)
    for number in range(count):
        changes = random_device(rng)
        if number % 5 == 4:
            changes["memory"] |= {"window_base": 0x9000_0000 + 4096 * number, "window_bytes": 1 << 26}
        yield override(DeviceSpec(), changes)


def test_rows_are_those_of_the_statistics(scenario) -> None:
    """On one device after the other it has every column, or the failure, of a measurement on that device alone."""
    timer = ScenarioTimer.of(scenario)
    found = [exact_row(timer, device) for device in devices(60)]
    wanted = [
        measured_row(measure_scenario(attrs.evolve(scenario, device=device), trace=False)) for device in devices(60)
    ]
    assert found == wanted
    assert [list(row) for row in found] == [list(row) for row in wanted]
    assert any("error" in row for row in found) == (scenario.name == "three jobs")


def test_rows_are_those_of_the_event_engine(scenario) -> None:
    """The same of the engine that moves the bytes."""
    timer = ScenarioTimer.of(scenario)
    for device in devices(5):
        moved = measured_row(measure_scenario(attrs.evolve(scenario, device=device), "simpy", trace=False))
        assert exact_row(timer, device) == {**moved, **({} if "error" in moved else {"engine": "exact"})}


def test_a_window_without_room(scenario) -> None:
    """It is refused in the words of a run, by every device that has it, and a wider one is served in between."""
    narrow = override(DeviceSpec(), {"memory": {"window_bytes": 12288}})
    timer = ScenarioTimer.of(scenario)
    with pytest.raises(HeapExhausted) as wanted:
        measure_scenario(attrs.evolve(scenario, device=narrow))
    for _ in range(2):
        with pytest.raises(HeapExhausted) as found:
            exact_row(timer, narrow)
        assert str(found.value) == str(wanted.value)
        assert exact_row(timer, DeviceSpec()) == exact_row(ScenarioTimer.of(scenario), DeviceSpec())


def test_what_is_for_the_event_engine_has_no_timer() -> None:
    """A job with a fault is not the exact engine's."""
    assert ScenarioTimer.of(load("fault-dma-error")) is None
