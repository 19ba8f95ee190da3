"""Resolve: from the settings of a point to the scenario, the device, and the key under which its result is kept."""

import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import attrs

from tessbed import __version__
from tessbed.scenarios.format.diagnostics import Location, ScenarioError
from tessbed.scenarios.format.overrides import value_of
from tessbed.scenarios.library import load
from tessbed.scenarios.model import Scenario, to_values
from tessbed.scenarios.study.measurement import check_workers, studied
from tessbed.scenarios.study.sweep.space import Setting, Space, settings_of
from tessbed.sim.errors import SpecError
from tessbed.sim.exact.engine import chosen_form
from tessbed.sim.spec.device_spec import DeviceSpec, override

DEVICE = "device."
PRESET = "device.preset"


@attrs.frozen
class Resolved:
    """A point that can run: a scenario that it shares with others, its own device, and its key."""

    base: Scenario
    device: DeviceSpec
    key: str


@attrs.define
class Resolver:
    """Resolves points of a scenario with `settings`; points that differ in the device alone share what is loaded.

    Raises EngineError for a form of the exact engine that was asked for and is not there.
    """

    name: str
    settings: tuple[str, ...]
    engine: str
    _loaded: dict[tuple[Setting, ...], tuple[Scenario, str] | ScenarioError] = attrs.field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        if self.engine != "simpy":
            chosen_form()

    def resolve(self, point: Sequence[Setting]) -> Resolved:
        """Raises ScenarioError or SpecError for values that do not go together."""
        others, changes = split(point)
        if others not in self._loaded:
            self._loaded[others] = self._load(others)
        loaded = self._loaded[others]
        if isinstance(loaded, ScenarioError):
            raise loaded
        base, digest = loaded
        device = changed(base.device, changes)
        check_workers(base, device)
        return Resolved(base, device, key_of(digest, device, self.engine))

    def refused_key(self, point: Sequence[Setting]) -> str:
        """A key for a point that can not be resolved."""
        return _digest(["refused", self.engine, self.name, self.settings, point])

    def _load(self, others: Sequence[Setting]) -> tuple[Scenario, str] | ScenarioError:
        try:
            base = studied(load(self.name, [*self.settings, *settings_of(others)]))
        except ScenarioError as error:
            return error
        return base, scenario_digest(base)


def split(point: Sequence[Setting]) -> tuple[tuple[Setting, ...], tuple[Setting, ...]]:
    """Settings that make another scenario, and those that only change its device.

    A table replaces what stands in its place, even what was set before it: then all are laid over the file in order.
    """
    inside = any(one.startswith(f"{other}.") for one, _ in point for other, _ in point)
    if inside or any(isinstance(_value(text), dict) for _, text in point):
        return tuple(point), ()
    quick = [setting for setting in point if setting[0].startswith(DEVICE) and setting[0] != PRESET]
    return tuple(setting for setting in point if setting not in quick), tuple(quick)


def changed(spec: DeviceSpec, changes: Sequence[Setting]) -> DeviceSpec:
    """The device with settings such as ("device.dma.outstanding", "8"). Raises SpecError."""
    nested: dict[str, Any] = {}
    for key, text in changes:
        *way, last = key.split(".")[1:]
        table = nested
        for step in way:
            table = table.setdefault(step, {})
        table[last] = _value(text)
    try:
        return _evolved(spec, nested)
    except (SpecError, TypeError, AttributeError):
        return override(spec, nested)  # judges all of it, and tells every mistake


def _evolved(part: Any, nested: dict[str, Any]) -> Any:
    """A copy with the changes, which the spec's own check judges: half of the work that `override` does.

    Raises AttributeError or TypeError for what is no field, or has none.
    """
    if not attrs.has(type(part)):
        raise TypeError(part)
    values, fields = {}, attrs.fields_dict(type(part))
    for name, new in nested.items():
        if name not in fields:
            raise AttributeError(name)
        old = getattr(part, name)
        values[name] = _evolved(old, new) if isinstance(new, dict) else tuple(new) if isinstance(new, list) else new
    return attrs.evolve(part, **values) if values else part


_value = lru_cache(maxsize=4096)(value_of)


def scenario_digest(scenario: Scenario) -> str:
    """What a scenario asks for, apart from its device and its words."""
    return _digest(
        {name: item for name, item in to_values(scenario).items() if name not in ("device", "name", "about")}
    )


def key_of(digest: str, device: DeviceSpec, engine: str) -> str:
    """The key of a point: version, engine, scenario, and every field of the resolved device."""
    return _digest([__version__, engine, digest, repr(device)])


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def check_configuration(name: str, settings: Sequence[str], space: Space, option: str) -> None:
    """Raise ScenarioError where a value of one axis is wrong whatever the others are: no value of it works.

    Also where there is nothing to study, unless an axis may change that. `option` is how the axes were given.
    """
    scenario = load(name, settings)
    if all(axis.key.startswith(DEVICE) for axis in space.axes):
        studied(scenario)
    for axis in space.axes:
        errors = [error for value in axis.values if (error := _refusal(scenario, name, settings, (axis.key, value)))]
        if (errors and len(errors) == len(axis.values)) or any(_unknown(error) for error in errors):
            raise _said_of(option, axis.key, errors[0])


def _refusal(scenario: Scenario, name: str, settings: Sequence[str], setting: Setting) -> ScenarioError | None:
    """What a setting alone makes wrong, if anything."""
    try:
        others, changes = split([setting])
        if not others:
            check_workers(scenario, changed(scenario.device, changes))
            return None
    except SpecError:
        pass  # told below with its place
    try:
        load(name, [*settings, *settings_of([setting])])
    except ScenarioError as error:
        return error
    return None


def _said_of(option: str, key: str, error: ScenarioError) -> ScenarioError:
    """The error with the option that was given, and not with the one of a single run."""
    mine = Location(f"--set {key}"), Location(f"{option} {key}")
    return ScenarioError([attrs.evolve(p, place=mine[1] if p.place == mine[0] else p.place) for p in error.problems])


def _unknown(error: ScenarioError) -> bool:
    return any("unknown" in problem.text for problem in error.problems)
