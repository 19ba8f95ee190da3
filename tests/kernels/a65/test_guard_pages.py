"""No byte outside the declared spans is touched, and no input is written: proved by protected pages."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from tessbed.kernels.a65 import native_rows
from tests.kernels.a65.memory_cases import KINDS

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.skipif(platform.system() not in ("Linux", "Darwin"), reason="needs mprotect")


def run_program(name: str, op: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A program of this folder in a process of its own."""
    command = [sys.executable, "-m", f"tests.kernels.a65.{name}", op, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280, check=False)


@pytest.mark.parametrize(
    ("every", "least"), [(5, 1000), pytest.param(1, 5000, marks=pytest.mark.long)], ids=["a part", "all"]
)
@pytest.mark.parametrize("op", KINDS)
def test_guard_pages(op: str, every: int, least: int) -> None:
    """Every row path, streaming or not, stays between the guard pages wherever it lies, and writes the right bytes."""
    result = run_program("guard_pages", op, "geometries", str(every))
    *cases, last = result.stdout.splitlines() or [""]
    assert result.returncode == 0, f"fault (exit {result.returncode}) in: {last}\n{result.stderr[-2000:]}"
    assert last == "done"
    assert len(cases) >= least


@pytest.mark.parametrize(
    ("every", "least"), [(16, 200), pytest.param(1, 3000, marks=pytest.mark.long)], ids=["a part", "all"]
)
@pytest.mark.parametrize("op", KINDS)
def test_qualification_between_pages(op: str, every: int, least: int) -> None:
    """Every channel-axis position of every rank, and channel batches of 1 to 64 channels, stay between the pages."""
    result = run_program("guard_pages", op, "qualification", str(every))
    *cases, last = result.stdout.splitlines() or [""]
    assert result.returncode == 0, f"fault (exit {result.returncode}) in: {last}\n{result.stderr[-2000:]}"
    assert last == "done"
    assert len(cases) >= least


@pytest.mark.skipif(bool(native_rows.missing), reason="needs the native rows")
@pytest.mark.parametrize(
    ("ends", "least"), [(1, 5_000), pytest.param(2, 10_000, marks=pytest.mark.long)], ids=["one end", "both ends"]
)
@pytest.mark.parametrize("op", KINDS)
def test_forged_programs(op: str, ends: int, least: int) -> None:
    """A row program with any number altered is refused before a write, or stays inside its storage."""
    result = run_program("forged_programs", op, str(ends))
    *cases, last = result.stdout.splitlines() or [""]
    assert result.returncode == 0, f"fault (exit {result.returncode}) in: {last}\n{result.stderr[-2000:]}"
    assert len(cases) >= 30
    assert all(int(count) > least for count in last.split())


OVERRUN = """
import ctypes
from tests.kernels.a65.guard_pages import Guarded
storage = Guarded(1)
view = storage.place(100, None)
storage.freeze({frozen})
print("alive", flush=True)
ctypes.memset(view.ctypes.data + {offset}, 0, 1)
print("survived", flush=True)
"""


@pytest.mark.parametrize(
    ("offset", "frozen", "survives"),
    [(99, False, True), (100, False, False), (99, True, False)],
    ids=["last byte", "one byte behind", "frozen"],
)
def test_guards_bite(offset: int, frozen: bool, survives: bool) -> None:
    """The pages do protect: the last byte may be written, the next may not, and none of a frozen input."""
    command = [sys.executable, "-c", OVERRUN.format(offset=offset, frozen=frozen)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert result.stdout.startswith("alive")
    assert ("survived" in result.stdout) == survives
