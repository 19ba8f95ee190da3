"""Clang builds the vector rows of x86-64 too: the same instructions, the same bytes."""

import platform
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

pytest.importorskip("ziglang", reason="needs the package ziglang, which has no wheel for this machine")

from tests.kernels.a65.neon.build import FLAGS, SOURCES, zig
from tests.kernels.a65.sanitized import ROOT

X86 = platform.machine() in ("x86_64", "AMD64") and platform.system() == "Linux"
CHECK = """
import sys
from tests.kernels.a65.sanitized import install
install(sys.argv[1])
from tests.geometries import FAMILY, random_geometries
from tests.kernels.a65.running import assert_right, engines
for geometry in (*random_geometries(72, 5), *random_geometries(48, 6, FAMILY)):
    assert_right(geometry)
print(*engines(), sep=", ")
"""


@pytest.mark.skipif(not X86 or not shutil.which("gcc"), reason="needs x86-64, Linux, and gcc's linker")
def test_clang_builds_the_vector_rows(tmp_path: Path) -> None:
    """Built by Clang, the extension has SSSE3 and AVX2 rows, and both move random geometries right."""
    objects = [tmp_path / f"{name}.o" for name in ("_rows", "_rows_avx2")]
    include = sysconfig.get_paths()["include"]  # Debian keeps a part of it beside it, for each machine
    flags = ("-target", "x86_64-linux-gnu", "-fPIC", f"-I{include}", "-idirafter", str(Path(include).parent), *FLAGS)
    for target in objects:
        zig("cc", *flags, "-c", str(SOURCES / f"{target.stem}.c"), "-o", str(target))
    library = tmp_path / "_rows.abi3.so"
    subprocess.run(["gcc", "-shared", *map(str, objects), "-o", str(library)], check=True)
    command = [sys.executable, "-c", CHECK, str(library)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280, check=False)
    assert result.returncode == 0, result.stderr[-3000:]
    assert result.stdout == "numpy, native ssse3, native avx2, native avx2 streaming\n"
