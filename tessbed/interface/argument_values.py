"""Argument values: what Python callers pass, as plain values of a scenario; what is wrong with them, in words."""

import os
from collections.abc import Iterable, Mapping, Sequence
from operator import index
from typing import Any

import attrs

from tessbed.kernels.errors import shown
from tessbed.sim.errors import SpecError
from tessbed.sim.spelling import nearest_name


def described(value: object) -> str:
    """A value as messages show it: what it is, and how it is written."""
    if isinstance(value, str):
        return f"the text {shown(value)}"
    if value is None or isinstance(value, bool | int | float):
        return shown(value)
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}, {shown(value)}"


def refused(name: str, value: object, wanted: str, known: Iterable[str] = ()) -> SpecError:
    """The error for an argument that is none of what is wanted, with the nearest known name."""
    near = nearest_name(value, known) if isinstance(value, str) else None
    hint = f"; did you mean {near}?" if near else ""
    return SpecError([((name,), f"got {described(value)}, wanted {wanted}{hint}")])


def checked_name(name: str, value: object, names: Sequence[str]) -> str:
    """The value, one of some names. Raises SpecError."""
    if isinstance(value, str) and value in names:
        return value
    *head, last = (f"'{each}'" for each in names)
    raise refused(name, value, f"{', '.join(head)} or {last}" if head else last, names)


def checked_flag(name: str, value: object) -> bool:
    """The value, True or False. Raises SpecError."""
    if isinstance(value, bool) or type(value).__name__ == "bool_":
        return bool(value)
    raise refused(name, value, "True or False")


def checked_integer(name: str, value: object, low: int, high: int) -> int:
    """The value, an integer from `low` to `high`. Raises SpecError."""
    plain = plain_value(value)
    if isinstance(plain, int) and not isinstance(plain, bool) and low <= plain <= high:
        return plain
    raise refused(name, value, f"an integer from {low} to {high}")


def plain_value(value: Any) -> Any:
    """The value as a scenario file would hold it: tables, lists, text, numbers; anything else stays as it is."""
    if isinstance(value, Mapping):
        return {key: plain_value(item) for key, item in value.items()}
    if attrs.has(type(value)):
        return {field.name: plain_value(getattr(value, field.name)) for field in attrs.fields(type(value))}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, list | tuple | range):
        return [plain_value(item) for item in value]
    return value if isinstance(value, bool | str | int | float) else _number(value)


def _number(value: Any) -> Any:
    """A number of numpy as one of Python; an array as a list."""
    tolist = getattr(value, "tolist", None)
    if tolist is not None and type(value).__module__ == "numpy":
        return tolist()
    try:
        return index(value)
    except TypeError:
        return value
