"""docs/study.md shows what its commands print."""

from pathlib import Path

from tessbed.scenarios.docs import SESSION, renew_sessions
from tests.cli import forks

TEXT = (Path(__file__).parents[3] / "docs" / "study.md").read_text(encoding="utf-8")


def test_sessions() -> None:
    """Every console block is the real output, word for word."""
    assert len(SESSION.findall(TEXT)) == 9
    assert renew_sessions(TEXT, forks.printed) == TEXT
