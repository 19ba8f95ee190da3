"""The reader: walks a source by the table of keys and collects every error, whatever its kind."""

import re
from typing import Any

import attrs

from tessbed.scenarios.format.diagnostics import (
    KeyPath,
    Location,
    Problem,
    alternatives,
    closest,
    nearest,
    option_place,
    path_text,
)
from tessbed.scenarios.format.schema_keys import Key, Kind
from tessbed.scenarios.format.toml_source import Source

ADMISSION_CODE = re.compile(r"\[([a-z0-9_]+)\]$")
HINTED = 100
"""So many unknown keys of a table are compared with those that it has; whoever has more has another kind of file."""


@attrs.define
class Reader:
    """A source being read, and the problems found so far with the paths that they concern."""

    source: Source
    problems: list[Problem] = attrs.field(factory=list)
    invalid: set[KeyPath] = attrs.field(factory=set)
    around: set[KeyPath] = attrs.field(factory=set)

    def report_error(self, path: KeyPath, text: str, place: Location | None = None, code: str = "") -> None:
        """Note a problem of the value at `path` (or at `place`, for its key); admission's texts end in their code."""
        self.mark_invalid(path)
        place = place or self.source.place(path)
        options = option_place("--set", ".".join(map(str, path))), option_place("--arg", str(path[-1]) if path else "")
        said = place in (*options, Location("--seed"))
        named = ADMISSION_CODE.search(text)
        code = code or (named[1] if named else "invalid_value")
        self.problems.append(Problem(place, text if said else f"{path_text(path)}: {text}", code))

    def report_key_error(self, path: KeyPath, text: str) -> None:
        """Note that the key at `path` should not be there, whatever its value."""
        self.report_error(path, text, self.source.key_place(path))

    def written_at(self, path: KeyPath) -> dict[str, Any]:
        """The table at `path` as it is written, right or wrong; empty where there is none."""
        value: Any = self.source.values
        for step in path:
            if isinstance(value, dict):
                value = value.get(step)
            else:
                value = value[int(step)] if isinstance(value, list) else None
        return value if isinstance(value, dict) else {}

    def mark_invalid(self, path: KeyPath) -> None:
        """Note that the value at `path` is not to be used."""
        self.invalid.add(path)
        self.around.update(path[:depth] for depth in range(len(path)))

    def sound(self, path: KeyPath) -> bool:
        """True where nothing is wrong at, around or under `path`."""
        return path not in self.around and not any(path[:depth] in self.invalid for depth in range(len(path) + 1))

    def table(self, path: KeyPath, values: Any, keys: tuple[Key, ...]) -> dict[str, Any]:
        """The table's values by key, defaults filled in; a key that is wrong or missing is reported and left out.

        A table inside stays, without those of its keys that are wrong.
        """
        if not isinstance(values, dict):
            self.report_error(path, f"got {describe_value(values)}, wanted a table with {names_of(keys)}")
            return {}
        misspelt = self._unknown_names(path, values, keys)
        found = {}
        for key in keys:
            here = (*path, key.name)
            if key.name in values:
                found[key.name] = self._value(here, values[key.name], key)
            elif key.name in misspelt:
                self.mark_invalid(here)
            else:
                found[key.name] = key.default
                if key.required:
                    self.report_error(here, f"missing, wanted {wanted(key)}", self.source.place(path), "missing_key")
        tables = [key.name for key in keys if key.table]
        return {name: value for name, value in found.items() if name in tables or self.sound((*path, name))}

    def _unknown_names(self, path: KeyPath, values: dict[str, Any], keys: tuple[Key, ...]) -> list[str]:
        """Report every unknown key; returns the absent keys that they were probably meant to be."""
        names = [key.name for key in keys]
        meant = []
        left = [name for name in names if name not in values]
        for count, name in enumerate(name for name in values if name not in names):
            here = (*path, name)
            absent = closest(name, left) if count < HINTED else None
            meant += [absent] if absent else []
            hint = f"; did you mean {absent}?" if absent else nearest(name, names) if count < HINTED else ""
            place = self.source.key_place(here)
            self.report_error(here, f"unknown key, wanted {names_of(keys)}{hint}", place, "unknown_key")
        return meant

    def _value(self, path: KeyPath, value: Any, key: Key) -> Any:
        if key.many:
            return self._tables(path, value, key)
        if key.table and (key.kind is None or isinstance(value, dict)):
            return self.table(path, value, key.table)
        assert key.kind is not None
        self._judge(path, value, key.kind, f" or a table with {names_of(key.table)}" if key.table else "")
        return value

    def _judge(self, path: KeyPath, value: Any, kind: Kind, or_else: str = "") -> None:
        if not kind.fits(value):
            hint = nearest(value, kind.names) if isinstance(value, str) else ""
            self.report_error(path, f"got {describe_value(value)}, wanted {kind.wanted}{or_else}{hint}")
        elif kind.item is not None:
            for index, item in enumerate(value):
                self._judge((*path, index), item, kind.item)

    def _tables(self, path: KeyPath, value: Any, key: Key) -> list[dict[str, Any]]:
        if not isinstance(value, list) or (key.required and not value):
            self.report_error(path, f"got {describe_value(value)}, wanted {wanted(key)}")
            return []
        return [self.table((*path, index), item, key.table_of(item)) for index, item in enumerate(value)]


def wanted(key: Key) -> str:
    """What the key should hold, in words."""
    if key.many:
        return f"{'at least one' if key.required else 'a list of'} [[{key.name}]] table{'s' * (not key.required)}"
    return key.kind.wanted if key.kind else f"a table with {names_of(key.table)}"


def names_of(keys: tuple[Key, ...]) -> str:
    """The keys' names, as a list with `or`."""
    return alternatives([key.name for key in keys])


def describe_value(value: Any) -> str:
    """A TOML value in the words of its author, cut short when long."""
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, str):
        return f'the text "{_short(value)}"'
    if isinstance(value, list):
        return f"a list of {len(value)}: {_short(str(value))}" if value else "an empty list"
    if isinstance(value, dict):
        return f"a table with {_short(', '.join(value))}" if value else "an empty table"
    return f"the float {value}" if isinstance(value, float) else _short(str(value))


def _short(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
