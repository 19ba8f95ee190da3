"""Spans: the one model of a timeline, which every writer of a file and the profile consume.

A timeline has *lanes*. In a lane spans nest: a span begins when all before it have ended, or inside one that has not,
and ends no later than that. They come in the order of their begins, a span before what it contains; none is empty, and
what has no extent is an *instant*. A *level* is a counter: its samples come in the order of ticks. Lanes do not depend
on each other: what comes later in the file may lie earlier on the clock. Flows are numbers that a span or an instant
shares with the next one that they lead to: `starts` has those that lead on, `ends` those that lead no further.

All ticks are absolute: one zero for the host, the device and every job.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

Value = int | str


class Address(int):
    """An integer that is shown in hexadecimal."""


class Fields(NamedTuple):
    """The names of a span's arguments, and of each its kind: "int", "address" or "text"."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]


NOTHING = Fields((), ())


def argument_fields(*fields: str) -> Fields:
    """Fields such as "tile", "input:address" or "tiles:text"."""
    parts = [field.partition(":") for field in fields]
    return Fields(tuple(name for name, _, _ in parts), tuple(kind or "int" for _, _, kind in parts))


@lru_cache(maxsize=1024)
def joined(some: Fields, more: Fields) -> Fields:
    """The arguments of both."""
    return Fields(some.names + more.names, some.kinds + more.kinds)


@lru_cache(maxsize=1024)
def fields_of(names: tuple[str, ...], types: tuple[type, ...]) -> Fields:
    """The fields of values of these types."""
    return Fields(names, tuple("text" if issubclass(kind, str) else "int" for kind in types))


class TimelineSpan(NamedTuple):
    """What goes on in `lane` from `begin` to before `end`; with equal ticks it is an instant."""

    lane: int
    name: str
    begin: int
    end: int
    fields: Fields = NOTHING
    values: Sequence[Value] = ()
    starts: Sequence[int] = ()
    ends: Sequence[int] = ()

    @property
    def arguments(self) -> dict[str, Value]:
        """The arguments by name."""
        return dict(zip(self.fields.names, self.values, strict=True))


class Sink(Protocol):
    """Takes a timeline as it comes, and writes it or adds it up."""

    slices: int
    """Spans and instants so far."""

    def lane(self, path: tuple[str, ...], about: str = "") -> int:
        """The number of a new lane; `path` says where it is shown: the groups that it is in, then its own name."""
        ...

    def level(self, path: tuple[str, ...], unit: str) -> int:
        """The number of a new counter."""
        ...

    def span(self, span: TimelineSpan) -> None:
        """The next span or instant of its lane."""
        ...

    def sample(self, level: int, tick: int, value: int) -> None:
        """A counter has this value from `tick` on."""
        ...

    def close(self) -> None:
        """Nothing more comes."""
        ...


class NestingError(Exception):
    """A span that does not nest in its lane: a bug of who made the timeline."""


class OpenSpans:
    """The spans of one lane that have not ended yet, the outermost first; the check that they nest."""

    def __init__(self) -> None:
        self.ends: list[int] = []
        self.reached = 0

    def place(self, span: TimelineSpan) -> list[int]:
        """Let what ends by the begin of `span` end, and put it inside the rest.

        Returns the ends of what ended, innermost first. Raises NestingError.
        """
        begin, ends = span.begin, self.ends
        if begin < self.reached:
            raise NestingError(f"{span} begins before tick {self.reached}, which its lane has reached")
        self.reached, over = begin, []
        while ends and ends[-1] <= begin:
            over.append(ends.pop())
        if span.end > begin:
            if ends and span.end > ends[-1]:
                raise NestingError(f"{span} ends after the span around it, at {ends[-1]}")
            ends.append(span.end)
        return over

    def rest(self) -> list[int]:
        """The ends of all that is open, innermost first."""
        return [*reversed(self.ends)]
