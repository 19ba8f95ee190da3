"""Preset files: a device of one's own as a TOML file of device fields, over another preset where it names one.

    # mychip.toml
    about = "our chip: two cores, wide rows"
    preset = "ev74-axi"                # what it starts from; the default device without the key
    cores = 2
    dma = { outstanding = 8 }

A field may say where its value comes from (see `preset_origins`). A preset is named by what ships, by a file relative
to whoever names it, or by what a package brings.
"""

from collections.abc import Iterator
from pathlib import Path

import attrs

from tessbed.scenarios.format.diagnostics import KeyPath, Location, Problem, ScenarioError, path_text
from tessbed.scenarios.format.presets.preset_origins import TABLE, read_origins
from tessbed.scenarios.format.presets.preset_packages import package_presets
from tessbed.scenarios.format.reader import describe_value
from tessbed.scenarios.format.texts import read_text
from tessbed.scenarios.format.toml_source import Source, parse_toml
from tessbed.sim.errors import SpecError
from tessbed.sim.spec.device_spec import DeviceSpec, load_preset, override, preset_about, preset_names
from tessbed.sim.spec.limits import unknown
from tessbed.sim.spec.origins import Origins

ABOUT, PRESET = "about", "preset"
STRANGERS = ("jobs", "device")
NO_FIELDS = (ABOUT, PRESET, TABLE, *STRANGERS)


@attrs.frozen
class PresetSource:
    """Who names a preset: the folder that files are relative to, the place of the name and what messages call it.

    `files` are the preset files on the way.
    """

    folder: Path
    place: Location
    key: str = ""
    files: tuple[Path, ...] = ()


@attrs.frozen
class DevicePreset:
    """A preset that was read: the device, what its file says about it, and where its values come from."""

    device: DeviceSpec
    about: str = ""
    origins: Origins = attrs.field(factory=Origins)


def is_file_name(name: str) -> bool:
    """Whether a preset's name is that of a file."""
    return name.endswith(".toml") or "/" in name or "\\" in name


def read_preset(name: str, source: PresetSource) -> DevicePreset:
    """The preset of that name. Raises ScenarioError with every error, each at its place."""
    if name in preset_names():
        return DevicePreset(load_preset(name), preset_about(name))
    if is_file_name(name):
        path = source.folder / name
        if not path.is_file():
            what = "is a folder" if path.is_dir() else "does not exist"
            raise _refused(source, f'got "{name}", wanted a preset or its file: {path} {what}', "no_such_file")
        return _of_file(path, source)
    brought = package_presets()
    if name not in brought:
        if (source.folder / f"{name}.toml").is_file():
            raise _refused(source, f"unknown preset {name!r}; did you mean the file '{name}.toml'?")
        raise _refused(source, unknown("preset", name, [*preset_names(), *brought]))
    found = brought[name]
    if found.path is None or found.problem:
        raise _refused(source, f"preset {name!r}: {found.problem}", "no_such_file")
    return _of_file(found.path, source)


def _of_file(path: Path, source: PresetSource) -> DevicePreset:
    if path.resolve() in source.files:
        names = [file.name for file in (*source.files, path)]
        way = ", which starts from ".join(names[names.index(path.name) :])
        raise _refused(source, f"got {path.name}, wanted presets without a circle: {way}")
    shown = str(path)
    parsed = parse_toml(read_text(path, shown), shown)
    problems = list(_mistakes(parsed))
    base = _base(parsed, path, source, problems)
    values, origins = read_origins(parsed, problems)
    changes = {key: value for key, value in values.items() if key not in NO_FIELDS}
    device = base.device
    try:
        device = override(base.device, changes)
    except SpecError as error:
        problems += [_problem(parsed, path, text) for path, text in error.problems]
    if problems:
        raise ScenarioError(problems)
    origins = attrs.evolve(origins, device=device if origins.board else None).over(base.origins)
    return DevicePreset(device, parsed.values.get(ABOUT, ""), origins)


def _base(parsed: Source, path: Path, source: PresetSource, problems: list[Problem]) -> DevicePreset:
    """What the file starts from; the default device where that can not be had, with the problems noted."""
    name = parsed.values.get(PRESET)
    if not isinstance(name, str):
        return DevicePreset(DeviceSpec())
    inner = PresetSource(path.parent, parsed.place((PRESET,)), PRESET, (*source.files, path.resolve()))
    try:
        return read_preset(name, inner)
    except ScenarioError as error:
        problems += error.problems
        return DevicePreset(DeviceSpec())


def _mistakes(parsed: Source) -> Iterator[Problem]:
    """What is wrong with the keys that are no device fields."""
    for key in (ABOUT, PRESET):
        value = parsed.values.get(key, "text")
        if not isinstance(value, str) or not value.isprintable():
            yield Problem(parsed.place((key,)), f"{key}: got {describe_value(value)}, wanted text")
    for key in STRANGERS:
        if key in parsed.values:
            text = (
                f"{key}: got a key of a scenario, wanted a preset: device fields such as workers = 2, outside any table"
            )
            yield Problem(parsed.key_place((key,)), text, "unknown_key")


def _problem(parsed: Source, path: KeyPath, text: str) -> Problem:
    stranger = text.startswith("unknown field")
    place = parsed.key_place(path) if stranger else parsed.place(path)
    return Problem(place, f"{path_text(path)}: {text}", "unknown_key" if stranger else "invalid_value")


def _refused(source: PresetSource, text: str, code: str = "invalid_value") -> ScenarioError:
    return ScenarioError([Problem(source.place, f"{source.key}: {text}" if source.key else text, code)])
