"""Arguments of a kernel: its keyword-only parameters, whole or real numbers, each with a default."""

from collections.abc import Mapping
from difflib import get_close_matches
from math import isfinite
from typing import Any

import attrs

from tessbed.kernels.errors import ContractError, shown

MOST_ARGUMENTS = 32
LOW, HIGH = -(1 << 63), (1 << 63) - 1


@attrs.frozen
class Argument:
    """One argument: its name, its default, whose type is that of its values."""

    name: str
    default: int | float

    @property
    def real(self) -> bool:
        """Whether it takes numbers that are no integers."""
        return isinstance(self.default, float)

    def settle(self, value: Any) -> int | float:
        """The value as the kernel gets it; ContractError for another type, or what a packet does not hold."""
        where = f"argument {self.name}"
        if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
            value = value.item()
        number = isinstance(value, int) and not isinstance(value, bool)
        if self.real and (number or isinstance(value, float)):
            try:
                value = float(value)
            except OverflowError:
                value = float("inf")
            if isfinite(value):
                return value
        if self.real or not number:
            wanted = "a finite number" if self.real else "an integer"
            raise ContractError("argument_type", where, f"got {shown(value)}, wanted {wanted}")
        if not LOW <= value <= HIGH:
            raise ContractError("argument_range", where, f"got {shown(value)}, wanted {LOW} to {HIGH}, as 64 bits hold")
        return value


def argument_of(name: str, default: Any, where: str) -> Argument:
    """The argument of a keyword-only parameter. Raises ContractError for one without a default that is a number."""
    if isinstance(default, bool) or not isinstance(default, int | float):
        text = f"argument {name} has the default {shown(default)}, wanted an integer or a float"
        raise ContractError("argument_default", where, text)
    argument = Argument(name, default)
    argument.settle(default)
    return argument


def settle_arguments(
    declared: tuple[Argument, ...], given: Mapping[str, Any], kernel: str
) -> tuple[tuple[str, int | float], ...]:
    """Every argument with its value, in the order of the declaration. Raises ContractError, naming what was written."""
    names = [argument.name for argument in declared]
    for name in given:
        if name not in names:
            near = get_close_matches(str(name), names, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            wanted = ", ".join(names) or "none"
            text = f"got an argument {name!r}, kernel {kernel} has {wanted}{hint}"
            raise ContractError("argument_unknown", f"argument {name}", text)
    return tuple((argument.name, argument.settle(given.get(argument.name, argument.default))) for argument in declared)
