"""docs/load.md shows what its commands print."""

from pathlib import Path

from tessbed.scenarios.docs import SESSION, renew_sessions
from tests.cli import forks

TEXT = (Path(__file__).parents[4] / "docs" / "load.md").read_text(encoding="utf-8")


def test_load_sessions() -> None:
    """Every console block is the real output, word for word."""
    assert len(SESSION.findall(TEXT)) == 13
    assert renew_sessions(TEXT, forks.printed) == TEXT
