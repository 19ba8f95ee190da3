"""The limits of ticks that a job's `expect` says."""

from collections.abc import Iterator
from typing import Any

from tessbed.scenarios.format.diagnostics import KeyPath
from tessbed.scenarios.format.reader import Reader
from tessbed.scenarios.model import TickLimit

TICK_NAMES = ("device_ticks", "job_ticks")


def judge_expected_ticks(reader: Reader, path: KeyPath, values: dict[str, Any]) -> None:
    """Report limits of ticks that nothing can keep: none at all, two that exclude each other, those of a failure."""
    expected = values.get("expect") or {}
    for name in TICK_NAMES:
        limits, here = expected.get(name), (*path, "expect", name)
        if limits is None or not reader.sound(here):
            continue
        if expected.get("fault"):
            text = f"got {name} and fault, wanted one of them: a job that fails has no such ticks"
            reader.report_key_error(here, text)
        elif isinstance(limits, dict):
            low, high = limits.get("at_least"), limits.get("at_most")
            if low is None and high is None:
                reader.report_error(here, "got an empty table, wanted at_most, at_least or both")
            elif low is not None and high is not None and low > high:
                reader.report_error((*here, "at_least"), f"got {low}, wanted no more than at_most, {high}")


def tick_limits(expected: dict[str, Any]) -> Iterator[TickLimit]:
    """The limits that `expect` says."""
    for name in TICK_NAMES:
        limits = expected.get(name)
        if isinstance(limits, dict):
            yield TickLimit(name, limits.get("at_most"), limits.get("at_least"))
        elif limits is not None:
            yield TickLimit(name, limits, limits)
