"""Expectation update: hashes and ticks written into scenario files, whose comments, order and spacing stay.

The hash and the device's ticks of a job are written, job ticks where the file has them. A limit that holds stays as it
is; one that does not becomes what was measured. A text that would not read back as meant is never written.
"""

import tomllib
from collections.abc import Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import attrs

from tessbed.pytest_plugin.toml_edit import with_value
from tessbed.scenarios.output.files import replacing

BOM = "\ufeff"
TICKS = ("device_ticks", "job_ticks")
Change = tuple[tuple[str | int, ...], Any]


@attrs.frozen
class JobMeasurement:
    """What one job measured on one backend: `values` by the keys of `expect`."""

    file: str
    job: int
    values: dict[str, Any]


def update_file(path: Path, measured: Sequence[JobMeasurement]) -> str:
    """Write what was measured; returns what was done, in words."""
    try:
        text = path.read_bytes().decode("utf-8")
        new = updated(text, measured)
        if new == text:
            return "as it was"
        with replacing(path) as part:
            part.write_bytes(new.encode("utf-8"))
    except (OSError, ValueError) as error:
        return f"not written: {error}"
    return "written"


def updated(text: str, measured: Sequence[JobMeasurement]) -> str:
    """The text with what was measured. Raises ValueError where the new text would not say just that."""
    mark, text = (BOM, text[1:]) if text.startswith(BOM) else ("", text)
    wanted: dict[str, Any] = tomllib.loads(text)
    for path, value in list(_changes(wanted, measured)):
        wanted = deepcopy(wanted)
        _put(wanted, path, value)
        text = with_value(text, path, value)
    if tomllib.loads(text) != wanted:
        raise ValueError("the edited text would not read back as meant; write `expect` by hand")
    return mark + text


def _changes(values: dict[str, Any], measured: Sequence[JobMeasurement]) -> Iterator[Change]:
    jobs: dict[int, dict[str, Any]] = {}
    for one in measured:
        jobs.setdefault(one.job, {}).update(one.values)
    for index, found in sorted(jobs.items()):
        expected = values["jobs"][index].get("expect", {})
        for name in ("output_sha256", *TICKS):
            if name in found and (name in expected or name != "job_ticks"):
                yield from _change(("jobs", index, "expect", name), expected.get(name), found[name])


def _change(path: tuple[str | int, ...], before: Any, now: Any) -> Iterator[Change]:
    if not isinstance(before, dict):
        if before != now:
            yield path, now
    elif now > before.get("at_most", now):
        yield (*path, "at_most"), now
    elif now < before.get("at_least", now):
        yield (*path, "at_least"), now


def _put(values: Any, path: tuple[str | int, ...], value: Any) -> None:
    *way, last = path
    for step in way:
        values = values.setdefault(step, {}) if isinstance(values, dict) else values[step]
    values[last] = value
