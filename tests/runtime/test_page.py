"""docs/runtime.md: its examples run, its tables and its diagram are the code's own."""

import io
import re
from contextlib import redirect_stdout
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tessbed.runtime.invariants import ENDING, RULES
from tessbed.runtime.jobs.states import FINAL, TABLE, State, diagram, transition_table
from tessbed.runtime.memory.coherency import FINDING_KINDS
from tessbed.runtime.scheduling.scheduler import NOTICES

PAGE = Path(__file__).parents[2] / "docs" / "runtime.md"
EXAMPLE = re.compile(r"```python\n(?P<code>.*?)```\n\n```text\n(?P<output>.*?)```", re.DOTALL)


def test_the_examples_print_what_the_page_says() -> None:
    """All examples, run one after the other in one namespace, print exactly the blocks behind them."""
    namespace: dict[str, object] = {}
    examples = list(EXAMPLE.finditer(PAGE.read_text(encoding="utf-8")))
    assert len(examples) >= 4
    for example in examples:
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(example["code"], PAGE.name, "exec"), namespace)
        assert printed.getvalue() == example["output"]


def test_the_page_shows_the_table_of_states() -> None:
    """The page has the table as the code does, and shows the drawing."""
    text = PAGE.read_text(encoding="utf-8")
    assert "](job-states.svg)" in text
    assert transition_table() in text


def test_the_drawing_is_of_the_table() -> None:
    """It has each state in its colour and each move; when the table changes, `diagram` and Graphviz draw it again."""
    groups = ElementTree.parse(PAGE.parent / "job-states.svg").iterfind(".//{*}g")
    drawn = {"node": set(), "edge": set()}
    for group in groups:
        title, words = group.findtext("{*}title"), (group.findtext("{*}text") or "").strip()
        if group.get("class") in drawn:
            fill = group.find("{*}path").get("fill")
            drawn[group.get("class")].add((title, words, fill))
    assert drawn["edge"] == {(f"{state.value}->{to.value}", move.value, "none") for state, move, to, _ in TABLE}
    nodes = re.findall(r'^    (\w+) \[fillcolor="(.*)"\]$', diagram(), re.MULTILINE)
    assert drawn["node"] == {(name, name, fill) for name, fill in nodes}
    assert [name for name, _ in nodes] == [state.value for state in State]
    assert {name for name, fill in nodes if fill == "#dafbe1"} == {state.value for state in FINAL}


@pytest.mark.parametrize("rows", [FINDING_KINDS, NOTICES], ids=["findings", "notices"])
def test_the_page_shows_every_row(rows: dict[str, str]) -> None:
    """Findings of the checker and notices of the scheduler are there in their own words."""
    text = PAGE.read_text(encoding="utf-8")
    assert all(f"| `{name}` | {meaning} |" in text for name, meaning in rows.items())


def test_the_page_shows_every_rule_of_the_audit() -> None:
    """Each rule is there with its own first line."""
    text = PAGE.read_text(encoding="utf-8")
    assert all(f"| `{name}` | {check.__doc__} |" in text for name, check in [*RULES.items(), *ENDING.items()])
