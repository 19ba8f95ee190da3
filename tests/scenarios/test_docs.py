"""docs/scenario.md: its tables are the code's, its examples are executed, its costs are those of the model."""

import re
from pathlib import Path
from typing import Any

import attrs

from tessbed.scenarios.docs import SESSION, renew_scenario_page, renew_sessions
from tessbed.scenarios.library import load
from tessbed.scenarios.oracle.comparison import Mismatch
from tessbed.scenarios.outcome import ScenarioRun
from tessbed.scenarios.report import EXIT_CODES, document
from tessbed.scenarios.runner import run_scenario
from tests.cli import forks

PAGE = Path(__file__).parents[2] / "docs" / "scenario.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_tables() -> None:
    """`python -m tessbed.scenarios.docs` would change nothing."""
    assert renew_scenario_page(TEXT) == TEXT


def test_sessions() -> None:
    """Every console block shows what its command prints, word for word."""
    assert len(SESSION.findall(TEXT)) >= 5
    assert renew_sessions(TEXT, forks.printed) == TEXT


def test_trouble_kinds() -> None:
    """Every kind of trouble is on the page."""
    assert all(f"`{kind}`" in TEXT for kind in EXIT_CODES)


def test_the_document() -> None:
    """The table has every key of a document: of a run, of its jobs, and of their results, whatever came of them."""
    section = TEXT.partition("## The document")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (.*?) \|", section, re.MULTILINE)
    named = {key for cell in cells for key in re.findall(r"`(?:jobs\[\]\.|\.)?(\w+)`", cell)}
    reported = document(_troubled())
    keys = {
        *reported,
        *(key for job in reported["jobs"] for key in job),
        *(key for found in _results(reported) for key in found),
    }
    assert {"instead", "trouble", "as_expected", "mismatch", "engines_part", "path", "counts"} <= keys
    assert named - {"ev74"} == keys - {"jobs", "results"}


def _results(reported: dict[str, Any]) -> list[dict[str, Any]]:
    return [found for job in reported["jobs"] for found in job["results"].values()]


def _troubled() -> ScenarioRun:
    """A run with all that a document can say: a fault, another engine than was asked for, a byte and a tick wrong."""
    done = run_scenario(load("fault-dma-error", ()), engine="exact")
    last = done.jobs[-1]
    wrong = attrs.evolve(
        last.outcomes[-1], mismatch=Mismatch(3, 1, 2, "scalar", (0,), 3), disagreement="at tick 7", idle=("a fault",)
    )
    return attrs.evolve(done, jobs=(*done.jobs[:-1], attrs.evolve(last, outcomes=(*last.outcomes[:-1], wrong))))
