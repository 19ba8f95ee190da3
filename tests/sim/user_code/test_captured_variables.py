"""A captured variable that changed is named, with both values; one that has an equal value has not changed."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from tessbed.sim.user_code.captured_variables import capture

OUTSIDE = 1


def around(value: Any) -> tuple[Callable[[], Any], Callable[[Any], None]]:
    """A function that captures `number`, and one that binds it to something else."""
    number = value

    def look() -> Any:
        return number

    def bind(new: Any) -> None:
        nonlocal number
        number = new

    return look, bind


@pytest.mark.parametrize(
    ("then", "now", "text"),
    [
        (3, 4, "number (was 3, is 4)"),
        (1000, 1000, None),
        ("a", "b", "number (was 'a', is 'b')"),
        (3, 3.0, "number (was 3, is 3.0)"),
        (np.zeros(2), np.zeros(2), None),
        (np.zeros(2), np.ones(2), "number (was array([0., 0.]), is array([1., 1.]))"),
        ((1, 2), (1, 2), None),
    ],
)
def test_a_change_is_named(then: Any, now: Any, text: str | None) -> None:
    """By value for values, by kind as well."""
    look, bind = around(then)
    captured = capture(look)
    assert captured is not None
    assert captured.changed() is None
    bind(now)
    assert captured.changed() == text


def test_what_a_list_holds_counts() -> None:
    """A list that is filled on is another one; so it is inside of a partial."""
    items = [1]
    look, _ = around(items)
    captured = capture(partial(look))
    assert captured is not None
    items.append(2)
    assert captured.changed() == "number (was [1], is [1, 2])"


def test_globals_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A global that is bound anew has changed."""
    captured = capture(lambda: OUTSIDE)
    assert captured is not None
    monkeypatch.setitem(globals(), "OUTSIDE", 2)
    assert captured.changed() == "OUTSIDE (was 1, is 2)"


def test_nothing_captured() -> None:
    """A function of its arguments alone has nothing to note; a variable that is not there yet is no error."""
    assert capture(lambda view, k=3: view + k) is None
    assert capture(np.copyto) is None
    captured = capture(lambda: later)
    later = 1
    assert captured is not None
    assert captured.changed() == "later (was nothing, is 1)"
