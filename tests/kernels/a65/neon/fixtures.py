"""Fixtures of the test modules that run the emulated rows: imported there, they serve every test of the module."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kernels.a65 import running
from tests.kernels.a65.neon import build
from tests.kernels.a65.neon.engine import Emulated, offered
from tests.shared_build import built_once


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This tree's rows, compiled."""
    return built_once(tmp_path_factory, "neon", build.build) / build.PROGRAM


@pytest.fixture(autouse=True)
def neon(program: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Emulated]:
    """The emulated rows as the only engine of every test."""
    monkeypatch.setattr(running, "engines", lambda: ("neon",))
    with offered(program) as emulated:
        yield emulated
