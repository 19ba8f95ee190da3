"""What only a real process shows: pipes that close, interrupts, terminals."""

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.cli.conftest import HEAD

TESSBED = (sys.executable, "-m", "tessbed")


def test_broken_pipe() -> None:
    """A reader that goes away is no error of ours: no traceback, and the exit code of a closed pipe."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([*TESSBED, "list"], stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


def test_no_stdout() -> None:
    """A caller that closed stdout wants the exit code alone."""
    closed = subprocess.run(
        ["sh", "-c", '"$0" -m tessbed list >&-', sys.executable], stderr=subprocess.PIPE, text=True, check=False
    )
    assert (closed.returncode, closed.stderr) == (0, "")


def test_interrupt(tmp_path: Path) -> None:
    """Ctrl-C in the middle of a run ends it with 130; its last line is one word."""
    file = tmp_path / "long.toml"
    job = HEAD.partition("[[jobs]]")[2].replace("[4, 6, 8]", "[1024, 1024, 64]")
    file.write_text('name = "long"\n' + "".join("[[jobs]]" + job.replace('"head"', f'"{i}"') for i in range(9)))
    folder = tmp_path / "run"
    process = subprocess.Popen(
        [*TESSBED, "run", str(file), "-o", str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not folder.is_dir():
        time.sleep(0.02)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err.splitlines()[-1]) == (130, "", "interrupted")


def _on_a_terminal(file: Path, **environment: str) -> bytes:
    """What a terminal sees of a run: stdout and stderr."""
    ours, theirs = pty.openpty()
    variables = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | environment
    process = subprocess.Popen([*TESSBED, "run", str(file)], stdout=theirs, stderr=theirs, env=variables)
    os.close(theirs)
    seen = b""
    try:
        while chunk := os.read(ours, 4096):
            seen += chunk
    except OSError:
        pass
    os.close(ours)
    assert process.wait() == 0
    return seen


def test_colour(tmp_path: Path) -> None:
    """A terminal gets a coloured verdict, and NO_COLOR takes the colour away."""
    file = tmp_path / "head.toml"
    file.write_text(HEAD)
    seen = _on_a_terminal(file, TERM="xterm")
    assert b"\x1b[32m" in seen
    assert b"\x1b[32m" not in _on_a_terminal(file, TERM="xterm", NO_COLOR="1")
    piped = subprocess.run([*TESSBED, "run", str(file)], capture_output=True, check=True)
    assert b"\x1b" not in piped.stdout + piped.stderr
