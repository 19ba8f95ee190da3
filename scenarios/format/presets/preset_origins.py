"""Preset origins: what a preset file says of where its fields come from, and of the board that was measured.

    slots = { value = 2, provenance = "documented" }
    dispatch_ticks = { value = 91_400, interval = [90_800, 92_100], provenance = "calibrated: board 7, 90 %" }

    [calibration]
    board = "board 7"
    date = "2026-12-01"
    percent = 90                        # confidence of the intervals
    workers = [1, 8]                    # the fewest and the most that were measured
    output_bytes = [4_096, 2_457_600]   # of the smallest and of the largest job
    jobs = ["tess bf16"]                # operation and scalar type of what ran

A field is a plain value, or such a table; an interval needs the table of the board.
"""

import datetime
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs

from tessbed.scenarios.format.diagnostics import KeyPath, Problem, nearest, path_text
from tessbed.scenarios.format.reader import describe_value
from tessbed.scenarios.format.toml_source import Source
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.spec.origins import FieldOrigin, MeasuredBoard, Origins

TABLE = "calibration"
FIELD_KEYS = ("value", "interval", "provenance")


def read_origins(parsed: Source, problems: list[Problem]) -> tuple[dict[str, Any], Origins]:
    """The file's values with every field a plain one, and what it says of them; adds what is wrong to `problems`."""
    fields: list[FieldOrigin] = []
    values = {name: value for name, value in parsed.values.items() if name != TABLE}
    values = _plain(DeviceSpec, values, (), parsed, fields, problems)
    board = _board(parsed, problems) if TABLE in parsed.values else None
    if TABLE not in parsed.values:
        problems += [_no_board(parsed, field) for field in fields if field.interval is not None]
    return values, Origins(tuple(fields), board)


def board_values(origins: Origins) -> dict[str, Any]:
    """The table of the board as a preset file says it; empty without a board."""
    board = origins.board
    if board is None:
        return {}
    given = attrs.asdict(board)
    given["board"] = given.pop("name")
    listed = {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}
    return {TABLE: {name: listed[name] for name in BOARD_KEYS if listed[name] != []}}


def field_value(origin: FieldOrigin) -> dict[str, Any]:
    """A field as a preset file says it, with where it comes from."""
    interval = {"interval": list(origin.interval)} if origin.interval is not None else {}
    return {"value": origin.value, **interval, "provenance": origin.provenance}


def _plain(
    cls: Any,
    values: Mapping[str, Any],
    path: KeyPath,
    parsed: Source,
    found: list[FieldOrigin],
    problems: list[Problem],
) -> dict[str, Any]:
    """`values` of the fields of `cls` with tables of origins replaced by their values."""
    types = {field.name: field.type for field in attrs.fields(cls)}
    plain = {}
    for name, value in values.items():
        here = (*path, name)
        if isinstance(value, dict) and attrs.has(types.get(name, int)):
            plain[name] = _plain(types[name], value, here, parsed, found, problems)
        elif isinstance(value, dict) and name in types:
            wrong = list(_field_problems(parsed, here, value))
            problems += wrong
            if "value" in value:
                plain[name] = value["value"]
            if not wrong:
                found.append(_origin(here, value))
        else:
            plain[name] = value
    return plain


def _origin(path: KeyPath, table: Mapping[str, Any]) -> FieldOrigin:
    interval = tuple(table["interval"]) if "interval" in table else None
    value = tuple(table["value"]) if isinstance(table["value"], list) else table["value"]
    return FieldOrigin(".".join(map(str, path)), value, table["provenance"], interval)


def _field_problems(parsed: Source, path: KeyPath, table: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with the table of a field, but for a value that the device refuses."""
    where = path_text(path)
    for key in table:
        if key not in FIELD_KEYS:
            text = f"{where}.{key}: unknown key, wanted {', '.join(FIELD_KEYS)}{nearest(key, FIELD_KEYS)}"
            yield Problem(parsed.key_place((*path, key)), text, "unknown_key")
    for key in ("value", "provenance"):
        if key not in table:
            text = f"{where}: no {key}, wanted {{ value = ..., provenance = ... }} or a plain value"
            yield Problem(parsed.place(path), text, "missing_key")
    if "provenance" in table and not _is_words(table["provenance"]):
        got = describe_value(table["provenance"])
        yield Problem(parsed.place((*path, "provenance")), f"{where}.provenance: got {got}, wanted where it comes from")
    if "interval" in table and "value" in table and not _is_around(table["interval"], table["value"]):
        got, wanted = describe_value(table["interval"]), f"two integers, one up to {table['value']!r} and one from it"
        yield Problem(parsed.place((*path, "interval")), f"{where}.interval: got {got}, wanted {wanted}")


def _no_board(parsed: Source, field: FieldOrigin) -> Problem:
    path = (*field.path.split("."), "interval")
    text = f"{field.path}: got an interval, wanted the board that was measured as well: a table [{TABLE}]"
    return Problem(parsed.place(path), text, "missing_key")


def _is_words(value: Any) -> bool:
    return isinstance(value, str) and value.isprintable() and bool(value.strip())


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_range(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_count, value)) and value[0] <= value[1]


def _is_around(interval: Any, value: Any) -> bool:
    return _is_range(interval) and _is_count(value) and interval[0] <= value <= interval[1]


def _is_date(value: Any) -> bool:
    return isinstance(value, datetime.date) or _is_words(value)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_words, value))


# A key of the table of the board: whether it must be there, what is wanted, and the test of it.
BOARD_KEYS: Mapping[str, tuple[bool, str, Callable[[Any], bool]]] = {
    "board": (True, "the name of the board", _is_words),
    "date": (True, 'a date such as "2026-12-01"', _is_date),
    "percent": (True, "the confidence of the intervals, 1 to 99", lambda v: _is_count(v) and 1 <= v <= 99),
    "workers": (True, "the fewest and the most workers, such as [1, 8]", _is_range),
    "output_bytes": (
        True,
        "the output bytes of the smallest and of the largest job, such as [4096, 2457600]",
        _is_range,
    ),
    "jobs": (True, 'a list such as ["tess bf16"]', _is_texts),
    "combinations": (False, "a list of texts", _is_texts),
}


def _board(parsed: Source, problems: list[Problem]) -> MeasuredBoard | None:
    """The board; None where its table is not right, with every problem noted."""
    table = parsed.values[TABLE]
    if not isinstance(table, dict):
        problems.append(Problem(parsed.place((TABLE,)), f"{TABLE}: got {describe_value(table)}, wanted a table"))
        return None
    found = list(_board_problems(parsed, table))
    problems += found
    if found:
        return None
    given: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in table.items()}
    return MeasuredBoard(name=given.pop("board"), date=str(given.pop("date")), **given)


def _board_problems(parsed: Source, table: Mapping[str, Any]) -> Iterator[Problem]:
    for key in table:
        if key not in BOARD_KEYS:
            text = f"{TABLE}.{key}: unknown key, wanted {', '.join(BOARD_KEYS)}{nearest(key, BOARD_KEYS)}"
            yield Problem(parsed.key_place((TABLE, key)), text, "unknown_key")
    for key, (required, wanted, fits) in BOARD_KEYS.items():
        if key in table and not fits(table[key]):
            got = describe_value(table[key])
            yield Problem(parsed.place((TABLE, key)), f"{TABLE}.{key}: got {got}, wanted {wanted}")
        elif key not in table and required:
            yield Problem(parsed.place((TABLE,)), f"{TABLE}: no {key}, wanted {wanted}", "missing_key")
