"""Source lines: where in a user's file something was asked for, taken when it is asked for.

A line that is looked up later is another one: a generator has gone on by then. A frame is a user's unless its file
belongs to the Python library or to a package that a kernel is run by.
"""

import linecache
import os
import sys
from functools import lru_cache
from types import CodeType, FrameType, GeneratorType, TracebackType
from typing import Any, NamedTuple

OURS = os.path.dirname(os.path.dirname(__file__)) + os.sep
DRIVER = os.path.join(os.path.dirname(__file__), "user_code", "guarded_body.py")
LIBRARY = os.path.dirname(os.__file__) + os.sep
INSTALLED = os.sep + "site-packages" + os.sep
PACKAGES = tuple(f"{INSTALLED}{name}{os.sep}" for name in ("numpy", "simpy", "attr", "attrs"))


class SourceLine(NamedTuple):
    """A line of a file, counted from 1, and the function it is in."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}:{self.line}"


def line_above(depth: int = 1) -> SourceLine | None:
    """The innermost line of a user's code that led here, `depth` frames up or more; None where there is none.

    Whoever started the simulation is a user, too: frames above the one that drives a worker's body do not count.
    """
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = None if frame.f_code.co_filename == DRIVER else frame.f_back
    return None if frame is None else _line(frame.f_code, frame.f_lineno)


def line_of(generator: Any) -> SourceLine | None:
    """The line at which a generator is suspended: the innermost of a user's that it delegates to."""
    found = None
    while isinstance(generator, GeneratorType) and generator.gi_frame is not None:
        if is_users(generator.gi_code.co_filename):
            found = _line(generator.gi_code, generator.gi_frame.f_lineno)
        generator = generator.gi_yieldfrom
    return found


def lines_of(trace: TracebackType | None) -> tuple[SourceLine, ...]:
    """The lines of a user's code in a traceback, outermost first."""
    lines = []
    while trace is not None:
        if is_users(trace.tb_frame.f_code.co_filename):
            lines.append(_line(trace.tb_frame.f_code, trace.tb_lineno))
        trace = trace.tb_next
    return tuple(lines)


def first_line(function: Any) -> SourceLine | None:
    """Where a function is defined; None for what has no code."""
    code = getattr(function, "__code__", None)
    return _line(code, code.co_firstlineno) if isinstance(code, CodeType) else None


def snippet(line: SourceLine) -> str:
    """The text of a line without its indentation; "" where the file can not be read."""
    return linecache.getline(line.file, line.line).strip()


@lru_cache(maxsize=4096)
def is_users(file: str) -> bool:
    """Whether a file holds a user's code."""
    if file.startswith((OURS, "<frozen")) or any(package in file for package in PACKAGES):
        return False
    return not file.startswith(LIBRARY) or INSTALLED in file


@lru_cache(maxsize=4096)
def _line(code: CodeType, line: int) -> SourceLine:
    return SourceLine(code.co_filename, line, code.co_name)
