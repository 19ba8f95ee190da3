"""Extensions: one of other sources is not called, and nothing but time is lost."""

import subprocess
import sys

import pytest

from tessbed.native_build import load_extension
from tests.native_sources import CALLERS, numbers_kept

STALE = """
import sys, types, warnings
for name in ("tessbed.kernels.a65._rows", "tessbed.sim.exact._exact", "tessbed.scenarios.load._load"):
    sys.modules[name] = types.ModuleType(name)
from tessbed.cli import main
main({arguments!r})
"""


def cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line of an installation whose extensions have no SOURCES, as all before it."""
    text = STALE.format(arguments=list(arguments))
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", CALLERS)
def test_an_extension_of_other_sources_is_not_used(name) -> None:
    """It is reported with what to do; the right one is used, where it was built."""
    number = next(iter(numbers_kept(name).values()))
    found, missing = load_extension(name, number)
    if found is None:
        pytest.skip(f"{name}: {missing}")
    with pytest.warns(RuntimeWarning, match=r"built from other sources than these; rebuild it with: pip install -e \."):
        assert load_extension(name, number ^ 1)[0] is None


def test_what_is_not_there_was_not_built() -> None:
    """No warning: an installation without a compiler is a whole one."""
    assert load_extension("tessbed.kernels.a65._no_such", 0) == (None, "it was not built")


def test_a_stale_installation_runs_and_says_so() -> None:
    """Right bytes and ticks without the extensions, a warning on stderr, and doctor says what to do."""
    done = cli("run", "chroma", "--engine", "verify")
    assert done.returncode == 0, done.stderr
    assert "ok: 4 of 4 results correct" in done.stdout
    for short in ("_rows", "_exact"):
        assert f"the extension {short} is not used" in done.stderr
    assert cli("doctor").stdout.count("rebuild it with: pip install -e .") == 3
