"""Entry names: those of the entries of a list of tables, each of which has one of its own."""

from collections.abc import Mapping, Sequence
from typing import Any

from tessbed.scenarios.format.diagnostics import path_text
from tessbed.scenarios.format.reader import Reader


def judge_own_names(reader: Reader, section: str, listed: Sequence[Mapping[str, Any]]) -> None:
    """Report names that an entry before has."""
    first: dict[str, int] = {}
    for index, entry in enumerate(listed):
        name = entry.get("name")
        if isinstance(name, str) and first.setdefault(name, index) != index:
            before = path_text((section, first[name]))
            text = f'got "{name}", the name of {before}, wanted a name of its own'
            reader.report_error((section, index, "name"), text)
