"""Lines are those of a user's code: never ours, never a library's, never of whoever started the simulation."""

import os
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tessbed.sim import source_line
from tessbed.sim.source_line import SourceLine, is_users, line_above, line_of, lines_of, snippet


def here() -> int:
    """The line of the caller."""
    return sys._getframe(1).f_lineno


def test_the_caller_is_the_line() -> None:
    """The innermost frame of a user's, with the function that it is in."""
    line, number = line_above(), here()
    assert line == SourceLine(__file__, number, "test_the_caller_is_the_line")
    assert str(line) == f"test_source_line.py:{number}"
    assert line is not None
    assert snippet(line) == "line, number = line_above(), here()"


def inner() -> Iterator[int]:
    """Stands at its first line, then at its second."""
    yield here()
    yield here()


def outer() -> Iterator[int]:
    """Delegates."""
    yield from inner()


def test_a_generator_stands_at_its_innermost_line() -> None:
    """Where it delegates, the line is that of what it delegates to; at its end there is none."""
    generator = outer()
    for number in generator:
        line = line_of(generator)
        assert line is not None
        assert (line.line, line.function) == (number, "inner")
    assert line_of(generator) is None


def test_a_library_is_no_user() -> None:
    """Neither the standard library nor numpy nor ours; what else is installed may be a user's kernel."""
    assert not is_users(os.__file__)
    assert not is_users(np.__file__)
    assert not is_users(source_line.__file__)
    assert not is_users("<frozen importlib>")
    assert is_users(__file__)
    assert is_users(os.path.join(os.path.dirname(os.__file__), "site-packages", "mykernels", "copy.py"))
    assert is_users("<stdin>")


def test_a_traceback_without_libraries() -> None:
    """An error inside numpy is at the line that called it."""
    with pytest.raises(ValueError, match="cannot reshape") as raised:
        np.zeros(3).reshape(2)
    lines = lines_of(raised.value.__traceback__)
    assert [line.function for line in lines] == ["test_a_traceback_without_libraries"]


def test_what_has_no_code_has_no_line() -> None:
    """A function of C's, a missing file."""
    without: Any = np.copyto
    assert source_line.first_line(without) is None
    assert snippet(SourceLine("nowhere.py", 3, "f")) == ""
