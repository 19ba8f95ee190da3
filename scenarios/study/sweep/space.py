"""Space: what `--vary` or `--over` spans, and its points in a stated order: the product, the last parameter fastest.

A random sweep takes distinct points of the same product, drawn by a seed, in the order of the draw.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import islice, product
from math import isfinite, prod
from random import Random
from typing import Any

import attrs

from tessbed.scenarios.format.diagnostics import Location, Problem, ScenarioError
from tessbed.scenarios.format.overrides import dotted

RANGE = re.compile(r"(-?\d{1,19})\.\.(-?\d{1,19})(?:\.\.(\d{1,19}))?", re.ASCII)
MOST_VALUES = 10_000
Setting = tuple[str, str]  # key, value, both as `--set` takes them


@attrs.frozen
class SweptParameter:
    """One parameter and the values that it takes, as text."""

    key: str
    values: tuple[str, ...]


@attrs.frozen
class Space:
    """The product of all axes."""

    axes: tuple[SweptParameter, ...]

    @property
    def size(self) -> int:
        """Number of points."""
        return prod(len(axis.values) for axis in self.axes)

    def places(self, number: int) -> tuple[int, ...]:
        """Where the values of point `number` are on their axes."""
        found = []
        for axis in reversed(self.axes):
            number, place = divmod(number, len(axis.values))
            found.append(place)
        return tuple(reversed(found))

    def number(self, places: Sequence[int]) -> int:
        """The number of the point whose values are there."""
        number = 0
        for axis, place in zip(self.axes, places, strict=True):
            number = number * len(axis.values) + place
        return number

    def point(self, number: int) -> tuple[Setting, ...]:
        """Point `number` in order."""
        return tuple((axis.key, axis.values[place]) for axis, place in zip(self.axes, self.places(number), strict=True))

    def numbers(self, count: int | None, seed: int) -> Sequence[int]:
        """All points by number, or `count` distinct ones drawn by `seed`."""
        everything, draw = range(self.size), Random(seed)
        if count is None or count >= self.size:
            return everything
        if self.size <= sys.maxsize:
            return draw.sample(everything, count)
        drawn: dict[int, None] = {}
        while len(drawn) < count:
            drawn[draw.randrange(self.size)] = None
        return list(drawn)

    def points(self, count: int | None, seed: int) -> Iterator[tuple[Setting, ...]]:
        """All points, or `count` distinct ones drawn by `seed`."""
        numbers = self.numbers(count, seed)
        if numbers == range(self.size):
            return product(*([(axis.key, value) for value in axis.values] for axis in self.axes))
        return map(self.point, numbers)


def space_of(points: Sequence[tuple[Setting, ...]]) -> Space:
    """The space of the values that some points have: what a draw needs of the space that it was drawn from."""
    values: dict[str, dict[str, None]] = {}
    for point in points:
        for key, value in point:
            values.setdefault(key, {})[value] = None
    return Space(tuple(SweptParameter(key, tuple(found)) for key, found in values.items()))


def parse_space(varied: Sequence[str], option: str = "--vary") -> Space:
    """The space of the KEY=VALUES of such options. Raises ScenarioError with every error."""
    axes, problems = [], []
    for text in varied:
        key, equals, values = text.partition("=")
        found = tuple(islice(_values(values), MOST_VALUES + 1))
        if len(found) > MOST_VALUES:
            advice = f"wanted {MOST_VALUES:,} values at most: a range may have a step, as in 0..{MOST_VALUES * 10}..10"
            problems.append(Problem(Location(option), f'got "{text}", {advice}'))
        elif not equals or not key.strip() or not found:
            wanted = "wanted KEY=VALUES, such as device.workers=1..16 or device.slots=1,2,4"
            problems.append(Problem(Location(option), f'got "{text}", {wanted}'))
        elif dotted(key.strip()) in [dotted(axis.key) for axis in axes]:
            problems.append(Problem(Location(f"{option} {key.strip()}"), "given twice, wanted once with all values"))
        else:
            axes.append(SweptParameter(key.strip(), tuple(dict.fromkeys(found))))
    if problems:
        raise ScenarioError(problems)
    return Space(tuple(axes))


def _values(text: str) -> Iterator[str]:
    """The values of a comma list; 1..16 is a range with both ends, 1..16..5 one with a step."""
    for item in _split(text):
        match = RANGE.fullmatch(item)
        if match:
            low, high, step = int(match[1]), int(match[2]), int(match[3] or 1)
            if step:
                yield from map(str, range(low, high + 1, step))
        elif item:
            yield item


def _split(text: str) -> Iterator[str]:
    """Items between commas outside brackets, braces and quotes."""
    depth, quote, item = 0, "", ""
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        depth += (char in "[{") - (char in "]}")
        if char == "," and not depth and not quote:
            yield item.strip()
            item = ""
        else:
            item += char
    yield item.strip()


def settings_of(point: Sequence[Setting]) -> list[str]:
    """The point as `--set` options."""
    return [f"{key}={value}" for key, value in point]


@lru_cache(maxsize=4096)
def plain(value: str) -> Any:
    """A value for a table: a number where it is one that a table can hold."""
    for kind in (int, float):
        with suppress(ValueError):
            number = kind(value)
            return number if isfinite(number) else value
    return value
