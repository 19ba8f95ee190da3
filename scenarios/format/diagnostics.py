"""Diagnostics: the errors of a scenario, each with its location, and the one exception that carries them all."""

from collections.abc import Iterable, Sequence

import attrs

from tessbed.scenarios.format.printable import escaped
from tessbed.sim.spelling import nearest_name

KeyPath = tuple[str | int, ...]

CODES = {
    "syntax": "the file is not TOML",
    "unknown_key": "an unknown key",
    "missing_key": "a required key is missing",
    "invalid_value": "a value of another kind, or beyond its limits",
    "no_such_file": "neither a file nor a name that ships with tessbed",
    "unreadable": "a file that can not be read, or is not text",
    "usage": "an option or an argument is wrong",
}
"""The codes of errors that admission does not name; its own are those of `ContractError`."""


LONGEST_TEXT = 1000
"""Characters of a message: several times what any needs that echoes no long value."""
LONGEST_KEY = 80
"""Characters of a key where a message names it."""
MOST_LINES = 100
"""So many errors are reported one by one, and the others as a number."""


def shortened(text: str, limit: int) -> str:
    """The text, with its middle left out where it is longer than `limit`."""
    if len(text) <= limit:
        return text
    tail = limit // 4
    return f"{text[: limit - tail - 3]}...{text[-tail:]}"


def _short_text(text: str) -> str:
    return shortened(text, LONGEST_TEXT)


@attrs.frozen
class Location:
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
    """One error: its place, and one line that says what was got, what was wanted, and the nearest right thing.

    The code is a stable word for programs: that of the refusal where admission refuses, else one of CODES.
    """

    place: Location
    text: str = attrs.field(converter=_short_text)
    code: str = "invalid_value"

    def __str__(self) -> str:
        return escaped(f"{self.place}: {self.text}")


class ScenarioError(ValueError):
    """A scenario that can not be run as written; `problems` holds every error found, in the order of the file.

    Each problem has a `place` (a file with line and column, or an option), a `text` and a stable `code`.

    >>> import tessbed
    >>> try:
    ...     tessbed.Scenario.load("luma", {"device.workers": 0})
    ... except tessbed.ScenarioError as error:
    ...     print(error.problems[0].place, error.problems[0].code)
    --set device.workers invalid_value
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(dict.fromkeys(problems), key=lambda problem: problem.place.order))
        super().__init__("\n".join(first_lines(self.problems)))


def first_lines(errors: Sequence[object]) -> list[str]:
    """The errors as text, a line each: the first hundred, and how many there are beside."""
    lines = [str(error) for error in errors[:MOST_LINES]]
    left = len(errors) - len(lines)
    return [*lines, f"... and {left:,} more error{'s' * (left != 1)}"] if left else lines


def option_place(option: str, key: str) -> Location:
    """The place of what an option says about a key, such as `--set device.workers`."""
    return Location(f"{option} {shortened(key, LONGEST_KEY)}")


def path_text(path: KeyPath) -> str:
    """The path as people write it: jobs[0].linear.strides_bytes[1]."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{shortened(step, LONGEST_KEY)}" for step in path)
    return text.removeprefix(".")


def alternatives(names: Iterable[str]) -> str:
    """`a, b or c`."""
    *head, last = names
    return f"{', '.join(head)} or {last}" if head else last


def closest(name: str, names: Iterable[str]) -> str | None:
    """The name most like `name`, if any is alike."""
    return nearest_name(name, names)


def nearest(name: str, names: Iterable[str]) -> str:
    """`; did you mean x?` for the name most like `name`, or nothing."""
    found = closest(name, names)
    return f"; did you mean {found}?" if found else ""
