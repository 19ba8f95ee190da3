"""Outputs that one job hands to the next: the bytes of the first are the input of the second, once it has run."""

from pathlib import Path
from typing import Any

import pytest

from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.library import load
from tessbed.scenarios.runner import run_scenario
from tests.cli.conftest import Tessbed

KERNELS = """\
import numpy as np
import tessbed


@tessbed.kernel(inputs={"values": "uint8[n]"}, outputs={"low": "uint8[n]", "high": "uint8[n]"}, scratch=(1, 2))
def split(w, values, low, high, *, n=5000):
    for box in w.own(low):
        yield w.band(values[box], [low[box], high[box]], nibbles)


def nibbles(values, low, high):
    low[...] = values & 15
    high[...] = values >> 4


@split.reference
def expected_nibbles(values, *, n):
    return values & 15, values >> 4


@tessbed.kernel(inputs={"a": "uint8[n]", "b": "uint8[n]"}, outputs={"both": "uint8[n]"}, scratch=(2, 1))
def join(w, a, b, both, *, n=5000):
    for box in w.own(both):
        yield w.band([a[box], b[box]], both[box], glued)


def glued(a, b, both):
    both[...] = a | b << 4


@join.reference
def expected_join(a, b, *, n):
    return a | b << 4


@tessbed.kernel(outputs=["dst"])
def fails(w, src, dst):
    yield 42


@tessbed.kernel(outputs=["dst"])
def copy(w, src, dst):
    for box in w.own(dst):
        yield w.band(src[box], dst[box], lambda s, t: t.__setitem__(..., s))
"""
SPLIT = '[[jobs]]\nname = "split"\nkernel = "k.py:split"\nargs = { n = 3000 }\n'
JOIN = """\
[[jobs]]
name = "join"
kernel = "k.py:join"
buffers = { a = { job = "split", port = "low" }, b = { job = "split", port = "high" } }
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Any:
    """Writes a scenario of these jobs beside the kernels."""
    (tmp_path / "k.py").write_text(KERNELS)

    def write(*jobs: str) -> str:
        (tmp_path / "s.toml").write_text('name = "two"\n' + "".join(jobs))
        return str(tmp_path / "s.toml")

    return write


def test_an_output_is_the_next_input(scenario: Any) -> None:
    """Nibbles that are split and joined again are the bytes that went in; shapes come from the job before."""
    kept: dict[tuple[str, str], bytes] = {}

    def keep(job: Any, backend: str, port: str, held: Any) -> None:
        kept[job.name, port] = bytes(held)

    from tessbed.scenarios.custom.preparation import prepared

    run = run_scenario(prepared(load(scenario(SPLIT, JOIN), (), None)), keep=keep)
    assert [outcome.ok for entry in run.jobs for outcome in entry.outcomes] == [True, True]
    assert kept["join", "both"] == kept["split", "values"]
    assert len(kept["join", "both"]) == 3000


def test_a_read_before_its_write_is_refused_at_its_line(scenario: Any, tessbed: Tessbed) -> None:
    """`run` and `validate` say which job runs later, at the line that names it, and run nothing."""
    file = scenario(JOIN, SPLIT)
    for command in ("run", "validate"):
        said = tessbed(command, file)
        assert said.code == 2
        text = 'jobs[0].buffers.a.job: got "split", jobs[1], which runs later'
        assert f"s.toml:5:25: {text}: its output would be read before it is written" in said.err
        assert said.err.count("read before it is written") == 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('job = "split", port = "low"', 'job = "splat", port = "low"', "did you mean split?"),
        ('port = "low"', 'port = "lov"', "got port lov of job split, whose outputs are low, high; did you mean low?"),
        (', port = "low"', "", "job split has low, high; wanted port = one of them"),
        ('job = "split", port = "low"', 'port = "low"', "got port without job"),
        ('port = "low"', 'pattern = "ramp"', "got pattern and job, wanted one of them"),
        ('job = "split", port = "low"', 'job = "join"', "this job itself: its output would be read before"),
        ('port = "low"', 'port = "low", shape = [9]', "got the shape [3000], wanted [9]: the kernel declares uint8[n]"),
    ],
)
def test_errors_name_what_was_written(scenario: Any, tessbed: Tessbed, old: str, new: str, message: str) -> None:
    """Each is refused before anything runs."""
    said = tessbed("run", scenario(SPLIT, JOIN.replace(old, new, 1)))
    assert said.code == 2
    assert message in said.err


def test_an_output_of_another_size_does_not_fit(scenario: Any, tessbed: Tessbed) -> None:
    """Where the kernel declares no shape, the one that was written must be that of the output."""
    copy = '[[jobs]]\nname = "copy"\nkernel = "k.py:copy"\nbuffers = { src = { job = "split", port = "low"%s } }\n'
    assert tessbed("run", scenario(SPLIT, copy % "")).code == 0
    said = tessbed("run", scenario(SPLIT, copy % ", shape = [9]"))
    assert said.code == 2
    assert "got uint8[3000], the output low of job split, wanted uint8[9]" in said.err


def test_what_a_failed_job_leaves_is_not_read(scenario: Any, tessbed: Tessbed) -> None:
    """The job behind a failed one does not run."""
    first = '[[jobs]]\nname = "first"\nkernel = "k.py:fails"\n'
    second = '[[jobs]]\nname = "second"\nkernel = "k.py:copy"\nbuffers = { src = { job = "first" } }\n'
    said = tessbed("run", scenario(first, second))
    assert said.code == 3
    assert "job first has left no output for it" in said.out


def test_a_written_scenario_says_the_same(scenario: Any) -> None:
    """`made_by` survives being written as TOML and read again."""
    from tessbed import Scenario

    text = Scenario.load(scenario(SPLIT, JOIN)).to_toml()
    assert 'job = "split"' in text
    assert 'port = "high"' in text
    with pytest.raises(ScenarioError):
        load(scenario(JOIN), (), None)
