"""Integers as callers pass them: Python's and numpy's, never a bool or a float."""

import operator
from typing import Any

from tessbed.runtime.errors import SubmitError


def integer(given: Any) -> int | None:
    """The integer that `given` is, None where it is none."""
    if type(given) is int:
        return given
    if isinstance(given, bool):
        return None
    try:
        return operator.index(given)
    except Exception:  # an object of the caller's can raise anything
        return None


def whole_number(where: str, given: object, low: int, high: int | None = None) -> int:
    """An integer from `low` to `high`. Raises SubmitError."""
    number = integer(given)
    if number is None or number < low or (high is not None and number > high):
        limit = f"at least {low}" if high is None else f"{low} to {high}"
        raise SubmitError("number", where, f"got {given!r}, wanted an integer, {limit}")
    return number


def optional_number(where: str, given: object, low: int, high: int | None = None) -> int | None:
    """The same, or None. Raises SubmitError."""
    return None if given is None else whole_number(where, given, low, high)
