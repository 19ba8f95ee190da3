"""Compiles the rows for the A65 with Clang, which the package ziglang brings along."""

import hashlib
import subprocess
import sys
from pathlib import Path

SOURCES = Path(__file__).parents[4] / "kernels" / "a65"
HERE = Path(__file__).parent
TARGET = "aarch64-linux-musl"
CPU = "cortex_a65"
PROGRAM = "rows.elf"
FLAGS = ("-O2", "-ffp-contract=off", "-fno-sanitize=all", "-g0", "-Wall", "-Wextra", "-Werror")


def zig(*arguments: str) -> str:
    """What the compiler prints; CalledProcessError, with its messages, where it fails."""
    command = [sys.executable, "-m", "ziglang", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout


def compile_source(source: Path, target: Path, *flags: str, sources: Path = SOURCES) -> None:
    """An object file of one source; `flags` may name another machine, or ask for assembly by "-S"."""
    where = ("-target", TARGET, f"-mcpu={CPU}", f"-I{sources}")
    zig("cc", *where, *FLAGS, "-c", *flags, str(source), "-o", str(target))


def build(folder: Path, sources: Path = SOURCES) -> Path:
    """A program at fixed addresses, with the symbols of rows.c: nothing to relocate, no library."""
    rows, memory, program = folder / "rows.o", folder / "memory.o", folder / PROGRAM
    compile_source(HERE / "rows.c", rows, sources=sources)
    compile_source(HERE / "memory.c", memory, "-fno-builtin")
    zig("cc", "-target", TARGET, "-nostdlib", "-static", "-Wl,-e,rows_run", str(rows), str(memory), "-o", str(program))
    return program


def sources_sha256() -> str:
    """The hash of everything that decides the rows' code: the C sources and the compiler's options."""
    digest = hashlib.sha256()
    for path in (*sorted(SOURCES.glob("_*.h")), HERE / "rows.c", HERE / "memory.c"):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    digest.update(" ".join((TARGET, CPU, *FLAGS)).encode())
    return digest.hexdigest()
