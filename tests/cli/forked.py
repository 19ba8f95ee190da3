"""Runs command lines in forks of one process that has imported everything: real processes, at a tenth of the cost.

A job on stdin is a line of JSON: arguments, the folder, the streams' encoding, and for stdout and stderr what they are:
`pipe`, `gone` (a pipe that nobody reads), `closed`, `full`, `tty`; stderr may be `out`, the same as stdout. The answer
is a line of JSON: exit code, and what both got. `tests.cli.forks` asks.
"""

import gc
import io
import json
import os
import pty
import sys
import threading
from importlib import import_module
from importlib.util import find_spec
from pkgutil import walk_packages
from typing import Any

import tessbed
from tessbed.cli import main

LIBRARIES = ("einops", "scipy.optimize", "scipy.stats", "tree_sitter_toml")
"""What commands import on first use, where it is installed."""


def streams(kind: str) -> tuple[int | None, int | None]:
    """The descriptor that a child gets for such a stream, and the one to read it from."""
    if kind == "closed":
        return None, None
    if kind == "full":
        return os.open("/dev/full", os.O_WRONLY), None
    if kind == "tty":
        ours, theirs = pty.openpty()
        return theirs, ours
    reading, writing = os.pipe()
    if kind == "gone":
        os.close(reading)
        return writing, None
    return writing, reading


def run(job: dict[str, Any]) -> dict[str, Any]:
    """One command line in a fork."""
    first = streams(job["out"])
    ends = [first, (first[0], None) if job["err"] == "out" else streams(job["err"])]
    child = os.fork()
    if child == 0:
        become(job, [theirs for theirs, _ in ends])
    for theirs in {theirs for theirs, _ in ends if theirs is not None}:
        os.close(theirs)
    texts = ["", ""]
    readers = [
        threading.Thread(target=drain, args=(ours, texts, i)) for i, (_, ours) in enumerate(ends) if ours is not None
    ]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    return {"code": os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), "out": texts[0], "err": texts[1]}


def drain(descriptor: int, texts: list[str], index: int) -> None:
    """Read all; a terminal that is closed ends in an error."""
    raw = b""
    try:
        while chunk := os.read(descriptor, 1 << 16):
            raw += chunk
    except OSError:
        pass
    os.close(descriptor)
    texts[index] = raw.decode("latin-1")


def become(job: dict[str, Any], descriptors: list[int | None]) -> None:
    """What the interpreter does before it runs a program, then the program; does not return."""
    code = 99
    try:
        for number, descriptor in zip((1, 2), descriptors, strict=True):
            if descriptor is None:
                os.close(number)
            else:
                os.dup2(descriptor, number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.stdout, sys.stderr = (
            None if descriptor is None else stream(number, job["encoding"])
            for number, descriptor in zip((1, 2), descriptors, strict=True)
        )
        os.chdir(job["folder"])
        os.environ.update({"COLUMNS": "100", "TERM": "xterm"})
        arguments = [os.fsdecode(argument.encode("latin-1")) for argument in job["arguments"]]
        sys.argv = ["tessbed", *arguments]
        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 98
    finally:
        os._exit(code)


def stream(number: int, encoding: str) -> io.TextIOWrapper:
    """A stream as the interpreter makes it: a line of stderr is written at once."""
    raw = io.FileIO(number, "w", closefd=False)
    return io.TextIOWrapper(raw, encoding, line_buffering=number == 2)


if __name__ == "__main__":
    modules = (module.name for module in walk_packages(tessbed.__path__, "tessbed."))
    there = (name for name in LIBRARIES if find_spec(name.partition(".")[0]))
    for name in (*(name for name in modules if not name.endswith("__main__")), *there):
        import_module(name)
    gc.collect()
    gc.freeze()  # or the first collection in each fork copies the pages of all modules
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)
