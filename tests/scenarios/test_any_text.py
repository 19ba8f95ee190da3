"""Any text is a scenario or a ScenarioError with a place for each mistake: never another exception."""

import tomllib
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tessbed.scenarios.compose import compose
from tessbed.scenarios.model import Scenario
from tessbed.scenarios.overrides import apply
from tessbed.scenarios.problems import ScenarioError
from tessbed.scenarios.toml_source import parse
from tessbed.scenarios.toml_text import toml_text
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
        return compose(apply(parse(text, "f"), overrides), Path())
    except ScenarioError as error:
        problems = error.problems
    assert problems
    for problem in problems:
        assert problem.place.line >= 1 or problem.place.source.startswith("--set")
        assert str(problem).isprintable()
    return None


def _spoilt(random: Random) -> dict[str, Any]:
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
        admitted += judged(toml_text(_spoilt(random))) is not None
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
