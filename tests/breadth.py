"""Breadth: many values that prove the same thing; a few of them run in the suite, the others in the long part."""

from collections.abc import Iterable

import pytest


def breadth(values: Iterable[object], suite: int) -> list[object]:
    """The values as parameters of a test: the first `suite` of them, and the others marked `long`."""
    return [
        value if number < suite else pytest.param(value, marks=pytest.mark.long) for number, value in enumerate(values)
    ]
