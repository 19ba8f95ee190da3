"""The Makefile takes the Python that it is given, wherever that lies, and keeps a .venv that will do."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OTHER = """#!/bin/sh
# The interpreter of a .venv that was made from another Python: all that is asked of it but who it is, it can do.
case "$2" in *base_prefix*) echo another ;; esac
"""

pytestmark = pytest.mark.skipif(
    shutil.which("make") is None or find_spec("ensurepip") is None, reason="needs make, and a Python that makes a .venv"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the Makefile, and a .venv of another Python with a mark in it."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(OTHER, encoding="utf-8")
    python.chmod(0o755)
    (tmp_path / ".venv" / "mark").touch()
    return tmp_path


def made(folder: Path, *arguments: str) -> tuple[int, str]:
    """Make .venv: exit code, and what was said on stderr."""
    command = ["make", "--no-print-directory", ".venv/made/venv", *arguments]
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "PYTHON")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_a_venv_that_will_do_is_kept(folder: Path) -> None:
    """Without PYTHON, any .venv of a Python that is new enough stays."""
    assert made(folder) == (0, "")
    assert (folder / ".venv" / "mark").exists()


def test_the_python_that_is_named_is_taken(folder: Path) -> None:
    """A .venv of another Python is made again, from a path with spaces and quotes in it; the second time it stays."""
    assert made(folder)[0] == 0
    named = folder / 'a "new" place' / "python 3"
    named.parent.mkdir()
    named.symlink_to(os.path.realpath(sys.executable))
    assert made(folder, f"PYTHON={named}") == (0, f"making .venv with {named}\n")
    assert not (folder / ".venv" / "mark").exists()
    asked = [folder / ".venv" / "bin" / "python", "-c", "import sys; print(sys.version)"]
    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip() == sys.version
    assert made(folder, f"PYTHON={named}") == (0, "")


def test_a_python_that_is_not_there_is_an_error(folder: Path) -> None:
    """An existing .venv is no excuse to ignore a PYTHON that can not run; it is left as it was."""
    code, said = made(folder, "PYTHON=/no where/python3.99")
    assert code != 0
    assert said.startswith("error: no Python of 3.11 or newer among: /no where/python3.99.\n")
    assert (folder / ".venv" / "mark").exists()
