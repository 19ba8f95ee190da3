"""docs/scenario.md: its tables are the code's, its examples are executed, its costs are those of the model."""

import re
from pathlib import Path

from tessbed.scenarios import a65_cost
from tessbed.scenarios.docs import SESSION, renew, renew_sessions
from tessbed.scenarios.report import EXIT_CODES

PAGE = Path(__file__).parents[2] / "docs" / "scenario.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_tables() -> None:
    """`python -m tessbed.scenarios.docs` would change nothing."""
    assert renew(TEXT) == TEXT


def test_sessions() -> None:
    """Every console block shows what its command prints, word for word."""
    assert len(SESSION.findall(TEXT)) >= 5
    assert renew_sessions(TEXT) == TEXT


def test_costs() -> None:
    """The page's costs of the A65 are the model's."""
    costs = [a65_cost.CALL_TICKS, a65_cost.TILE_TICKS, *a65_cost.RUN_TICKS.values()]
    rows = dict(re.findall(r"^\| (call|tile|run: the|run: one).*? \| ([\d,]+) \|$", TEXT, re.MULTILINE))
    assert [int(ticks.replace(",", "")) for ticks in rows.values()] == costs
    kib = [a65_cost.KIB_TICKS[move] for move in (a65_cost.Move.COPY, a65_cost.Move.SPLIT, a65_cost.Move.WIDEN)]
    assert a65_cost.KIB_TICKS[a65_cost.Move.JOIN] == kib[1]
    assert f"| {' / '.join(map(str, kib))} |" in TEXT


def test_trouble_kinds() -> None:
    """Every kind of trouble is on the page."""
    assert all(f"`{kind}`" in TEXT for kind in EXIT_CODES)
