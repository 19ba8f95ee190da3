"""Captured variables: what a function takes from around it, as it was when the function was given to the device.

The device computes later than it is asked to. A function that looks at a variable of its surroundings then sees what
the variable has become, a *late-bound closure*, and whether that differs depends on the moment. So its variables are
noted when it is given and compared when it is called: those of closures and the globals that it names. Small lists,
dictionaries and arrays in a closure are compared by what they hold. Those among the globals are not: they may be
caches.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from types import CodeType, FunctionType
from typing import Any

import attrs
import numpy as np

MISSING = object()
SMALL = 64
"""Containers of so many items are copied; larger ones are compared by identity."""
SMALL_BYTES = 4096
CONTAINERS = (list, dict, set, bytearray)
VALUES = (*CONTAINERS, int, float, complex, str, bytes, bool, tuple, range, frozenset)


@attrs.define(eq=False)
class Captured:
    """The captured variables of one function, by name, as they were."""

    function: Any
    names: tuple[str, ...]
    values: list[Any]

    def changed(self) -> str | None:
        """What has changed since, as "k (was 0, is 3)"; None where nothing has."""
        for name, then, now in zip(self.names, self.values, _values(self.function), strict=True):
            if now is not then and not _equal(then, now):
                return f"{name} (was {_short(then)}, is {_short(now)})"
        return None


def capture(function: Callable[..., Any]) -> Captured | None:
    """Note the captured variables of a function; None where it has none, or is no function of Python's."""
    while isinstance(function, partial):
        function = function.func
    plain: Any = getattr(function, "__func__", function)
    if not isinstance(plain, FunctionType) or not (plain.__closure__ or _global_names(plain.__code__)):
        return None
    names = (*plain.__code__.co_freevars, *_global_names(plain.__code__))
    free = len(plain.__code__.co_freevars)
    values = _values(plain)
    return Captured(plain, names, [*map(_copied, values[:free]), *values[free:]])


def _values(function: Any) -> list[Any]:
    cells = [_cell(cell) for cell in function.__closure__ or ()]
    outside = function.__globals__
    return cells + [outside.get(name, MISSING) for name in _global_names(function.__code__)]


def _cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


@lru_cache(maxsize=1024)
def _global_names(code: CodeType) -> tuple[str, ...]:
    """Names that the function may look up among its globals; names of attributes are among them, and do no harm."""
    return code.co_names


def _copied(value: Any) -> Any:
    """The value, or a copy of it where it can change and is small."""
    if isinstance(value, np.ndarray):
        return value.copy() if value.nbytes <= SMALL_BYTES else value
    if isinstance(value, CONTAINERS):
        return value.copy() if len(value) <= SMALL else value
    return value


def _equal(then: Any, now: Any) -> bool:
    """Whether two objects are the same value; functions and modules, defined again, are others."""
    if type(then) is not type(now):
        return False
    if isinstance(then, np.ndarray):
        return then.nbytes <= SMALL_BYTES and np.array_equal(then, now)
    if type(then) in VALUES or isinstance(then, np.generic):
        try:
            return bool(then == now)
        except ValueError:  # arrays in containers have no truth value
            return False
    return False


def _short(value: Any) -> str:
    text = "nothing" if value is MISSING else repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
