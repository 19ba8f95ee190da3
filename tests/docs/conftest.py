"""The site of the documentation, built once for all tests."""

from pathlib import Path

import pytest

from tests.docs.built import ROOT, build
from tests.shared_build import built_once


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site."""
    pytest.importorskip("sphinx", reason="Sphinx is not installed: pip install -e '.[docs]'")

    def built(folder: Path) -> None:
        complaints = build(ROOT / "docs", folder / "html")
        (folder / "complaints").write_text(complaints, encoding="utf-8")

    folder = built_once(tmp_path_factory, "site", built)
    assert (folder / "complaints").read_text(encoding="utf-8") == ""
    return folder / "html"
