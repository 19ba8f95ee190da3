"""No row path reads or writes a byte outside its storage: shown by sanitizers, which see every access."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.kernels.a65 import sanitized
from tests.kernels.a65.memory_cases import KINDS
from tests.kernels.a65.sanitized import ROOT
from tests.shared_build import built_once

SOURCES = ROOT / "kernels" / "a65"
EVERY = 5
"""Of the memory cases; most of their lists go by twos, threes and fours, which a sample by fives goes through."""

pytestmark = [
    pytest.mark.skipif(sanitized.runtime_library() is None, reason="needs Linux, and gcc with libasan"),
    pytest.mark.timeout(1200),  # the build takes half a minute of processor time, and others may share the processor
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The instrumented build of this tree."""
    folder = built_once(tmp_path_factory, "sanitized", lambda empty: sanitized.build(empty, SOURCES))
    return folder / sanitized.LIBRARY


def assert_sound(result: subprocess.CompletedProcess[str]) -> None:
    """The process went through all its cases."""
    *cases, last = result.stdout.splitlines() or [""]
    assert result.returncode == 0, f"exit {result.returncode} in: {last}\n{result.stderr[:3000]}"
    assert last == "done"
    assert len(cases) >= 1000


@pytest.mark.parametrize("op", KINDS)
def test_sanitized(op: str, library: Path) -> None:
    """One in five of the memory cases is sound under the address and undefined-behaviour sanitizers."""
    assert_sound(sanitized.run(op, library, EVERY))


@pytest.mark.parametrize("op", KINDS)
def test_random_calls(op: str, library: Path) -> None:
    """One in eight of 1,000 random calls of each operation and scalar type is sound."""
    assert_sound(sanitized.run(op, library, 8, "random_calls"))


@pytest.mark.long
@pytest.mark.parametrize("cases", ["random_calls", "qualification"])
@pytest.mark.parametrize("flags", [(), ("-DTESSBED_PLAIN",)], ids=["vectors", "plain C"])
@pytest.mark.parametrize("op", KINDS)
def test_qualification_sanitized(op: str, flags: tuple[str, ...], cases: str, tmp_path: Path) -> None:
    """All 1,000 are, and so is the qualification's set, with vector instructions and without."""
    assert_sound(sanitized.run(op, sanitized.build(tmp_path, SOURCES, *flags), 1, cases))


@pytest.mark.long
@pytest.mark.parametrize("flags", [(), ("-DTESSBED_PLAIN",)], ids=["vectors", "plain C"])
@pytest.mark.parametrize("op", KINDS)
def test_sanitized_in_full(op: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    """All memory cases are, with vector instructions and without."""
    assert_sound(sanitized.run(op, sanitized.build(tmp_path, SOURCES, *flags), 1))


MUTANTS = {
    "reads a pixel too many": (
        "_move.h",
        "i64 room = end - first - bytes;",
        "i64 room = end - first - bytes + step;",
        "tess",
    ),
    "reads the last part whole": (
        "_vec.h",
        "if (end - p >= 16) return load(p);",
        "if (end - p >= 15) return load(p);",
        "tess",
    ),
    "writes a pixel over the row": (
        "_move.h",
        "bytes <= step ? pixels : pixels + 1 - (uint32_t)(bytes + step - 1) / (uint32_t)step;",
        "pixels;",
        "detess",
    ),
    "gathers behind the last scalar": ("_move.h", "i + 17 <= n; i += 16", "i + 16 <= n; i += 16", "tess"),
    "relays more than there is room for": (
        "_execute.h",
        "most > 16 ? most & ~(i64)15 : most",
        "most + 16 * row->stored",
        "tess",
    ),
    "streams wherever a pixel is wide": ("_execute.h", "&& steps.linear % 16 == 0;", ";", "detesscast"),
    "forgets the class's offset": (
        "_execute.h",
        "{(u64)(uintptr_t)at.tiled[part], (u64)(uintptr_t)at.linear[part]}",
        "{0, 0}",
        "detesscast",
    ),
    "forgets the loops around": (
        "_execute.h",
        "i < all->loops; i++) steps = with",
        "i < 0; i++) steps = with",
        "detess",
    ),
    "forgets the loops of the nest": (
        "_execute.h",
        "i < nest->loops; i++) steps = with",
        "i < 0; i++) steps = with",
        "detess",
    ),
}


@pytest.mark.long
@pytest.mark.parametrize(("file", "right", "wrong", "op"), MUTANTS.values(), ids=MUTANTS.keys())
def test_sanitizers_bite(file: str, right: str, wrong: str, op: str, tmp_path: Path) -> None:
    """A build with an error in it does not pass."""
    for source in (*SOURCES.glob("*.c"), *SOURCES.glob("*.h")):
        shutil.copy(source, tmp_path)
    text = (tmp_path / file).read_text()
    assert text.count(right) == 1
    (tmp_path / file).write_text(text.replace(right, wrong))
    result = sanitized.run(op, sanitized.build(tmp_path, tmp_path), 1)
    assert result.returncode != 0
    assert result.stdout.splitlines()[-1] != "done"
