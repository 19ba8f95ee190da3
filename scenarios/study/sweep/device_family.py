"""Device family: devices that differ from a base in a few settings, made as quickly as a sweep needs them.

They share what is alike: a table of fields that is changed in the same way is one object, and is judged once. A device
as a whole is judged each time, since fields of several tables must go together.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import attrs

from tessbed.scenarios.format.overrides import override_value
from tessbed.scenarios.study.sweep.space import Setting
from tessbed.sim.errors import SpecError
from tessbed.sim.spec.device_spec import DeviceSpec, override

DEVICE = "device."
setting_value = lru_cache(maxsize=4096)(override_value)
"""The value that a setting's text is."""


@attrs.frozen(eq=False)
class DeviceFamily:
    """The devices of one base."""

    base: DeviceSpec
    _fields: dict[str, Any] = attrs.field(default=attrs.Factory(lambda self: _own_fields(self.base), takes_self=True))
    _tables: dict[tuple[str, tuple[Setting, ...]], Any] = attrs.field(factory=dict, init=False)

    def changed(self, settings: Iterable[Setting]) -> DeviceSpec:
        """The base with settings such as ("device.dma.outstanding", "8"). Raises SpecError."""
        try:
            return DeviceSpec(**(self._fields | self._changes(settings)))
        except (SpecError, TypeError, AttributeError):
            return override(self.base, _nested(settings, DEVICE))  # judges all of it, and reports every error

    def _changes(self, settings: Iterable[Setting]) -> dict[str, Any]:
        """The fields of the device that change. Raises AttributeError or TypeError for a table that there is not."""
        changes: dict[str, Any] = {}
        tables: dict[str, list[Setting]] = {}
        for key, text in settings:
            name, _, inner = key.removeprefix(DEVICE).partition(".")
            if inner:
                tables.setdefault(name, []).append((inner, text))
            else:
                changes[name] = _field_value(setting_value(text))
        for name, own in tables.items():
            changes[name] = self._table(name, tuple(own))
        return changes

    def _table(self, name: str, settings: tuple[Setting, ...]) -> Any:
        """A table of the base with settings relative to it, the same object each time."""
        made = self._tables.get((name, settings))
        if made is None:
            made = self._tables[name, settings] = _evolved(getattr(self.base, name), _nested(settings))
        return made


def _own_fields(part: Any) -> dict[str, Any]:
    return {field.name: getattr(part, field.name) for field in attrs.fields(type(part))}


def _evolved(part: Any, nested: dict[str, Any]) -> Any:
    """A copy with the changes. Raises AttributeError or TypeError for what is no field, or has none."""
    if not attrs.has(type(part)):
        raise TypeError(part)
    values, fields = {}, attrs.fields_dict(type(part))
    for name, new in nested.items():
        if name not in fields:
            raise AttributeError(name)
        values[name] = _evolved(getattr(part, name), new) if isinstance(new, dict) else _field_value(new)
    return attrs.evolve(part, **values)


def _nested(settings: Iterable[Setting], prefix: str = "") -> dict[str, Any]:
    """Settings as nested tables, without the prefix of their keys."""
    nested: dict[str, Any] = {}
    for key, text in settings:
        *way, last = key.removeprefix(prefix).split(".")
        table = nested
        for step in way:
            table = table.setdefault(step, {})
        table[last] = setting_value(text)
    return nested


def _field_value(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
