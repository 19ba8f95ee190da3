"""Streams: the one door of every byte that tessbed prints.

While a verb runs, `sys.stdout` and `sys.stderr` end in a Door. It knows what may become of a stream:

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
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, TextIO

from tessbed.scenarios.printable import encodable, escaped

STDIN = "-"
"""The name of standard input, wherever a file is asked for."""


class ReaderGone(Exception):
    """Nobody reads our output any more."""


class OutputError(Exception):
    """Our output can not be written."""


class Door(io.RawIOBase):
    """A standard stream at its lowest level; `lost` once it can not be written, and from then on it swallows."""

    def __init__(self, descriptor: int | None, *, vital: bool) -> None:
        self.descriptor, self.vital = descriptor, vital
        self.lost: Exception | None = None

    def writable(self) -> bool:
        """Yes."""
        return True

    def isatty(self) -> bool:
        """True where a terminal shows what is written."""
        return self.descriptor is not None and os.isatty(self.descriptor)

    def fileno(self) -> int:
        """The descriptor. Raises OSError where the caller closed the stream."""
        if self.descriptor is None:
            raise io.UnsupportedOperation("the stream is closed")
        return self.descriptor

    def write(self, raw: Any) -> int:
        """Write some of the bytes. Raises ReaderGone or OutputError, once, for a vital stream."""
        if self.descriptor is None or self.lost:
            return len(raw)
        try:
            return self._written(self.descriptor, raw)
        except OSError as error:
            gone = error.errno in (errno.EPIPE, errno.ECONNRESET)
            self.lost = ReaderGone() if gone else OutputError(error.strerror or str(error))
            if self.vital:
                raise self.lost from None
            return len(raw)

    def _written(self, descriptor: int, raw: Any) -> int:
        """As os.write, and patient where whoever started us left the stream non-blocking."""
        while True:
            try:
                return os.write(descriptor, raw)
            except BlockingIOError:
                select.select([], [descriptor], [])


@contextmanager
def doors() -> Iterator[Door]:
    """Put doors in front of the standard streams; gives that of stdout. Streams without a descriptor stay."""
    _hold_descriptors()
    before = sys.stdout, sys.stderr
    out, err = _door(before[0], vital=True), _door(before[1], vital=False)
    sys.stdout, sys.stderr = _through(out, before[0]), _through(err, before[1])
    try:
        yield out or Door(None, vital=True)
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(ReaderGone, OutputError):
                stream.flush()
        sys.stdout, sys.stderr = before


def _hold_descriptors() -> None:
    """Let no file that is opened later take the place, and the output, of a stream that the caller closed."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one


def _door(stream: TextIO | None, *, vital: bool) -> Door | None:
    if stream is None:
        return Door(None, vital=vital)
    try:
        stream.flush()
        return Door(stream.fileno(), vital=vital)
    except (OSError, ValueError):
        return None


def _through(door: Door | None, stream: TextIO | None) -> TextIO:
    """The text stream that writes through the door."""
    if door is None:
        assert stream is not None
        return stream
    encoding = stream.encoding if stream is not None else "utf-8"
    buffered: Any = io.BufferedWriter(door)
    eager = door.isatty() or not door.vital
    return io.TextIOWrapper(buffered, encoding, "backslashreplace", newline="", line_buffering=eager)


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
    sys.stdout.flush()
    buffer: BinaryIO = sys.stdout.buffer
    buffer.write(text.encode("utf-8", "surrogateescape"))
    buffer.flush()


def _write(stream: TextIO, text: str) -> None:
    stream.write(text)
    stream.flush()


def colour(stream: Any = None) -> bool:
    """True where colours may be used: a terminal, and no NO_COLOR in the environment."""
    return not os.environ.get("NO_COLOR") and (stream or sys.stdout).isatty()
