"""Problems: the mistakes of a scenario, each with its place, and the one error that carries them all."""

import difflib
from collections.abc import Iterable, Sequence

import attrs

KeyPath = tuple[str | int, ...]


@attrs.frozen
class Place:
    """Where a value was written: a file with line and column (both from 1), or an option such as `--set name`."""

    source: str
    line: int = 0
    column: int = 0

    @property
    def order(self) -> tuple[str, int, int]:
        """What places are sorted by."""
        return self.source, self.line, self.column

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}" if self.line else self.source


@attrs.frozen
class Problem:
    """One mistake: its place, and one line that says what was got, what was wanted, and the nearest right thing."""

    place: Place
    text: str

    def __str__(self) -> str:
        return _printable(f"{self.place}: {self.text}")


def _printable(text: str) -> str:
    """The text with everything escaped that could play tricks on a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class ScenarioError(ValueError):
    """A scenario that can not be run as written; `problems` holds every mistake found, in the order of the file."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(dict.fromkeys(problems), key=lambda problem: problem.place.order))
        super().__init__("\n".join(map(str, self.problems)))


def path_text(path: KeyPath) -> str:
    """The path as people write it: jobs[0].linear.strides_bytes[1]."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def alternatives(names: Iterable[str]) -> str:
    """`a, b or c`."""
    *head, last = names
    return f"{', '.join(head)} or {last}" if head else last


def closest(name: str, names: Iterable[str]) -> str | None:
    """The name most like `name`, if any is alike."""
    known = {entry.casefold(): entry for entry in names}
    found = difflib.get_close_matches(name.casefold(), known, n=1)
    return known[found[0]] if found else None


def nearest(name: str, names: Iterable[str]) -> str:
    """`; did you mean x?` for the name most like `name`, or nothing."""
    found = closest(name, names)
    return f"; did you mean {found}?" if found else ""
