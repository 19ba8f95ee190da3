"""`tessbed --version` and the help cost next to nothing."""

import statistics
import subprocess
import sys
from time import perf_counter

import pytest

HEAVY = (
    "numpy",
    "simpy",
    "attrs",
    "tree_sitter",
    "asyncio",
    "tessbed.kernels",
    "tessbed.runtime",
    "tessbed.scenarios.keys",
)


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_imports(argument: str) -> None:
    """Neither loads numpy, simpy or any room of the product."""
    code = (
        "import sys\n"
        "from tessbed.cli import main\n"
        "try:\n"
        f"    main(['{argument}'])\n"
        "except SystemExit as end:\n"
        "    assert end.code == 0\n"
        f"print([name for name in {HEAVY} if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_words() -> None:
    """The version is one line; `python -m tessbed` is the same program."""
    done = subprocess.run([sys.executable, "-m", "tessbed", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == "tessbed 0.1.0\n"


def test_time() -> None:
    """It answers within 100 ms of bare Python, as the median of interleaved pairs."""
    extra = []
    for _ in range(7):
        bare = _seconds("-c", "pass")
        extra.append(_seconds("-m", "tessbed", "--version") - bare)
    assert statistics.median(extra) < 0.1


def _seconds(*arguments: str) -> float:
    began = perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    return perf_counter() - began
