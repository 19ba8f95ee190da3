"""Limits: judge device parameters, field by field and together, and collect every error.

The limits of a field are in its attrs metadata (see `device_spec.knob`); what several fields must satisfy together
is in CROSS_CHECKS. Types are strict: true is not 1, and 16.0 is not 16.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any
from weakref import WeakValueDictionary

import attrs

from tessbed.sim.errors import SpecError
from tessbed.sim.spelling import nearest_name

Problem = tuple[tuple[str, ...], str]
PAGE_BYTES = 4096


@attrs.frozen
class CrossCheck:
    """What fields must satisfy together: `holds` sees the nested mapping, `path` is what the message reports."""

    path: tuple[str, ...]
    involved: tuple[str, ...]
    holds: Callable[[Any], bool]
    message: str


CROSS_CHECKS = (
    CrossCheck(
        ("core_ids",),
        ("core_ids", "cores"),
        lambda d: len(d["core_ids"]) in (0, d["cores"]),
        "got {core_ids}, wanted no ids or one for each of {cores} cores",
    ),
    CrossCheck(
        ("core_ids",),
        ("core_ids",),
        lambda d: len({*d["core_ids"]}) == len(d["core_ids"]),
        "got {core_ids}, wanted distinct ids",
    ),
    CrossCheck(
        ("scratch_bytes",),
        ("scratch_bytes", "scratch_reserved_bytes", "slots", "scratch_align_bytes", "write_granule_bytes"),
        lambda d: (
            d["scratch_bytes"] - d["scratch_reserved_bytes"]
            >= (1 + d["slots"]) * max(128, d["scratch_align_bytes"], d["write_granule_bytes"])
        ),
        "got {scratch_bytes}, wanted room for an input and {slots} slots, each of 128 bytes, of scratch_align_bytes"
        " = {scratch_align_bytes} and of write_granule_bytes = {write_granule_bytes} at least, above"
        " scratch_reserved_bytes = {scratch_reserved_bytes}",
    ),
    CrossCheck(
        ("memory", "window_base"),
        ("window_base",),
        lambda d: d["memory"]["window_base"] % PAGE_BYTES == 0,
        "got {memory[window_base]:#x}, wanted a multiple of 4096",
    ),
    CrossCheck(
        ("memory", "window_bytes"),
        ("window_bytes",),
        lambda d: d["memory"]["window_bytes"] % PAGE_BYTES == 0,
        "got {memory[window_bytes]:#x}, wanted a multiple of 4096",
    ),
)


def find_problems(
    cls: Any, base: Mapping[str, Any], changes: Mapping[str, Any]
) -> tuple[dict[str, Any], list[Problem]]:
    """`base` with `changes`, both nested mappings of the fields of `cls`, and every problem of the result."""
    merged, problems = _merge(cls, base, changes, ())
    broken = [path[-1] for path, _ in problems]
    for check in CROSS_CHECKS:
        if not any(name in broken for name in check.involved) and not check.holds(merged):
            problems.append((check.path, check.message.format(**merged)))
    return merged, problems


def keeps_limits(spec: Any) -> bool:
    """True where `find_problems` finds none in a spec as it is, in a tenth of the time: no message is made."""
    view = _FieldView(spec)
    return _fields_fit(spec) and all(check.holds(view) for check in CROSS_CHECKS)


_judged: "WeakValueDictionary[int, Any]" = WeakValueDictionary()
"""Parts of specs that fit, by their identity: devices share most of them, and no part ever changes."""


def _fields_fit(part: Any) -> bool:
    parts, tests = _tests(type(part))
    for name, cls in parts:
        inner = getattr(part, name)
        if type(inner) is not cls:
            return False
        if _judged.get(id(inner)) is not inner:
            if not _fields_fit(inner):
                return False
            _judged[id(inner)] = inner
    return all(fits(getattr(part, name)) for name, fits in tests)


@cache
def _tests(cls: Any) -> tuple[list[tuple[str, Any]], list[tuple[str, Callable[[Any], bool]]]]:
    """The fields of a class that are specs themselves, with their classes, and of all others what they must satisfy."""
    fields = attrs.fields(cls)
    parts = [(field.name, field.type) for field in fields if attrs.has(field.type)]
    tests = [(field.name, WANTED[field.type](field.metadata)[1]) for field in fields if not attrs.has(field.type)]
    return parts, tests


class _FieldView:
    """The fields of a spec as the nested mapping that a cross check sees."""

    __slots__ = ("_spec",)

    def __init__(self, spec: Any) -> None:
        self._spec = spec

    def __getitem__(self, name: str) -> Any:
        value = getattr(self._spec, name)
        return _FieldView(value) if hasattr(value, "__attrs_attrs__") else value


def raise_problems(problems: Sequence[Problem]) -> None:
    """Raise SpecError when there are problems."""
    if problems:
        raise SpecError(problems)


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """The message for a name that does not exist, with the nearest one that does."""
    names = sorted(known)
    near = nearest_name(name, names)
    hint = f"did you mean {near!r}?" if near else "known: " + ", ".join(names)
    return f"unknown {what} {name!r}; {hint}"


def _merge(
    cls: Any, base: Mapping[str, Any], changes: Mapping[str, Any], path: tuple[str, ...]
) -> tuple[dict[str, Any], list[Problem]]:
    fields = {field.name: field for field in attrs.fields(cls)}
    unknown_names = [name for name in changes if name not in fields]
    problems = [((*path, name), unknown("field", name, fields)) for name in unknown_names]
    merged: dict[str, Any] = {}
    for name, field in fields.items():
        here = (*path, name)
        value = changes.get(name, base[name])
        if attrs.has(field.type) and isinstance(value, Mapping):
            inner = changes.get(name, {})
            merged[name], more = _merge(field.type, base[name], inner, here)
            problems += more
        else:
            message = _fault(field, value)
            merged[name] = base[name] if message else value
            problems += [(here, message)] if message else []
    return merged, problems


def _fault(field: Any, value: Any) -> str | None:
    """What is wrong with `value` for this field, or None."""
    if attrs.has(field.type):
        return f"got {value!r}, wanted a table of fields"
    unit = f" ({field.metadata['unit']})" if field.metadata["unit"] else ""
    wanted, fits = WANTED[field.type](field.metadata)
    return None if fits(value) else f"got {_short(value)}, wanted {wanted}{unit}{_near(field, value)}"


def _short(value: Any, most: int = 60) -> str:
    """The value as it is written, cut short when long."""
    text = repr(value)
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _near(field: Any, value: Any) -> str:
    near = nearest_name(value, field.metadata["choices"] or ()) if isinstance(value, str) else None
    return f"; did you mean {near!r}?" if near else ""


def _is_int(value: Any) -> bool:
    return type(value) is int or (isinstance(value, int) and not isinstance(value, bool))


def _integer(limits: Mapping[str, Any]) -> tuple[str, Callable[[Any], bool]]:
    low, high, power = limits["low"], limits["high"], limits["power_of_two"]
    kind = "a power of two" if power else "an integer"

    def fits(value: Any) -> bool:
        return _is_int(value) and low <= value <= high and (not power or value.bit_count() == 1)

    return f"{kind} from {low} to {high}", fits


def _choice(limits: Mapping[str, Any]) -> tuple[str, Callable[[Any], bool]]:
    choices = limits["choices"]
    return "one of " + ", ".join(map(repr, choices)), lambda v: isinstance(v, str) and v in choices


def _flag(limits: Mapping[str, Any]) -> tuple[str, Callable[[Any], bool]]:
    return "true or false", lambda v: isinstance(v, bool)


def _ids(limits: Mapping[str, Any]) -> tuple[str, Callable[[Any], bool]]:
    return (
        "a list of ids, each 0 or more",
        lambda v: isinstance(v, list | tuple) and all(_is_int(item) and item >= 0 for item in v),
    )


# What is wanted of a field, in words and as a test, by its type.
WANTED: Mapping[Any, Callable[[Mapping[str, Any]], tuple[str, Callable[[Any], bool]]]] = {
    int: _integer,
    str: _choice,
    bool: _flag,
    tuple[int, ...]: _ids,
}
