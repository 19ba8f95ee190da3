"""Streams: every byte that tessbed prints goes through here.

While a command runs, `sys.stdout` and `sys.stderr` are GuardedStreams. Such a stream knows what may become of a stream:

    what happens                            stdout                      stderr
    closed by the caller                    what is printed is dropped  the same
    its reader goes away                    exit 141, without a word    dropped; no exit code changes
    it can not be written (a full device)   exit 74 and a sentence      dropped; no exit code changes
    its encoding lacks a character          written as an escape        the same

People read what `echo` prints: it escapes whatever could play tricks on a terminal. Programs read documents: JSON is
ASCII, and text that is a file of its own (TOML, a man page) is UTF-8 wherever no terminal shows it.
"""

import errno
import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from tessbed.scenarios.format.printable import encodable, escaped

STDIN = "-"
"""The name of standard input, wherever a file is asked for."""


class ReaderGone(Exception):
    """Nobody reads our output any more."""


class OutputError(Exception):
    """Our output can not be written."""


class GuardedStream(io.TextIOWrapper):
    """A standard stream as text; `lost` says why it failed; from then on it discards output.

    Only its errors are handled here: what is buffered and what is written is the interpreter's own affair, which no
    Ctrl-C can leave half done.
    """

    def __init__(self, descriptor: int, *, vital: bool, encoding: str) -> None:
        raw = io.FileIO(descriptor, "w", closefd=False)
        eager = not vital or raw.isatty()
        super().__init__(io.BufferedWriter(raw), encoding, "backslashreplace", newline="", line_buffering=eager)
        self.vital = vital
        self.lost: Exception | None = None

    def write(self, text: str) -> int:
        """Write text. Raises ReaderGone or OutputError, once, for a vital stream."""
        try:
            return super().write(text)
        except OSError as error:
            self._lose(error)
            return len(text)

    def flush(self) -> None:
        """Write what is buffered; raises likewise."""
        try:
            super().flush()
        except OSError as error:
            self._lose(error)

    def write_bytes(self, raw: bytes) -> None:
        """Write bytes behind the text so far; raises likewise."""
        self.flush()
        try:
            self.buffer.write(raw)
            self.buffer.flush()
        except OSError as error:
            self._lose(error)

    def _lose(self, error: OSError) -> None:
        """Give what is buffered, and all that follows, somewhere to go."""
        gone = error.errno in (errno.EPIPE, errno.ECONNRESET)
        self.lost = ReaderGone() if gone else OutputError(error.strerror or str(error))
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), self.fileno())
        if self.vital:
            raise self.lost from None


@contextmanager
def guarded_streams() -> Iterator[GuardedStream | None]:
    """Put guards in front of the standard streams; gives that of stdout. Streams without a descriptor stay."""
    _hold_descriptors()
    before = sys.stdout, sys.stderr
    out, err = _guarded(before[0], vital=True), _guarded(before[1], vital=False)
    sys.stdout, sys.stderr = out or before[0], err or before[1]
    try:
        with _blocking(out), _blocking(err):
            yield out
            for guarded in filter(None, (out, err)):
                with suppress(ReaderGone, OutputError):
                    guarded.flush()
    finally:
        sys.stdout, sys.stderr = before


def _hold_descriptors() -> None:
    """Let no file that is opened later take the place, and the output, of a stream that the caller closed."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one


def _guarded(stream: TextIO | None, *, vital: bool) -> GuardedStream | None:
    """The guard of a stream; output to a stream which the caller closed is discarded."""
    if stream is None:
        return GuardedStream(os.open(os.devnull, os.O_WRONLY), vital=vital, encoding="utf-8")
    try:
        stream.flush()
        return GuardedStream(stream.fileno(), vital=vital, encoding=stream.encoding)
    except (OSError, ValueError):
        return None


@contextmanager
def _blocking(guarded: GuardedStream | None) -> Iterator[None]:
    """Wait for a slow reader, although whoever started us left the stream non-blocking."""
    if guarded is None or os.get_blocking(guarded.fileno()):
        yield
        return
    os.set_blocking(guarded.fileno(), True)
    try:
        yield
    finally:
        os.set_blocking(guarded.fileno(), False)


def echo(*lines: str, err: bool = False, **style: Any) -> None:
    """Print lines for a person, each escaped; styled (as click.style) where colours may be used."""
    stream = sys.stderr if err else sys.stdout
    texts = [escaped(line) for line in lines] or [""]
    if style and colour(stream):
        import click

        texts = [click.style(text, **style) for text in texts]
    _write(stream, "".join(f"{text}\n" for text in texts))


def echo_text(text: str, *, err: bool = False) -> None:
    """Print text of many lines for a person."""
    echo(*text.removesuffix("\n").split("\n"), err=err)


def echo_json(document: Any) -> None:
    """Print one JSON document: ASCII, and so valid in any encoding. What is no Unicode in it is escaped as in text."""
    text = json.dumps(document, indent=2)
    if "\\ud" in text:
        text = json.dumps(encodable(document), indent=2)
    _write(sys.stdout, text + "\n")


def echo_file(text: str) -> None:
    """Print text that is a file of its own: as UTF-8, byte for byte, but where a terminal shows it."""
    if sys.stdout.isatty():
        _write(sys.stdout, escaped(text, keep="\n\t"))
        return
    raw = text.encode("utf-8", "surrogateescape")
    if isinstance(sys.stdout, GuardedStream):
        sys.stdout.write_bytes(raw)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(raw)


def _write(stream: TextIO, text: str) -> None:
    stream.write(text)
    stream.flush()


def colour(stream: Any = None) -> bool:
    """True where colours may be used: a terminal, and no NO_COLOR in the environment."""
    return not os.environ.get("NO_COLOR") and (stream or sys.stdout).isatty()
