"""Resolver: from the settings of a point to the scenario, the device, and the key under which its result is kept."""

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import compress
from operator import attrgetter
from pathlib import Path
from typing import Any

import attrs

from tessbed import __version__
from tessbed.scenarios.custom.preparation import hashed
from tessbed.scenarios.format.diagnostics import ScenarioError, option_place
from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.overrides import apply, dotted
from tessbed.scenarios.format.toml_source import Source
from tessbed.scenarios.library import read_source
from tessbed.scenarios.model import Scenario, to_values
from tessbed.scenarios.study.measurement import check_workers, studied
from tessbed.scenarios.study.sweep.device_family import DEVICE, DeviceFamily, setting_value
from tessbed.scenarios.study.sweep.load_sweep import LOAD
from tessbed.scenarios.study.sweep.space import Setting, Space, SweptParameter, settings_of
from tessbed.sim.errors import SpecError
from tessbed.sim.exact.engine import chosen_form
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.spec.origins import field_values

PRESET = "device.preset"
SourceReader = Callable[[str], tuple[Source, Path]]
"""How a scenario's source and the folder of its files are read, by its name."""


@attrs.frozen
class ResolvedPoint:
    """A point that can run: a scenario that it shares with others, its own device, and its key."""

    base: Scenario
    device: DeviceSpec
    key: str


@attrs.frozen
class Base:
    """A scenario file, read once, with the settings that hold at every point."""

    read: tuple[Source, Path]
    settings: tuple[str, ...]

    def with_settings(self, more: Sequence[Setting]) -> Scenario:
        """The scenario with more settings. Raises ScenarioError."""
        source, folder = self.read
        return compose(apply(source, [*self.settings, *settings_of(more)]), folder)


@attrs.frozen
class LoadedBase:
    """A scenario that points share, the digest of what it asks for, and the devices that differ from its own."""

    scenario: Scenario
    digest: str
    devices: DeviceFamily


@attrs.define
class Resolver:
    """Resolves points of a scenario with `settings`; points that differ in the device alone share what is loaded.

    Raises EngineError for a form of the exact engine that was asked for and is not there.
    """

    name: str
    settings: tuple[str, ...]
    engine: str
    read: SourceReader = read_source
    _base: Base | None = attrs.field(default=None, init=False)
    _loaded: dict[tuple[Setting, ...], LoadedBase | ScenarioError] = attrs.field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        if self.engine != "simpy":
            chosen_form()

    def resolve(self, point: Sequence[Setting]) -> ResolvedPoint:
        """Raises ScenarioError or SpecError for values that do not go together."""
        others, changes = split(point) if self.engine != LOAD else (tuple(point), ())
        if others not in self._loaded:
            self._loaded[others] = self._load(others)
        loaded = self._loaded[others]
        if isinstance(loaded, ScenarioError):
            raise loaded
        device = loaded.devices.changed(changes)
        check_workers(loaded.scenario, device)
        return ResolvedPoint(loaded.scenario, device, key_of(loaded.digest, device, self.engine))

    def refused_key(self, point: Sequence[Setting]) -> str:
        """A key for a point that can not be resolved."""
        return _digest(["refused", self.engine, self.name, self.settings, point])

    def _load(self, others: Sequence[Setting]) -> LoadedBase | ScenarioError:
        try:
            self._base = self._base or Base(self.read(self.name), self.settings)
            found = self._base.with_settings(others)
            base = hashed(found if self.engine == LOAD else studied(found))
        except ScenarioError as error:
            return error
        digest = load_digest(base) if self.engine == LOAD else scenario_digest(base)
        return LoadedBase(base, digest, DeviceFamily(base.device))


def split(point: Sequence[Setting]) -> tuple[tuple[Setting, ...], tuple[Setting, ...]]:
    """Settings that make another scenario, and those that only change its device.

    A table replaces what is in its place, even what was set before it: then all are laid over the file in order.
    """
    changes_device, apart = _kinds(tuple([key for key, _ in point]))
    if not apart or any(isinstance(setting_value(text), dict) for _, text in point):
        return tuple(point), ()
    if all(changes_device):
        return (), tuple(point)
    others = [setting for setting, changes in zip(point, changes_device, strict=True) if not changes]
    return tuple(others), tuple(compress(point, changes_device))


@lru_cache(maxsize=256)
def _kinds(keys: tuple[str, ...]) -> tuple[list[bool], bool]:
    """Of each key whether it only changes the device; of all whether none names a table around another."""
    return [key.startswith(DEVICE) and key != PRESET for key in keys], not _one_inside_another(keys)


def _one_inside_another(keys: Sequence[str]) -> bool:
    """True where one key names a table around another."""
    tables = {
        ".".join(steps[:depth]) for steps in (dotted(key).split(".") for key in keys) for depth in range(1, len(steps))
    }
    return not tables.isdisjoint(map(dotted, keys))


def scenario_digest(scenario: Scenario) -> str:
    """What a scenario asks for, apart from its device and its words."""
    return _digest(
        {name: item for name, item in to_values(scenario).items() if name not in ("device", "name", "about")}
    )


def load_digest(scenario: Scenario) -> str:
    """What the load of a scenario asks for, with the rows of traces, of which a scenario has the file's name alone."""
    streams = scenario.load.streams if scenario.load else ()
    return _digest([scenario_digest(scenario), [stream.arrivals.ticks for stream in streams]])


_fields_of = attrgetter(*(path for path, _ in field_values(DeviceSpec())))


def key_of(digest: str, device: DeviceSpec, engine: str) -> str:
    """The key of a point: version, engine, scenario, and every field of the resolved device."""
    return hashlib.sha256(repr((__version__, engine, digest, _fields_of(device))).encode()).hexdigest()


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def check_configuration(
    name: str,
    settings: Sequence[str],
    space: Space,
    option: str,
    read: SourceReader = read_source,
    *,
    of_load: bool = False,
) -> None:
    """Raise ScenarioError where a value of one axis is wrong whatever the others are: no value of it works.

    Also where there is nothing to study, unless an axis may change that. `option` is how the axes were given. An axis
    is left as soon as one of its values works, but for values that are no numbers: those may name what there is not.
    """
    base = Base(read(name), tuple(settings))
    scenario = base.with_settings([])
    if not of_load and all(axis.key.startswith(DEVICE) for axis in space.axes):
        studied(scenario)
    if of_load:
        from tessbed.scenarios.study.load.compilation import check_streams

        check_streams(scenario)
    for axis in space.axes:
        if error := _refusal_of_axis(base, scenario, axis):
            raise _said_of(option, axis.key, error)


def _refusal_of_axis(base: Base, scenario: Scenario, axis: SweptParameter) -> ScenarioError | None:
    """Why no value of the axis works, or why one of them never can, if so."""
    first, works = None, False
    for value in axis.values:
        number = isinstance(setting_value(value), int | float)
        if number and works:
            continue
        setting = (axis.key, value)
        if _fits_the_device(scenario, setting):
            works = True
            continue
        if number and first and setting[0].startswith(DEVICE):
            continue
        error = _refusal(base, setting)
        if error and _unknown(error):
            return error
        works, first = works or error is None, first or error
    return None if works else first


def _fits_the_device(scenario: Scenario, setting: Setting) -> bool:
    """True for a setting that changes the device alone, and can be."""
    others, changes = split([setting])
    if others:
        return False
    try:
        check_workers(scenario, DeviceFamily(scenario.device).changed(changes))
    except SpecError:
        return False
    return True


def _refusal(base: Base, setting: Setting) -> ScenarioError | None:
    """What a setting alone makes wrong, with its place, if anything."""
    try:
        base.with_settings([setting])
    except ScenarioError as error:
        return error
    return None


def _said_of(option: str, key: str, error: ScenarioError) -> ScenarioError:
    """The error with the option that was given, and not with the one of a single run."""
    mine = option_place("--set", key), option_place(option, key)
    return ScenarioError([attrs.evolve(p, place=mine[1] if p.place == mine[0] else p.place) for p in error.problems])


def _unknown(error: ScenarioError) -> bool:
    return any("unknown" in problem.text for problem in error.problems)
