"""The site of the documentation, built once for all tests."""

import fcntl
import os
from pathlib import Path

import pytest

from tests.docs.built import ROOT, build


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site. Of several processes that test, one builds it and the others wait."""
    pytest.importorskip("sphinx", reason="Sphinx is not installed: pip install -e '.[docs]'")
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with (shared / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        complaints = shared / "site.complaints"
        if not complaints.exists():
            complaints.write_text(build(ROOT / "docs", shared / "site" / "html"), encoding="utf-8")
    assert complaints.read_text(encoding="utf-8") == ""
    return shared / "site" / "html"
