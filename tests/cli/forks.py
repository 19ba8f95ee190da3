"""Command lines, each in a fork of one process that has imported everything (`tests.cli.forked`).

What judges the output of many commands forks them: to start one takes half a second of imports. What is about starting
itself (Ctrl-C in the middle of imports, shells, `python -m`) starts a process.
"""

import atexit
import json
import os
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
INHERITED = ("PATH", "HOME", "TMPDIR")
"""A reader's shell has no say in what commands print: pytest alone prints more where CI is set."""
OF_A_SHELL = frozenset("|&;<>()$`*?[#~!{}\n")
"""What a shell would make something of."""


def environment() -> dict[str, str]:
    """The environment of commands whose output is compared."""
    return {name: os.environ[name] for name in INHERITED if name in os.environ} | {"PYTHONPATH": str(ROOT)}


@cache
def _server() -> subprocess.Popen[str]:
    """Ends when its stdin does."""
    line, pipe = [sys.executable, "-m", "tests.cli.forked"], subprocess.PIPE
    server = subprocess.Popen(line, cwd=ROOT, env=environment(), stdin=pipe, stdout=pipe, text=True)
    atexit.register(server.communicate)
    return server


def fork(
    *arguments: str, folder: Path | str, out: str = "pipe", err: str = "pipe", encoding: str = "utf-8"
) -> dict[str, Any]:
    """One command line in that folder: its exit code (`code`), and what came from its streams (`out`, `err`).

    Streams are `pipe`, `gone` (a pipe that nobody reads), `closed`, `full`, `tty`; `err` may be `out`: the same one.
    Bytes of arguments and answers are characters of latin-1.
    """
    server = _server()
    assert server.stdin
    assert server.stdout
    job = {"arguments": arguments, "folder": str(folder), "out": out, "err": err, "encoding": encoding}
    server.stdin.write(json.dumps(job) + "\n")
    server.stdin.flush()
    return json.loads(server.stdout.readline())


def words_of(command: str) -> list[str] | None:
    """The arguments of a plain `tessbed ...`; None where a shell has more to do than to split words."""
    words = [] if OF_A_SHELL & set(command) else shlex.split(command)
    return words[1:] if words[:1] == ["tessbed"] else None


def merged(*arguments: str, folder: Path | str) -> str:
    """All that a command prints, on both streams."""
    return fork(*arguments, folder=folder, err="out")["out"].encode("latin-1").decode("utf-8")


def printed(command: str, folder: str) -> str:
    """What the arguments of a command in one line make it print: stdout, then stderr."""
    done = fork(*shlex.split(command), folder=folder)
    return (done["out"] + done["err"]).encode("latin-1").decode("utf-8")
