"""Conditions of a load: their words and units, what is refused, and the exit code of `tessbed load --require`."""

import json
from pathlib import Path

import pytest

from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.load.load_model import Arrivals
from tessbed.scenarios.load.simulation import simulate_load
from tessbed.scenarios.study.load.conditions import parse_condition, required_document, required_lines
from tests.cli.conftest import Tessbed
from tests.cli.conftest import tessbed as command
from tests.scenarios.load.programs import constant, tandem

__all__ = ["command"]
WRITTEN = {"p99 <= 5_000": 5000, "p99 <= 5_000 ticks": 5000, "mean<2.5us": 2000, "max <= 3 ms": 2_400_000,
           "p50 <= 1 s": 800_000_000, "missed <= 7": 7, "dropped < 1.5 %": 1.5}  # fmt: skip
REFUSED = {
    "no condition": ("fast", 'got "fast", wanted such as "p99 <= 5_000_000", "p99 <= 5 ms" or "missed <= 1%"'),
    "no measure": ("p98 <= 5", 'got "p98", wanted mean, p50, p90, p95, p99, max, missed, dropped; did you mean p90?'),
    "ticks in per cent": ("p99 <= 5%", 'got "p99 <= 5%", wanted ticks, us, ms or s: only missed and dropped are in'),
    "frames in time": ("missed <= 5 ms", 'got "missed <= 5 ms", wanted a number of frames, or per cent'),
}


@pytest.mark.parametrize("text", WRITTEN)
def test_a_limit_is_in_ticks_of_the_clock(text: str) -> None:
    """Times by hand at 800 MHz; frames and shares as they are written."""
    assert parse_condition(text, 800).limit == WRITTEN[text]


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_a_condition_that_is_none_is_refused(text: str, message: str) -> None:
    """The message says what is wanted, and of which option."""
    with pytest.raises(ScenarioError) as refused:
        parse_condition(text, 1000, "--require")
    assert f"--require: {message}" in str(refused.value)


def test_what_fails_is_named_with_its_value() -> None:
    """A frame each 5 ticks that takes 4 of them, and one that takes 6, behind which frames pile up."""
    wanted = [parse_condition("max <= 4", 1000), parse_condition("dropped <= 0", 1000)]
    fast, slow = (
        list(required_lines(required_document(wanted, simulate_load(tandem(every_5, [constant(ticks)], 100)))))
        for every_5 in [Arrivals("every", constant(5))]
        for ticks in (4, 6)
    )
    assert fast == ["require: max <= 4 and dropped <= 0 hold of every stream"]
    assert slow == [
        "require: max <= 4 fails: stream has 105 ticks and is saturated",
        "require: dropped <= 0 fails: stream has 0 frames and is saturated",
    ]


@pytest.mark.parametrize(("limit", "code"), [("p99 <= 9 ms", 0), ("p99 <= 8 ms", 1)])
def test_a_requirement_decides_the_exit_code(
    limit: str, code: int, tmp_path: Path, command: Tessbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is the last word of the report; its p99 is 8,961,740 ticks at 1000 MHz."""
    monkeypatch.chdir(tmp_path)
    said = command("load", "yolov8n-pipeline-int8", "--require", limit)
    assert said.code == code
    assert said.out.rstrip().endswith("in time" if code == 0 else "failed: 1 requirement does not hold")
    document = json.loads(command("load", "yolov8n-pipeline-int8", "--require", limit, "--json").out)
    assert [stream["holds"] for stream in document["require"][0]["streams"]] == [code == 0]


def test_a_condition_that_fails_of_several_streams_is_one_requirement(command: Tessbed) -> None:
    """Four cameras miss it, and the other condition holds."""
    said = command("load", "yolov8n-four-cameras-int8", "--require", "p99 <= 5 ms", "--require", "dropped < 1")
    assert said.out.count("require: p99 <= 5 ms fails") == 4
    assert said.out.rstrip().endswith("failed: 1 requirement does not hold")
