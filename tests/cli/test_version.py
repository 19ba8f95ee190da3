"""`tessbed --version` and the help cost next to nothing."""

import resource
import subprocess
import sys

import pytest

HEAVY = (
    "numpy",
    "simpy",
    "attrs",
    "tree_sitter",
    "asyncio",
    "tessbed.kernels",
    "tessbed.runtime",
    "tessbed.scenarios.format.schema_keys",
)


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_imports(argument: str) -> None:
    """Neither loads numpy, simpy or any package of the product."""
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
    assert done.stdout == "tessbed 0.2.0\n"


def test_time() -> None:
    """It takes at most 100 ms of a processor beyond bare Python, at its best of ten: what else runs does not count."""
    bare, ours = zip(
        *((_seconds("-c", "pass"), _seconds("-m", "tessbed", "--version")) for _ in range(10)), strict=True
    )
    assert min(ours) - min(bare) < 0.1


def _seconds(*arguments: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


QUICK = {  # a command line, and what it must not import: all else that a run needs
    ("list",): (),
    ("show", "luma"): ("importlib.metadata",),
    ("show", "luma", "--source"): ("numpy", "tree_sitter", "importlib.metadata"),
    ("validate", "luma"): ("importlib.metadata",),
    ("run", "--help"): ("numpy", "tree_sitter", "attrs"),
    ("sweep", "--nope"): ("numpy", "tree_sitter", "sqlite3"),
    ("drill",): ("numpy", "tree_sitter"),
    ("verify",): ("numpy", "tree_sitter"),
}
NEVER = (
    "simpy",
    "asyncio",
    "multiprocessing",
    "matplotlib",
    "sqlite3",
    "tessbed.runtime.runtime",
    "tessbed.sim.device.device",
)


@pytest.mark.parametrize("line", QUICK, ids=" ".join)
def test_what_runs_nothing_imports_nothing_that_runs(line: tuple[str, ...]) -> None:
    """Listing, showing and validating load no engine and no runtime; help and errors not even numpy."""
    unwanted = (*NEVER, *QUICK[line])
    code = (
        "import sys\n"
        "from tessbed.cli import main\n"
        "try:\n"
        f"    main({list(line)})\n"
        "except SystemExit as end:\n"
        "    pass\n"
        f"print([name for name in {unwanted} if name in sys.modules], len(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names, _, count = done.stdout.splitlines()[-1].rpartition(" ")
    assert names == "[]"
    assert int(count) < 480
