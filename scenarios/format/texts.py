"""Texts: finds and reads the file that a user names: a file, a scenario that ships, a FIFO, or `-` for standard input.

What can be read only once (a pipe) is read once and kept, since a study reads its scenario more than once.
"""

import sys
from functools import cache
from pathlib import Path

from tessbed.scenarios.format.diagnostics import Location, Problem, ScenarioError, nearest
from tessbed.scenarios.shipped import catalogue, failure_cases

STDIN = "-"
RUN_SCENARIO = "scenario.toml"
"""The scenario in a run folder."""
MOST_BYTES = 1 << 28
"""A scenario of a million jobs is smaller; whatever is larger is another kind of file, or has no end."""


def is_text(name: str) -> bool:
    """True where there is something to read: standard input, a file, a pipe; no folder."""
    path = Path(name)
    return name == STDIN or path.is_file() or (path.exists() and not path.is_dir())


def find(name: str) -> Path:
    """The file of a path or of a catalogue name, of a run folder its scenario; `-` is itself.

    Raises ScenarioError with the nearest name.
    """
    path = Path(name)
    if is_text(name):
        return path
    if (path / RUN_SCENARIO).is_file():
        return path / RUN_SCENARIO
    known = catalogue()
    if name in known:
        return known[name]
    what = (
        "is a folder and no run folder, wanted a file"
        if path.is_dir()
        else "no such file, and no scenario of that name"
    )
    raise ScenarioError([Problem(Location(name), f"{what}{_hint(name, path.stem, known)}", "no_such_file")])


def _hint(name: str, stem: str, known: dict[str, Path]) -> str:
    if name in failure_cases():
        return f"; it is a failure case: tessbed drill {name}"
    return nearest(stem, known) or "; `tessbed list` shows the scenarios"


def read_text(path: Path, name: str, wanted: str = "is this a scenario file?") -> str:
    """The text of a file that messages call `name`. Raises ScenarioError where it can not be read.

    `wanted` is what to ask or advise where it is no text.
    """
    raw = _read_once(name, path) if name == STDIN or not path.is_file() else _read(name, path)
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        text = f"got the byte {raw[error.start]:#04x}, wanted UTF-8 text: {wanted}"
        raise ScenarioError([Problem(Location(name, line, column), text, "unreadable")]) from None


def _read(name: str, path: Path) -> bytes:
    try:
        if name == STDIN:
            raw = _standard_input()
        else:
            with path.open("rb") as file:
                raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise _unreadable(name, f"can not be read: {error.strerror}") from None
    if len(raw) > MOST_BYTES:
        raise _unreadable(name, f"got more than {MOST_BYTES:,} bytes, wanted a scenario file")
    return raw


_read_once = cache(_read)


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise OSError(0, "standard input is closed")
    return sys.stdin.buffer.read(MOST_BYTES + 1)


def _unreadable(name: str, text: str) -> ScenarioError:
    return ScenarioError([Problem(Location(name), text, "unreadable")])
