"""Integers of callers: Python's and numpy's, and nothing that merely looks like one."""

from typing import Any

import numpy as np
import pytest

from tessbed.runtime.errors import SubmitError
from tessbed.runtime.integers import integer, optional_number, whole_number


class Hostile:
    """An object whose conversion raises something of its own."""

    def __index__(self) -> int:
        raise ZeroDivisionError


GIVEN: dict[str, tuple[Any, int | None]] = {
    "an integer": (7, 7), "a negative one": (-7, -7), "numpy's": (np.uint8(7), 7), "a large one": (2**70, 2**70),
    "True": (True, None), "numpy's True": (np.True_, None), "a float": (7.0, None), "text": ("7", None),
    "None": (None, None), "an array": (np.array([7, 8]), None), "one that raises": (Hostile(), None),
}  # fmt: skip


@pytest.mark.parametrize(("given", "number"), GIVEN.values(), ids=GIVEN)
def test_integer(given: Any, number: int | None) -> None:
    """The number as Python's own, or None."""
    found = integer(given)
    assert found == number
    assert type(found) in (int, type(None))


def test_limits() -> None:
    """Both ends are allowed, what is beyond them is refused with what was got and wanted."""
    assert [whole_number("depth", n, 1, 4) for n in (1, 4)] == [1, 4]
    assert whole_number("depth", 2**40, 1) == 2**40
    for given in (0, 5, True, "2"):
        with pytest.raises(SubmitError, match=r"depth: got .*, wanted an integer, 1 to 4"):
            whole_number("depth", given, 1, 4)
    with pytest.raises(SubmitError, match="wanted an integer, at least 1"):
        whole_number("depth", 0, 1)


def test_none_is_optional() -> None:
    """None stays None, everything else is judged."""
    assert optional_number("ticks", None, 1) is None
    assert optional_number("ticks", 1, 1) == 1
    with pytest.raises(SubmitError, match="ticks"):
        optional_number("ticks", 0, 1)
