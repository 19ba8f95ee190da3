"""The progress of a long run: shown on a terminal alone, and gone when it is over."""

import os
import pty
import re
import select
import subprocess
import sys

LONG = ["jobs.*.backend=ev74", "jobs.0.shape=[300, 300, 16]", "jobs.0.tiled.tile=[1, 1, 1, 16]"]
SETTINGS = [word for setting in [*LONG, "jobs.0.tiled.axes=[-1, 0, 1, 2]"] for word in ("--set", setting)]


def shown_on_a_terminal(*arguments: str) -> str:
    """What a run with a terminal as stderr writes there."""
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "tessbed", "run", "luma", "--engine", "exact", *SETTINGS, *arguments]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=follower, env=environment)
    os.close(follower)
    said = b""
    while select.select([leader], [], [], 120)[0]:
        try:
            chunk = os.read(leader, 65536)
        except OSError:
            break
        if not chunk:
            break
        said += chunk
    os.close(leader)
    assert process.wait() == 0
    return said.decode()


def test_a_percentage_within_a_job() -> None:
    """A long job is announced, shows percentages that grow to 100 %, and its bar is erased."""
    said = shown_on_a_terminal()
    percentages = [int(found) for found in re.findall(r"(\d+)%", said)]
    assert "90,000 tiles, at least 90,000 bands" in said
    assert len(set(percentages)) > 2
    assert percentages == sorted(percentages)
    assert percentages[-1] == 100
    assert said.rstrip().endswith("\x1b[2K") or said.rstrip().endswith("\x1b[?25h")


def test_quiet() -> None:
    """With -q nothing is said and nothing shown."""
    assert shown_on_a_terminal("-q") == ""
