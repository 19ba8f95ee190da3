"""The JSON Schema of scenario files, made from the table of keys and from the device's fields."""

import json
from typing import Any

import attrs

from tessbed.scenarios.format.load.load_keys import SCENARIO_FILE
from tessbed.scenarios.format.schema_keys import DEVICE, Key
from tessbed.sim.spec.device_spec import DeviceSpec, preset_names

PRESET_MEANING = "the device to start from: a preset that ships, a file, or what a package brings"
TYPES = {int: "integer", str: "string", bool: "boolean"}


def schema() -> dict[str, Any]:
    """The schema as a document of draft 2020-12."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Tessbed scenario",
        **_table(SCENARIO_FILE),
    }


def schema_text() -> str:
    """The schema as it is published."""
    return json.dumps(schema(), indent=2) + "\n"


def _table(keys: tuple[Key, ...]) -> dict[str, Any]:
    required = [key.name for key in keys if key.required]
    return {
        "type": "object",
        "properties": {key.name: _key(key) for key in keys},
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def _key(key: Key) -> dict[str, Any]:
    default = {"default": key.default} if key.default not in (None, "") else {}
    return {"description": key.meaning, **default, **_content(key)}


def _content(key: Key) -> dict[str, Any]:
    if key.many:
        return {"type": "array", "minItems": 1, "items": _entry(key)}
    if key.table:
        return {"anyOf": [key.kind.schema, _table(key.table)]} if key.kind else _table(key.table)
    if key.kind is DEVICE:
        named = [{"enum": list(preset_names())}, {"type": "string", "minLength": 1}]
        preset = {"description": PRESET_MEANING, "anyOf": named, "default": "ev74-4core"}
        fields = _fields(DeviceSpec)
        return {**fields, "properties": {"preset": preset, **fields["properties"]}}
    assert key.kind is not None
    return key.kind.schema


def _entry(key: Key) -> dict[str, Any]:
    """An entry of a list, of one form or another: each has its keys and no others."""
    if not key.forms:
        return _table(key.table)
    tables = [key.table, *(keys for _, _, keys in key.forms)]
    merged: dict[str, Any] = {}
    for inner in (inner for keys in tables for inner in keys):
        merged.setdefault(inner.name, _key(inner))
    rule = _form(key.table, merged)
    for name, value, keys in reversed(key.forms):
        marked = {"required": [name], **({"properties": {name: {"enum": [value]}}} if value else {})}
        rule = {"if": marked, "then": _form(keys, merged), "else": rule}
    return {"type": "object", "properties": merged, "additionalProperties": False, **rule}


def _form(keys: tuple[Key, ...], merged: dict[str, Any]) -> dict[str, Any]:
    """What one form asks for: the keys that it needs, and none of the other forms'."""
    own = [key.name for key in keys]
    foreign = [name for name in merged if name not in own]
    return {
        "required": [key.name for key in keys if key.required],
        "properties": dict.fromkeys(foreign, False),
    }


def _fields(spec: Any) -> dict[str, Any]:
    """A table of the device, from the limits in its fields' metadata."""
    properties = {field.name: _field(field) for field in attrs.fields(spec)}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _field(field: Any) -> dict[str, Any]:
    if attrs.has(field.type):
        return _fields(field.type)
    about = field.metadata
    unit = f" ({about['unit']})" if about["unit"] else ""
    said = {"description": f"{about['meaning']}{unit}"}
    if field.type not in TYPES:
        return {**said, "type": "array", "items": {"type": "integer", "minimum": 0}, "default": []}
    limits: dict[str, Any] = {"type": TYPES[field.type], "default": field.default}
    if field.type is int:
        limits |= {"minimum": about["low"], "maximum": about["high"]}
    if about["choices"]:
        limits["enum"] = list(about["choices"])
    return {**said, **limits}
