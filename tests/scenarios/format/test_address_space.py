"""The window: a scenario that does not fit into the device's addresses is refused, with what would do."""

from pathlib import Path

import pytest

from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.toml_source import parse_toml
from tessbed.scenarios.library import load
from tessbed.scenarios.runner import run_scenario
from tessbed.scenarios.verification.explore.bench import ExplorationBench, ExplorationCase
from tessbed.scenarios.verification.explore.schedules import first

JOB = """\
[[jobs]]
name = "{name}"
op = "detess"
dtype = "int8"
backend = "{backend}"
shape = [{rows}, 20, 5]
tiled = {{ axes = [-1, 0, 1, 2], tile = [1, 3, 20, 5] }}
input = {{ pattern = "golden" }}
"""
JOBS = {
    "one": [("both", 24)],
    "growing": [("ev74", 24), ("ev74", 700), ("both", 1900)],
    "shrinking": [("ev74", 1900), ("ev74", 700), ("ev74", 24)],
    "empty first": [("ev74", 0), ("ev74", 24), ("ev74", 900)],
    "alike": [("ev74", 900), ("ev74", 900), ("ev74", 900), ("ev74", 900)],
    "empty": [("ev74", 0)],
    "large, a65": [("a65", 4000), ("ev74", 24)],
}


def text_of(name: str, memory: str) -> str:
    """A scenario of the jobs of that name, with these keys of its memory."""
    jobs = [JOB.format(name=str(i), backend=backend, rows=rows) for i, (backend, rows) in enumerate(JOBS[name])]
    return f'name = "x"\n[device]\nmemory = {{ {memory} }}\n' + "".join(jobs)


def needed_by(name: str, base: int) -> int:
    """What the error says would do, where a page does not."""
    with pytest.raises(ScenarioError) as reported:
        compose(parse_toml(text_of(name, f"window_base = {base}, window_bytes = 4096"), "f"), Path())
    (problem,) = reported.value.problems
    assert (problem.place.line, problem.place.source) == (3, "f")
    return int(problem.text.partition("wanted at least ")[2].partition(":")[0])


@pytest.mark.parametrize("base", [0, 4096, 0x8000_0000])
@pytest.mark.parametrize("engine", ["simpy", "exact"])
@pytest.mark.parametrize("name", JOBS)
def test_what_would_do_does(name: str, engine: str, base: int) -> None:
    """The scenario runs in a window of the size that the error names, and a page less is refused."""
    needed = needed_by(name, base)
    exactly = text_of(name, f"window_base = {base}, window_bytes = {needed}")
    assert run_scenario(compose(parse_toml(exactly, "f"), Path()), engine=engine).ok
    less = text_of(name, f"window_base = {base}, window_bytes = {needed - 4096}")
    with pytest.raises(ScenarioError, match=f"got {needed - 4096}, wanted at least {needed}"):
        compose(parse_toml(less, "f"), Path())


def test_words() -> None:
    """The key is named where it is, in a file or an override; the job's shape where the window is the preset's."""
    with pytest.raises(ScenarioError) as reported:
        load("yolov8n-heads-bf16", ["device.memory.window_bytes=1048576"])
    text = "got 1048576, wanted at least 4513792: jobs[3] has 1024000 bytes of input and 2048000 of output"
    assert str(reported.value) == f"--set device.memory.window_bytes: {text}"
    with pytest.raises(ScenarioError) as reported:
        compose(parse_toml('name = "x"\n' + JOB.format(name="0", backend="ev74", rows=20_000_000), "f"), Path())
    (problem,) = reported.value.problems
    assert str(problem) == (
        "f:7:9: jobs[0].shape: got 2026666672 bytes of input and 2000000000 of output, wanted what the device's window"
        " of 2147483648 holds on EV74; device.memory.window_bytes = 4026679296 is enough"
    )


def test_exploring_leaves_address_0_alone() -> None:
    """A packet port at address 0 would be unbound: the first page of a window that begins there stays free."""
    scenario = load("documents-2x17", ["device.memory.window_base=0"])
    ran = ExplorationBench(ExplorationCase.of(scenario.jobs[0], scenario.device)).run(first)
    assert (ran.trouble, ran.wrong) == (None, None)
