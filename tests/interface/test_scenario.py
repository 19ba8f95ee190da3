"""Scenario: what a file, a name or a table says is run and studied, with the results of the command line."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessbed
from tests.cli.conftest import HEAD
from tests.cli.conftest import Tessbed as Command
from tests.cli.conftest import tessbed as command
from tests.scenarios.texts import COPY

__all__ = ["command"]
VALUES: dict[str, Any] = {
    "name": "head",
    "jobs": [
        {
            "name": "head",
            "op": "detess",
            "dtype": "bf16",
            "shape": (4, 6, 8),
            "tiled": {"axes": [-1, 0, 1, 2], "tile": np.array([1, 2, 3, 8])},
            "input": {"pattern": "golden"},
        }
    ],
}


@pytest.fixture
def head(tmp_path: Path) -> Path:
    """A scenario file."""
    path = tmp_path / "head.toml"
    path.write_text(HEAD)
    return path


def test_a_file_a_name_and_a_table(head: Path) -> None:
    """All three are scenarios; the table and the file with the same values are the same one."""
    of_file, of_table = tessbed.Scenario.load(head), tessbed.Scenario.load(VALUES)
    assert of_file.to_toml() == of_table.to_toml()
    assert of_file.to_dict() == tessbed.Scenario.load(of_file.to_dict()).to_dict()
    assert (of_file.name, of_file.jobs) == ("head", ("head",))
    assert tessbed.Scenario.load("luma").run().ok
    assert tessbed.Scenario.load(str(head), {"jobs.*.backend": "ev74"}, seed=3).to_dict()["seed"] == 3


STUDIES: dict[str, tuple[Callable[[tessbed.Scenario], Any], tuple[str, ...]]] = {
    "run": (lambda s: s.run(), ()),
    "explain": (lambda s: s.explain(), ()),
    "bound": (lambda s: s.bound(), ()),
    "advise": (lambda s: s.advise(max_workers=3), ("--max-workers", "3")),
    "whatif": (lambda s: s.whatif(), ()),
}


@pytest.mark.parametrize("name", STUDIES)
def test_results_are_those_of_the_command(name: str, head: Path, command: Command) -> None:
    """Document and text of each study are what its command prints."""
    study, arguments = STUDIES[name]
    reported = study(tessbed.Scenario.load(head))
    assert json.loads(json.dumps(reported.document)) == json.loads(command(name, head, "--json", *arguments).out)
    assert f"{reported}\n" == command(name, head, "-q", *arguments).out
    lengths = {len(column) for column in reported.to_arrays().values()}
    assert len(lengths) == 1
    assert lengths != {0}


def test_explained_ticks_sum_to_the_whole(head: Path) -> None:
    """The column of ticks sums to the makespan, as integers."""
    explained = tessbed.Scenario.load(head).explain()
    ticks = explained.to_arrays()["ticks"]
    assert ticks.dtype == np.int64
    assert ticks.sum() == explained["device_ticks"] == tessbed.Scenario.load(head).run().job("head").device_ticks


def test_sweep(head: Path, tmp_path: Path, command: Command) -> None:
    """A sweep has one row for each combination in order, equal to a run there, with or without a file of results."""
    scenario = tessbed.Scenario.load(head)
    vary = {"device.workers": range(1, 4), "device.dma.arbitration": ["fifo", "round_robin"]}
    columns = scenario.sweep(vary).to_arrays()
    assert columns["device.workers"].tolist() == [1, 1, 2, 2, 3, 3]
    assert columns["device.dma.arbitration"].tolist() == ["fifo", "round_robin"] * 3
    for row in scenario.sweep(vary).rows:
        there = scenario.with_settings({key: row[key] for key in vary})
        assert there.run().job("head").device_ticks == row["device_ticks"]
    kept = scenario.sweep(vary, db=tmp_path / "kept.sqlite")
    assert kept.rows == scenario.sweep(vary).rows == scenario.sweep(vary, db=tmp_path / "kept.sqlite").rows
    said = command("sweep", head, "--vary", "device.workers=1..3", "--vary", "device.dma.arbitration=fifo,round_robin",
                   "--db", tmp_path / "other.sqlite", "--executor", "here", "--json")  # fmt: skip
    assert json.loads(said.out)["rows"] == kept.rows
    assert len(scenario.sweep(vary, random=2, seed=1).rows) == 2


def test_a_sweep_keeps_the_settings_and_the_seed(head: Path) -> None:
    """Points start from the scenario as it was changed."""
    scenario = tessbed.Scenario.load(head, {"device.slots": 1}, seed=5)
    row = scenario.sweep({"device.workers": [1]}).rows[0]
    assert row["device_ticks"] == scenario.with_settings({"device.workers": 1}).run().job("head").device_ticks


def test_search(head: Path, tmp_path: Path) -> None:
    """A search finds the best point of a sweep, and names it; it starts from the scenario as it was changed."""
    scenario, over = tessbed.Scenario.load(head), {"device.workers": range(1, 5), "device.slots": [1, 2]}
    for sampler in ("random", "grid", "tpe"):
        found = scenario.search(over, trials=8, sampler=sampler, db=tmp_path / "kept.sqlite")
        assert len(found.rows) == 8
        assert found["best"]["ticks"] == min(scenario.sweep(over).to_arrays()["device_ticks"])
    slower = scenario.with_settings({"device.memory.read_latency_ticks": 999}).search(over, trials=3)
    assert slower["best"]["ticks"] > found["best"]["ticks"]
    assert f"{slower}" == slower.text


def test_points_without_a_result(head: Path) -> None:
    """A point that can not be has an error, and NaN for its ticks."""
    reported = tessbed.Scenario.load(head).sweep({"device.scratch_bytes": [65_600, 262_144]})
    columns = reported.to_arrays()
    assert [bool(error) for error in columns["error"]] == [True, False]
    assert np.isnan(columns["device_ticks"][0])


def test_compare(head: Path) -> None:
    """The terms of a comparison sum to the difference."""
    one = tessbed.Scenario.load(head)
    other = one.with_settings({"device.workers": 1})
    reported = one.compare(other)
    ticks = [scenario.run().job("head").device_ticks or 0 for scenario in (one, other)]
    assert reported.to_arrays()["difference_ticks"].sum() == reported["difference_ticks"] == ticks[1] - ticks[0]


def test_a_kernel_of_ones_own(tmp_path: Path) -> None:
    """A reference to a kernel is a scenario of one job; without a reference function nothing is verified."""
    (tmp_path / "copy.py").write_text(COPY)
    scenario = tessbed.Scenario.load(f"{tmp_path}/copy.py:copy", {"jobs.*.args.rows": 16})
    job = scenario.run().job("copy")
    assert (job.op, job.verified, job.ok, job.output_bytes) == ("copy", None, True, 16 * 64)
    assert scenario.sweep({"device.workers": [1, 2]}).to_arrays()["device_ticks"].shape == (2,)


def test_a_run_keeps_traces_where_asked(head: Path) -> None:
    """`trace=True` keeps every transfer."""
    scenario = tessbed.Scenario.load(head)
    assert len(scenario.run(trace=True).job("head").trace) > 0
    assert scenario.run().job("head").trace == ()
    assert scenario.run(engine="exact").job("head").verified is None
    assert scenario.run().job("head", "a65").parts == {}


def of_head(use: Callable[[tessbed.Scenario], object]) -> Callable[[], object]:
    """The use of a scenario that is made when it is called."""
    return lambda: use(tessbed.Scenario.load(VALUES))


MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "a number": (lambda: tessbed.Scenario.load(5), "scenario: got 5, wanted the path of a scenario file, the name"),
    "none": (lambda: tessbed.Scenario.load(None), "scenario: got None, wanted"),
    "no name": (lambda: tessbed.Scenario.load("lumma"), "lumma: no such file, .*; did you mean luma?"),
    "a table without jobs": (lambda: tessbed.Scenario.load({"name": "x"}), "scenario: jobs: missing, wanted at least"),
    "a table's value": (
        lambda: tessbed.Scenario.load({**VALUES, "device": {"workers": 0}}),
        "scenario: device.workers: got 0, wanted an integer from 1 to 64",
    ),
    "settings": (
        lambda: tessbed.Scenario.load("luma", ["a=1"]),  # pyright: ignore
        r"settings: got a list, \['a=1'\], wanted a table of",
    ),
    "a setting": (of_head(lambda s: s.with_settings({"device.wokers": 1})), "unknown field 'wokers'; did you mean"),
    "engine": (of_head(lambda s: s.run(engine="exakt")), "engine: got the text 'exakt', .*; did you mean exact?"),
    "other": (of_head(lambda s: s.compare("luma")), "other: got the text 'luma', wanted a Scenario"),  # pyright: ignore
    "vary": (of_head(lambda s: s.sweep(["device.workers"])), "vary: got a list, "),  # pyright: ignore
    "sampler": (of_head(lambda s: s.search({"device.slots": [1]}, sampler="tpee")), "sampler: got .*did you mean tpe?"),
    "over": (of_head(lambda s: s.search({"device.wokers": [1]})), "over device.wokers: unknown field"),
    "no values": (of_head(lambda s: s.sweep({"device.workers": []})), "wanted 1 to 10,000 values"),
    "a varied key": (of_head(lambda s: s.sweep({"device.wokers": [1]})), "vary device.wokers: unknown field"),
    "job": (of_head(lambda s: s.run().job("hed")), "name: got the text 'hed', wanted 'head'; did you mean head?"),
    "backend": (of_head(lambda s: s.run().job("head", "ev7")), "backend: got the text 'ev7', .*did you mean ev74?"),
    "percent": (of_head(lambda s: s.advise(within="5 %")), "within: got the text '5 %', wanted a number of percent"),  # pyright: ignore
}


@pytest.mark.parametrize(("make", "text"), MISTAKES.values(), ids=MISTAKES.keys())
def test_mistakes(make: Callable[[], object], text: str) -> None:
    """Whatever is passed wrongly is refused in our words, whether it is the scenario's or the caller's."""
    with pytest.raises((tessbed.ScenarioError, tessbed.SpecError), match=re.compile(text)):
        make()


def test_a_load_is_that_of_the_command(tmp_path: Path, command: Command) -> None:
    """`run_load` has the document and the text of `tessbed load`, and a row for each stream."""
    path = tmp_path / "load.toml"
    path.write_text(f'{HEAD}[[streams]]\nname = "camera"\nfps = 30\n[load]\nframes = 100\n')
    found = tessbed.Scenario.load(path).run_load(find="p90 <= 500_000", verify=True)
    options = ("--find", "p90 <= 500_000", "--engine", "verify")
    assert found.document == json.loads(command("load", path, *options, "--json").out)
    assert str(found) == command("load", path, *options).out.rstrip("\n")
    assert [row["stream"] for row in found.rows] == ["camera"]
    assert found.to_arrays()["offered"].tolist() == [100]
    with pytest.raises(tessbed.SpecError, match="find: got 5, wanted a condition"):
        tessbed.Scenario.load(path).run_load(find=5)


def test_a_setting_that_is_no_value() -> None:
    """What TOML can not say is refused by what was got."""
    with pytest.raises(ValueError, match=r"settings: got .*object.*, wanted a number"):
        tessbed.Scenario.load("luma", {"device.workers": object()})
