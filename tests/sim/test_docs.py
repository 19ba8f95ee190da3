"""The device page holds the tables that the code makes."""

from pathlib import Path

from tessbed.sim.docs import TABLES, renew_simulation_page

PAGE = Path(__file__).parents[2] / "docs" / "simulation.md"


def test_the_page_is_current() -> None:
    """docs/simulation.md is what `python -m tessbed.sim.docs` would write."""
    text = PAGE.read_text(encoding="utf-8")
    assert renew_simulation_page(text) == text


def test_the_page_holds_every_table() -> None:
    """Each generated table is in the page, whole."""
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name, table in TABLES.items() if table() not in text] == []
