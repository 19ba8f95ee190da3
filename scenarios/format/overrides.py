"""Overrides: `--set key=value` and `--seed`, applied to a source before it is read.

A key is a dotted path; a list takes an index, or `*` for every entry: `jobs.0.shape`, or as errors print it,
`jobs[0].shape`. A value is TOML, or else the text itself.
The place of an overridden value is the option, so that an error in it is reported as `--set device.workers: ...`.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from tessbed.scenarios.format.diagnostics import KeyPath, Location, Problem, ScenarioError, option_place, path_text
from tessbed.scenarios.format.load.load_keys import EXTERNAL, EXTERNAL_JOB
from tessbed.scenarios.format.option_values import ARGUMENT
from tessbed.scenarios.format.reader import describe_value
from tessbed.scenarios.format.toml_source import DEEPEST, Source, beyond_64_bits, deep_key, depth_of

Written = tuple[int, Location]
"""The number of the setting that wrote a path, and its option."""
NEVER: Written = (-1, Location(""))
INDEX = re.compile(r"\[(\d+|\*)\](?=[.\[]|$)")


def apply(source: Source, settings: Sequence[str], seed: int | None = None) -> Source:
    """A source with the settings laid over it, in their order, then the seed. Raises ScenarioError, all at once."""
    values = _copied(source.values)
    written: dict[KeyPath, Written] = {}
    problems: list[Problem] = []
    for when, setting in enumerate(settings):
        key, equals, text = setting.partition("=")
        if not equals or not key.removeprefix(ARGUMENT).strip():
            problems.append(_no_setting(setting))
            continue
        argument = key.removeprefix(ARGUMENT) if key.startswith(ARGUMENT) else None
        place = option_place("--set", key) if argument is None else option_place("--arg", argument)
        try:
            for path in [dotted(key.strip()).split(".")] if argument is None else _argument_paths(values, argument):
                _set(values, written, path, override_value(text), (when, place))
        except LookupError as error:
            problems.append(Problem(place, str(error.args[0])))
    if seed is not None:
        _put(values, written, ("seed",), seed, (len(settings), Location("--seed")))
    if problems:
        raise ScenarioError(problems)
    places = _places(source.places, written)
    keys = {path: place for path, place in source.keys.items() if places.get(path, place).source == source.name}
    return attrs.evolve(source, values=values, places=places, keys=keys)


def dotted(key: str) -> str:
    """The key with its indices behind dots: `jobs.0` of `jobs[0]`."""
    return INDEX.sub(r".\1", key)


def _no_setting(text: str) -> Problem:
    """The problem of a setting without a key or a value."""
    if text.startswith(ARGUMENT):
        got = f'got "{text.removeprefix(ARGUMENT)}", wanted name=value, such as rows=64'
        return Problem(Location("--arg"), got, "usage")
    return Problem(Location("--set"), f'got "{text}", wanted key=value, such as device.workers=8', "usage")


def _argument_paths(values: dict[str, Any], name: str) -> list[list[str]]:
    """Where an argument of kernels is set. Raises LookupError in words."""
    jobs = values.get("jobs")
    entries = enumerate(jobs) if isinstance(jobs, list) else ()
    paths = [["jobs", str(index), "args", name] for index, job in entries if isinstance(job, dict) and "kernel" in job]
    if not paths:
        raise LookupError("no job runs a kernel of one's own, wanted such as copy.py:copy")
    return paths


def _set(values: Any, written: dict[KeyPath, Written], steps: Sequence[str], value: Any, now: Written) -> None:
    """Set the value at every path that the steps name. Raises LookupError in words."""
    if len(steps) + depth_of(value, DEEPEST) > DEEPEST:
        raise LookupError(f"got more than {DEEPEST} names and brackets, one inside the other, wanted fewer")
    for path in _paths(values, steps):
        _put(values, written, path, value, now)


def override_value(text: str) -> Any:
    """The TOML value of a setting, or the text itself where it is none."""
    try:
        parsed = {} if deep_key(text) else tomllib.loads(f"value = {text}")
        plain = len(parsed) == 1 and not any(True for _ in beyond_64_bits(parsed))
    except (ValueError, RecursionError):
        return text
    return parsed["value"] if plain else text


def _paths(values: dict[str, Any], steps: Sequence[str]) -> Iterator[KeyPath]:
    """The paths that the steps name, `*` spread out. Raises LookupError in words."""
    paths: list[tuple[KeyPath, Any]] = [((), values)]
    for place, step in enumerate(steps):
        paths = [found for path, value in paths for found in _step(path, value, step, steps[place + 1 :])]
    return (path for path, _ in paths)


def _step(path: KeyPath, value: Any, step: str, rest: Sequence[str]) -> list[tuple[KeyPath, Any]]:
    if isinstance(value, dict):
        return [((*path, step), value.get(step, {}))]
    if not isinstance(value, list):
        raise LookupError(
            f"{path_text(path)} is {describe_value(value)}, wanted a table or a list to go into with .{step}"
        )
    if step == "*":
        return [((*path, index), item) for index, item in enumerate(value) if not _foreign(item, rest)]
    if not (step.isascii() and step.isdecimal() and len(step) < 10) or int(step) >= len(value):
        raise LookupError(f'got "{step}" for an entry of {path_text(path)}, wanted 0 to {len(value) - 1}, or * for all')
    return [((*path, int(step)), value[int(step)])]


def _foreign(item: Any, rest: Sequence[str]) -> bool:
    """Whether an entry is an external job, which has no such key: `*` means those that have it."""
    external = isinstance(item, dict) and item.get("op") == EXTERNAL
    return external and bool(rest) and rest[0] not in [key.name for key in EXTERNAL_JOB]


def _put(values: Any, written: dict[KeyPath, Written], path: KeyPath, value: Any, now: Written) -> None:
    """Set the value, with the tables on the way to it, and note when and by which option."""
    *way, last = path
    for step in way:
        values = values.setdefault(step, {}) if isinstance(values, dict) else values[step]
    values[last] = _copied(value)
    written[path] = now


def _places(before: dict[KeyPath, Location], written: dict[KeyPath, Written]) -> dict[KeyPath, Location]:
    """The places of all values: whatever was at or under a path that was written later has gone."""
    if not written:
        return dict(before)
    places = {path: place for path, place in before.items() if not _overwritten(path, -1, written)}
    for path, (when, place) in written.items():
        if not _overwritten(path, when, written):
            places[path] = place
            for depth in range(1, len(path)):
                places.setdefault(path[:depth], place)
    return places


def _overwritten(path: KeyPath, when: int, written: dict[KeyPath, Written]) -> bool:
    """True where the path, or a table around it, was written after `when`."""
    return any(written.get(path[:depth], NEVER)[0] > when for depth in range(1, len(path) + 1))


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copied(item) for name, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value
