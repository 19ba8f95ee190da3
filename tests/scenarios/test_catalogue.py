"""The catalogue: every scenario that ships runs, and gives the bytes that the literal oracle has written down."""

import json
import subprocess
import sys
import tomllib
from typing import Any

import pytest

from tessbed.scenarios.library import catalogue, load
from tessbed.scenarios.report import document
from tessbed.scenarios.runner import run_scenario
from tests.golden.catalogue import SCENARIOS, geometry_of, read
from tests.golden.realworld import REALWORLD

GOLDEN = read()
LARGE = "large-detess"


@pytest.mark.parametrize("name", sorted(GOLDEN.keys() - {LARGE}))
def test_scenario(name: str) -> None:
    """The verdict is ok, and every backend that does not fail as expected has the recorded hash."""
    judge(name, document(run_scenario(load(name))))


# The usage that a parent is reported of counts from before the exec, with all that this process holds.
PEAK = """
import sys
from tessbed.cli import main
try:
    main(sys.argv[1:])
finally:
    print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1], file=sys.stderr)
"""


def test_large() -> None:
    """The largest scenario too, within its tensors and 200 MiB."""
    command = [sys.executable, "-c", PEAK, "run", LARGE, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    judge(LARGE, json.loads(done.stdout))
    job = load(LARGE).operations[0]
    tensors = job.plan.input.required_bytes + job.plan.output.required_bytes
    peak = int(done.stderr.splitlines()[-1])  # behind what is said of a long run before it begins
    assert tensors < peak * 1024 < tensors + 200 * 2**20


def judge(name: str, reported: dict[str, Any]) -> None:
    """Compare a run's document with the recorded hashes."""
    assert reported["verdict"] == "ok"
    assert {job["name"] for job in reported["jobs"]} == set(GOLDEN[name])
    for job in reported["jobs"]:
        for result in job["results"].values():
            if "trouble" in result:
                assert result["as_expected"] is True
            else:
                assert (result["output_sha256"], result["verified"]) == (GOLDEN[name][job["name"]], True)


def test_complete() -> None:
    """Every scenario of the catalogue has its recorded hashes, and none is recorded that does not ship."""
    assert set(catalogue()) == set(GOLDEN)
    assert len(GOLDEN) >= 14


def test_recorded_cases_are_in_it() -> None:
    """The hashes agree with those recorded for real models, wherever the catalogue has the same tensor."""
    recorded = {case.geometry: case.sha256 for case in REALWORLD}
    found = set()
    for path in SCENARIOS.glob("*.toml"):
        for job in tomllib.loads(path.read_text(encoding="utf-8"))["jobs"]:
            if job["op"] == "external":
                continue
            geometry = geometry_of(job)
            if geometry in recorded and job["input"] == {"pattern": "golden"}:
                assert GOLDEN[path.stem][job["name"]] == recorded[geometry]
                found.add(geometry)
    assert found == set(recorded)


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_explained(name: str) -> None:
    """A scenario opens with a remark on what it shows, and has one line for lists."""
    assert catalogue()[name].read_text(encoding="utf-8").startswith("# ")
    assert 20 <= len(load(name).about) <= 80
