"""Types of options and arguments: what a value must be, how a wrong one is reported, and how a shell completes it."""

from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import click

from tessbed.commands.suggest import files, key_values, packets, scenarios, suggested_failure_cases, varied
from tessbed.sim.spelling import nearest_name


class Number(click.ParamType):
    """An integer, or with `kind=float` any number, from `low` to `high`."""

    def __init__(self, low: int, high: int | None = None, kind: type = int) -> None:
        self.low, self.high, self.kind, self.name = low, high, kind, "integer" if kind is int else "number"

    @property
    def wanted(self) -> str:
        """What a value must be, in words."""
        article = "an" if self.kind is int else "a"
        limits = f"from {self.low}" + (f" to {self.high}" if self.high is not None else "")
        return f"{article} {self.name} {limits}"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; fails for text that is none, and for a number beyond the limits."""
        try:
            number = self.kind(value)
        except ValueError:
            number = None
        if number is None or not isfinite(number) or number < self.low or number > (self.high or number):
            self.fail(f"got {_quoted(value)}, wanted {self.wanted}", param, ctx)
        return number


class Folder(click.Path):
    """The name of a folder to write, which an empty word is not: that would be the folder that one is in."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The folder's path."""
        if value == "":
            self.fail('got "", wanted the name of a folder', param, ctx)
        return super().convert(value, param, ctx)


class OneOf(click.Choice):
    """One of some names."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The name; fails with the names and the nearest one."""
        if value not in self.choices:
            near = nearest_name(value, self.choices)
            *head, last = (f'"{choice}"' for choice in self.choices)
            hint = f"; did you mean {near}?" if near else ""
            self.fail(f"got {_quoted(value)}, wanted {', '.join(head)} or {last}{hint}", param, ctx)
        return value


class CompletableText(click.ParamType):
    """Text whose values a shell completes by `suggest`."""

    name = "text"

    def __init__(self, suggest: Any) -> None:
        self.suggest = suggest

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The text as it is."""
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> Sequence[Any]:  # type: ignore[override]
        """What begins so."""
        return self.suggest(ctx, incomplete)


def _quoted(value: Any) -> str:
    text = str(value)
    return f'"{text if len(text) <= 60 else text[:57] + "..."}"'


SCENARIO = CompletableText(scenarios)
PACKET = CompletableText(packets)
SETTING = CompletableText(key_values)
VARIED = CompletableText(varied)
FAILURE_CASE = CompletableText(suggested_failure_cases)
FILE = CompletableText(files)
