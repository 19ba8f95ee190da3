"""The native rows under the address and undefined-behaviour sanitizers: built once, then run in a process of its own.

`python -m tests.kernels.a65.sanitized OP` builds the tree's rows with the sanitizers and runs every memory case of OP;
`OP SET` runs another set: `random_calls` (1,000 for each pair of scalar types) or `qualification`. With `OP SET LIBRARY
EVERY` it takes that build in the place of the installed one and runs the cases, or one of EVERY so many, on heap
storage. Every byte before and behind that is watched, for reads too; a guard page sees only what leaves a page.
Streaming stores, which no sanitizer sees, are checked ordinary stores in this build.
"""

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

NAME = "tessbed.kernels.a65._rows"
FLAGS = ("-O0", "-g1", "-fPIC", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
"""Without optimisation no access is optimised away, and the rows compile in a quarter of the time."""
ROOT = Path(__file__).parents[3]
SOURCES = ("_rows.c", "_rows_avx2.c")
LIBRARY = "_rows.abi3.so"


def compiler() -> str | None:
    """The GNU compiler, if it is there."""
    return shutil.which("gcc") if platform.system() == "Linux" else None


def runtime_library(name: str = "libasan.so") -> str | None:
    """The sanitizer's runtime library, if the compiler has one."""
    gcc = compiler()
    if gcc is None:
        return None
    answer = subprocess.run(
        [gcc, f"-print-file-name={name}"], capture_output=True, text=True, check=False
    ).stdout.strip()
    return answer if Path(answer).is_absolute() and Path(answer).exists() else None


def build(folder: Path, sources: Path, *flags: str) -> Path:
    """The instrumented extension, or CalledProcessError with what the compiler said."""
    gcc = compiler()
    assert gcc is not None
    library = folder / LIBRARY
    include = sysconfig.get_paths()["include"]
    objects = [str(folder / f"{name}.o") for name in SOURCES]
    command = [gcc, *FLAGS, *flags, "-DTESSBED_CHECKED", f"-I{include}", "-c"]
    compilers = [
        subprocess.Popen([*command, str(sources / name), "-o", made], stderr=subprocess.PIPE, text=True)
        for name, made in zip(SOURCES, objects, strict=True)
    ]
    for compiling in compilers:
        _, said = compiling.communicate()
        if compiling.returncode:
            raise subprocess.CalledProcessError(compiling.returncode, compiling.args, stderr=said)
    subprocess.run([gcc, *FLAGS, "-shared", *objects, "-o", str(library)], check=True, capture_output=True, text=True)
    return library


def install(library: str) -> None:
    """Puts the instrumented build where the product looks for its rows."""
    spec = spec_from_file_location(NAME, library, loader=ExtensionFileLoader(NAME, library))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[NAME] = module
    spec.loader.exec_module(module)


def run(op: str, library: Path, every: int, cases: str = "geometries") -> subprocess.CompletedProcess[str]:
    """The memory cases of `op` in a process of its own, with the sanitizers' runtime in front of everything."""
    command = [sys.executable, "-m", "tests.kernels.a65.sanitized", op, cases, str(library), str(every)]
    preloaded = {"LD_PRELOAD": runtime_library() or "", "ASAN_OPTIONS": "detect_leaks=0", "PYTHONMALLOC": "malloc"}
    environment = {**os.environ, **preloaded}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280, check=False)


class Heap:
    """Storage that is allocated anew for each case: nothing lies behind it but what the sanitizer watches."""

    def __init__(self) -> None:
        self.array = np.empty(0, np.uint8)

    def place(self, count: int, phase: int | None) -> np.ndarray:
        """A view that ends where the allocation ends; without a phase it starts there, too."""
        skipped = phase or 0
        self.array = np.empty(skipped + count, np.uint8)
        self.array[:] = 0x5A
        return self.array[skipped:]

    def freeze(self, frozen: bool) -> None:
        """The heap can not be frozen; the comparison of the input's bytes is the pages' job."""

    def is_clean(self, count: int) -> bool:
        """Whether the bytes before are there; the sanitizer watches those behind."""
        return bool((self.array[: len(self.array) - count] == 0x5A).all())


def build_and_run(op: str, cases: str) -> int:
    """All cases of a set on a new build of this tree; prints the last case, or what the sanitizers said."""
    with TemporaryDirectory() as folder:
        found = run(op, build(Path(folder), ROOT / "kernels" / "a65"), 1, cases)
    print(f"{len(found.stdout.splitlines()) - 1} calls", found.stdout.splitlines()[-1], found.stderr[:3000], sep="\n")
    return found.returncode


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(build_and_run(sys.argv[1], (*sys.argv[2:], "geometries")[0]))
    install(sys.argv[3])
    from tests.kernels.a65 import guard_pages

    watched = list(guard_pages.native_engines())  # numpy is not instrumented
    guard_pages.main(sys.argv[1], Heap(), Heap(), sys.argv[2], int(sys.argv[4]), watched)
