"""TOML text: writes the values of a scenario as a file that reads back as the same values."""

import json
from collections.abc import Mapping
from typing import Any


def toml_text(values: Mapping[str, Any]) -> str:
    """Plain values first, then tables, then lists of tables; small tables inside a table of a list stay on one line."""
    lines = [f"{name} = {value_text(value)}" for name, value in values.items() if not _is_table(value)]
    for name, value in values.items():
        if isinstance(value, Mapping):
            lines += _section(name, value)
        elif _is_table(value):
            for item in value:
                lines += ["", f"[[{name}]]", *(f"{key} = {value_text(inner)}" for key, inner in item.items())]
    return "\n".join(lines) + "\n"


def _section(name: str, table: Mapping[str, Any]) -> list[str]:
    lines = ["", f"[{name}]"]
    lines += [f"{key} = {value_text(value)}" for key, value in table.items() if not isinstance(value, Mapping)]
    for key, value in table.items():
        if isinstance(value, Mapping):
            lines += _section(f"{name}.{key}", value)
    return lines


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and bool(value) and isinstance(value[0], Mapping))


def value_text(value: Any) -> str:
    """A value as it is written behind `key =`."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {value_text(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(value_text, value)) + "]"
    # A JSON string, number or boolean is the TOML one too, but for DEL, which TOML wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
