"""Preset text: a device as the text of a preset file, with where its fields come from."""

from collections.abc import Mapping
from typing import Any

from tessbed.scenarios.format.presets.preset_origins import board_values, field_value
from tessbed.scenarios.format.toml_writer import value_text
from tessbed.sim.spec.device_spec import DeviceSpec, to_mapping
from tessbed.sim.spec.origins import Origins


def preset_text(
    device: DeviceSpec, origins: Origins, about: str = "", base: tuple[str, DeviceSpec] | None = None
) -> str:
    """The text: reading it gives the device and the origins. A field of known origin is a table on its line.

    With a `base`, a preset by its name, the file starts from that, and has the other fields alone.
    """
    head = {"about": about} if about else {}
    fields = _with_origins(to_mapping(device), "", origins)
    if base is not None:
        head["preset"] = base[0]
        fields = _beyond(fields, to_mapping(base[1]))
    return "\n".join(_lines({**head, **fields, **board_values(origins)}, "")) + "\n"


def _with_origins(values: Mapping[str, Any], prefix: str, origins: Origins) -> dict[str, Any]:
    """Each field as it is written: a text, or the lines of a table."""
    written: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            written[name] = _with_origins(value, f"{prefix}{name}.", origins)
        else:
            origin = origins.origin(f"{prefix}{name}", tuple(value) if isinstance(value, list) else value)
            written[name] = _Inline(field_value(origin)) if origin else value
    return written


def _beyond(fields: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that differ from those of the base, or have an origin."""
    kept = {}
    for name, value in fields.items():
        if isinstance(value, Mapping) and type(value) is not _Inline:
            value = _beyond(value, base[name])
        if value != base[name] and value != {}:
            kept[name] = value
    return kept


class _Inline(dict[str, Any]):
    """A table that stays on its line."""


def _lines(values: Mapping[str, Any], name: str) -> list[str]:
    """Plain values and tables of origins first, then the other tables, each under its header."""
    tables = {key: value for key, value in values.items() if isinstance(value, Mapping) and type(value) is not _Inline}
    lines = [f"{key} = {value_text(value)}" for key, value in values.items() if key not in tables]
    for key, table in tables.items():
        lines += ["", f"[{name}{key}]", *_lines(table, f"{name}{key}.")]
    return lines
