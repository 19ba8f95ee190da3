"""Growth: the work of reading grows with the file, and what is printed about it does not grow without end."""

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tessbed.scenarios.format.diagnostics import LONGEST_TEXT, MOST_LINES, ScenarioError
from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.overrides import apply
from tessbed.scenarios.format.toml_source import Source, parse_toml

JOB = """
[[jobs]]
name = "j{}"
op = "tess"
backend = "ev74"
dtype = "int8"
shape = [4, 4, 16]
tiled = {{ axes = [-1, 0, 1, 2], tile = [1, 2, 2, 16] }}
input = {{ pattern = "golden" }}
int8_channel_padding = 0
"""


def jobs(count: int, head: str = "") -> str:
    """A scenario of so many jobs."""
    return "\n".join(['name = "b"', head, *map(JOB.format, range(count))])


def source(count: int) -> Source:
    """The same, parsed."""
    return parse_toml(jobs(count), "f")


def lines_run(work: Callable[[], Any]) -> int:
    """How many lines of Python the work runs, in our modules and in all others: its amount, whatever the machine."""
    counts: Counter[None] = Counter()

    def trace(frame: Any, event: str, argument: Any) -> Any:
        counts[None] += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    except ScenarioError:
        pass
    finally:
        sys.settrace(before)
    return counts[None]


WORK: dict[str, Callable[[int], Callable[[], Any]]] = {
    "jobs": lambda n: lambda: compose(source(n), Path()),
    "jobs of a firmware that lacks them": lambda n: (
        lambda: compose(parse_toml(jobs(n, 'firmware.ops = ["detess"]'), "f"), Path())
    ),
    "jobs of one name": lambda n: lambda: compose(apply(source(n), ["jobs.*.name=j"]), Path()),
    "one setting of all jobs": lambda n: lambda: apply(source(n), ["jobs.*.workers=1"]),
    "a setting of each job": lambda n: lambda: apply(source(n), [f"jobs.{i}.workers=1" for i in range(n)]),
    "a list": lambda n: lambda: parse_toml(f"a = [{'1, ' * n}1]", "f"),
    "a list deep inside": lambda n: lambda: parse_toml(f"a = {'[' * 60}{'1, ' * n}1{']' * 60}", "f"),
    "a key of many names": lambda n: lambda: parse_toml(f"a{'.a' * n} = 1", "f"),
    "a header of many names": lambda n: lambda: parse_toml(f"[a{'.a' * n}]", "f"),
    "an inline key of many names": lambda n: lambda: parse_toml(f"a = {{ a{'.a' * n} = 1 }}", "f"),
    "a setting of many names": lambda n: lambda: apply(source(1), [f"a{'.a' * n}=1"]),
    "a setting to a key of many names": lambda n: lambda: apply(source(1), [f"a={{a{'.a' * n}=1}}"]),
    "unknown keys": lambda n: (
        lambda: compose(parse_toml(jobs(1) + "".join(f"k{i} = 1\n" for i in range(n)), "f"), Path())
    ),
}


@pytest.mark.parametrize("name", WORK)
def test_work_grows_with_the_input(name: str) -> None:
    """Four times the input is about four times the work, counted in lines that run, and never sixteen times."""
    work = WORK[name]
    lines_run(work(2))  # whatever is worked out once
    few, many = lines_run(work(20)), lines_run(work(80))
    assert many < 6 * few


@pytest.mark.parametrize(
    "text",
    [jobs(300).replace("shape = [4", "shape = [-4"), jobs(1) + "".join(f"k{i} = 1\n" for i in range(300))],
    ids=["values", "keys"],
)
def test_the_first_hundred(text: str) -> None:
    """Every error is found, the first hundred are said, and how many there are beside."""
    with pytest.raises(ScenarioError) as caught:
        compose(parse_toml(text, "f"), Path())
    *lines, last = str(caught.value).split("\n")
    assert len(caught.value.problems) == 300
    assert (len(lines), last) == (MOST_LINES, "... and 200 more errors")


LONG = "x" * 100_000


@pytest.mark.parametrize("settings", [[LONG], [f"{LONG}=1"], [f"a={LONG}"], [f"name={LONG}", f"{LONG}.x=1"]])
def test_long_settings(settings: list[str]) -> None:
    """However long a setting is, what is said of it is a line that can be read."""
    with pytest.raises(ScenarioError) as caught:
        compose(apply(source(1), settings), Path())
    assert max(map(len, str(caught.value).split("\n"))) < LONGEST_TEXT + 200


def test_long_texts() -> None:
    """Nor does a long name, key or text of a file make a long line."""
    text = jobs(2).replace('"j0"', f'"{LONG}"').replace('"j1"', f'"{LONG}"').replace('"golden"', f'"{LONG}"')
    with pytest.raises(ScenarioError) as caught:
        compose(parse_toml(f"{LONG} = 1\n{text}", "f"), Path())
    assert max(map(len, str(caught.value).split("\n"))) < LONGEST_TEXT + 200


def test_the_last_setting_has_the_place() -> None:
    """A value that was replaced with the table around it has that table's place, and a later one its own."""
    laid = apply(source(1), ["jobs.0.input.file=x", 'jobs.0.input={pattern="ramp"}', "jobs.0.input.pattern=golden"])
    places = {path[2:]: place.source for path, place in laid.places.items() if path[:3] == ("jobs", 0, "input")}
    assert places == {("input",): "--set jobs.0.input", ("input", "pattern"): "--set jobs.0.input.pattern"}
