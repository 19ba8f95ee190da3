"""Arrival parser: when the frames of a stream come, as a rule or as the rows of a trace."""

import csv
from pathlib import Path
from typing import Any

from tessbed.scenarios.format.diagnostics import KeyPath, alternatives
from tessbed.scenarios.format.load.load_keys import MOST_TICKS
from tessbed.scenarios.format.reader import Reader
from tessbed.scenarios.load.load_model import Arrivals, Distribution

RULES = ("every", "poisson", "gamma", "trace", "closed", "at_once")
WITH = {"cv": ("gamma",), "think": ("closed",), "first": ("every", "at_once")}
"""The keys that only some rules have."""
COLUMNS = ("tick", "stream")
LAST_TICK = MOST_TICKS * 1000

Values = dict[str, Any]


def arrivals_of(reader: Reader, path: KeyPath, values: Values, clock_mhz: int, folder: Path) -> Arrivals | None:
    """The arrivals of the stream at `path`; None where they are not known."""
    given, fps = values.get("arrivals"), values.get("fps")
    if not reader.sound((*path, "arrivals")) or not reader.sound((*path, "fps")):
        return None
    if (given is None) == (fps is None):
        what = "arrivals and fps, wanted one of them" if fps else "neither arrivals nor fps, wanted one of them"
        place = reader.source.key_place((*path, "fps")) if fps else None
        reader.report_error((*path, "fps") if fps else path, f"got {what}", place)
        return None
    if fps is not None:
        period = max(1, round(clock_mhz * 10**6 / fps))
        if period > MOST_TICKS:
            text = f"got {fps}, which is a frame every {period} ticks, wanted at most {MOST_TICKS} between two frames"
            reader.report_error((*path, "fps"), text)
            return None
        return Arrivals("every", Distribution("constant", period))
    assert given is not None
    here = (*path, "arrivals")
    chosen = [name for name in RULES if given.get(name) is not None]
    if len(chosen) != 1:
        got = " and ".join(chosen) or "none of them"
        reader.report_error(here, f"got {got}, wanted one of {alternatives(RULES)}")
        return None
    for name, rules in WITH.items():
        if given.get(name) is not None and chosen[0] not in rules:
            text = f"got {name} with {chosen[0]}, wanted no such key: only {alternatives(rules)} has it"
            reader.report_error((*here, name), text, reader.source.key_place((*here, name)))
    return _of_rule(reader, here, chosen[0], given, str(values.get("name")), folder)


def _of_rule(reader: Reader, path: KeyPath, rule: str, given: Values, stream: str, folder: Path) -> Arrivals | None:
    first = given.get("first") or 0
    if rule == "every":
        return Arrivals("every", Distribution("constant", given["every"]), first)
    if rule == "poisson":
        return Arrivals("random", Distribution("poisson", given["poisson"]))
    if rule == "gamma":
        if given.get("cv") is None:
            reader.report_error(path, "got gamma without cv, wanted both, as in { gamma = 1000000, cv = 2 }")
            return None
        return Arrivals("random", Distribution("gamma", given["gamma"], cv=float(given["cv"])))
    if rule == "closed":
        return Arrivals("closed", count=given["closed"], think=given.get("think") or 0)
    if rule == "at_once":
        return Arrivals("at_once", count=given["at_once"], first=first)
    return _trace(reader, (*path, "trace"), given["trace"], stream, folder)


def _trace(reader: Reader, path: KeyPath, written: str, stream: str, folder: Path) -> Arrivals | None:
    """The rows of the stream. Reports the first row that can not be, by its line."""
    ticks: list[int] = []
    if (folder / written).exists() and not (folder / written).is_file():
        reader.report_error(
            path, f'got "{written}", which is no file, wanted a .csv with a tick and a stream in each row'
        )
        return None
    try:
        with (folder / written).open(encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file, skipinitialspace=True)
            last = 0
            for row in rows:
                if not row or (rows.line_num == 1 and tuple(row) == COLUMNS):
                    continue
                if len(row) != 2 or not _is_tick(row[0]):
                    text = f"got {','.join(row)!r}, wanted a tick and a stream, or tick,stream in the first line"
                    return _no_trace(reader, path, written, rows.line_num, text)
                tick = int(row[0])
                if tick < last:
                    text = f"got tick {tick} after {last}, wanted the order of ticks: sort the rows"
                    return _no_trace(reader, path, written, rows.line_num, text)
                last = tick
                if row[1] == stream:
                    ticks.append(tick)
    except (OSError, ValueError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        reader.report_error(path, f'got "{written}", which can not be read: {reason}')
        return None
    if not ticks:
        reader.report_error(path, f'got "{written}" without a row of "{stream}", wanted one row for each frame')
        return None
    return Arrivals("trace", trace=written, ticks=tuple(ticks))


def _is_tick(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= len(str(LAST_TICK)) and int(text) <= LAST_TICK


def _no_trace(reader: Reader, path: KeyPath, written: str, line: int, text: str) -> None:
    reader.report_error(path, f"{written}, line {line}: {text}")
