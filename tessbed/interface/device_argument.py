"""Device argument: what may be given for a device: a preset, a preset file, a table of fields, a DeviceSpec."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tessbed.interface.argument_values import plain_value, refused
from tessbed.scenarios.format.diagnostics import Location
from tessbed.scenarios.format.presets.preset_file import DevicePreset, PresetSource, is_file_name, read_preset
from tessbed.scenarios.format.presets.preset_packages import package_presets
from tessbed.sim.spec.device_spec import DeviceSpec, override, preset_names
from tessbed.sim.spec.origins import Origins

WANTED = "a preset, the path of a preset file, a table of device fields or a DeviceSpec"
DEFAULT = "ev74-4core"


def device_of(device: object, fields: Mapping[str, Any]) -> DeviceSpec:
    """The device with its `fields` changed. Raises SpecError, and ScenarioError for errors inside a preset file."""
    changes = {name: plain_value(value) for name, value in fields.items()}
    if isinstance(device, Mapping):
        table = plain_value(device)
        return override(override(_named(table.pop("preset", DEFAULT)), table), changes)
    return override(_named(device), changes)


def origins_of(device: object) -> tuple[str, Origins]:
    """The name of the preset that a device starts from, and where its values come from. Raises as `device_of`."""
    named = device.get("preset", DEFAULT) if isinstance(device, Mapping) else device
    return "" if isinstance(named, DeviceSpec) else str(named), _preset(named).origins


def _named(device: object) -> DeviceSpec:
    return _preset(device).device


def _preset(device: object) -> DevicePreset:
    if isinstance(device, DeviceSpec):
        return DevicePreset(device)
    name = os.fspath(device) if isinstance(device, os.PathLike) else device
    if not isinstance(name, str):
        raise refused("device", device, WANTED)
    known = preset_names()
    if name not in known and not _is_there(name):
        if is_file_name(name):
            raise refused("device", name, f"{WANTED}: there is no such file")
        names = [*known, *package_presets()]
        raise refused("device", name, f"{WANTED}; the presets are {', '.join(names)}", names)
    return read_preset(name, PresetSource(Path(), Location("device")))


def _is_there(name: str) -> bool:
    return Path(name).is_file() if is_file_name(name) else name in package_presets()
