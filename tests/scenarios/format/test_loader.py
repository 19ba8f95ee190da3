"""Any text is a scenario or a ScenarioError with a place for each error: never another exception."""

import tomllib
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.overrides import apply
from tessbed.scenarios.format.toml_source import parse_toml
from tessbed.scenarios.format.toml_writer import toml_text
from tessbed.scenarios.model import Scenario
from tests.scenarios.texts import SMALL

STRANGE: list[Any] = [
    0, 1, -1, 2, 3, 16, 65, 2**31, 2**63 - 1, -(2**63), True, False, 0.5, float("nan"), "", "x", "both", "pad16",
    "fp32", "fp16", "random", [], [0], [0, 0, 0], [1, 2, 3, 4], [-1, 0, 1, 2], [4, 2, 1], [1.5], ["a"], [[1]], [{}],
    {}, {"a": 1},
    {"pattern": "ramp"}, {"file": "nothing.bin"}, {"file": "."}, {"tile": [1, 1, 1]}, {"strides_bytes": [0, 0, 0]},
    {"kind": "stall"}, [{"kind": "lost", "ticks": -1}], [1] * 8, [2**62, 2, 2],
]  # fmt: skip
NAMES = ["name", "op", "shape", "tiled", "cblocked", "linear", "to", "seed", "device", "firmware", "expect", "nonsense"]


def judged(text: str, *overrides: str) -> Scenario | None:
    """The scenario, or None for one that is refused as it should be."""
    try:
        return compose(apply(parse_toml(text, "f"), overrides), Path())
    except ScenarioError as error:
        problems = error.problems
    assert problems
    for problem in problems:
        assert problem.place.line >= 1 or problem.place.source.startswith("--set")
        assert str(problem).isprintable()
    return None


def _corrupted(random: Random) -> dict[str, Any]:
    """The values of SMALL with up to four changes at random places."""
    values = tomllib.loads(SMALL)
    for _ in range(random.randint(1, 4)):
        inner: Any = random.choice([values, *values["jobs"]] if isinstance(values.get("jobs"), list) else [values])
        while isinstance(inner, dict) and inner and random.random() < 0.4:
            tables = [value for value in inner.values() if isinstance(value, dict)]
            inner = random.choice(tables) if tables else inner
            if not tables:
                break
        if isinstance(inner, dict):
            name = random.choice([*inner, *NAMES])
            if random.random() < 0.2:
                inner.pop(name, None)
            else:
                inner[name] = random.choice(STRANGE)
    return values


@pytest.mark.parametrize("seed", range(8))
def test_strange_values(seed: int) -> None:
    """Values of any kind in any place, missing and additional keys."""
    random, admitted = Random(seed), 0
    for _ in range(150):
        admitted += judged(toml_text(_corrupted(random))) is not None
    assert 0 < admitted < 150


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(SMALL)), st.integers(0, 12), st.text("={}[]\"'#.,-\n 0aé\x00", max_size=6))
def test_damaged_text(start: int, length: int, inserted: str) -> None:
    """A text with a piece cut out and another put in."""
    judged(SMALL[:start] + inserted + SMALL[start + length :])


PATHS = st.lists(st.sampled_from([*NAMES, "jobs", "0", "1", "9", "*", "", "-1", "shape"]), min_size=1, max_size=4)


@settings(max_examples=300, deadline=None)
@given(PATHS, st.sampled_from(STRANGE).map(str) | st.text(max_size=8))
def test_strange_overrides(path: list[str], value: str) -> None:
    """Overrides of any path with any text."""
    judged(SMALL, f"{'.'.join(path)}={value}")


DEEP = [
    ("dotted key", f"{'.'.join(['a'] * 5000)} = 1"),
    ("dotted key that tomllib and the walk can handle", f"{'.'.join(['a'] * 400)} = 1"),
    ("header", f"[{'.'.join(['a'] * 400)}]"),
    ("lists", f"a = {'[' * 100}{']' * 100}"),
    ("tables", f"a = {'{a = ' * 100}1{'}' * 100}"),
]


@pytest.mark.parametrize("text", [text for _, text in DEEP], ids=[name for name, _ in DEEP])
def test_deep_nesting_is_an_error_with_a_place(text: str) -> None:
    """However deep a text is nested, it is refused in words."""
    with pytest.raises(ScenarioError, match="nested too deeply"):
        apply(parse_toml(text, "f"), ["name=x"])


def _seconds_of_errors(jobs: int) -> float:
    start = process_time()
    with pytest.raises(ScenarioError) as error:
        compose(parse_toml('name = "x"\n' + "[[jobs]]\n" * jobs, "f"), Path())
    assert len(error.value.problems) >= jobs
    return process_time() - start


def test_the_time_for_errors_grows_with_their_number() -> None:
    """Eight times as many wrong jobs take about eight times as long to judge, not 64 times."""
    assert _seconds_of_errors(4000) < 30 * _seconds_of_errors(500)
