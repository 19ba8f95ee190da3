"""Device part: how the device differs from its preset, and every parameter, also of the A65, with its provenance."""

from collections.abc import Iterator
from typing import Any

import attrs

from tessbed.kernels.a65.cost.parameters import tick_parameters
from tessbed.scenarios.html_report.markup import Markup, element, note, section, table
from tessbed.scenarios.model import Scenario
from tessbed.scenarios.provenance.basis_words import scenario_words
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.spec.origins import FieldOrigin, Origins


@attrs.frozen
class ParameterRow:
    """A parameter of the device: its value here, and that of the preset."""

    name: str
    unit: str
    value: str
    preset: str
    meaning: str
    provenance: str

    @property
    def differs(self) -> bool:
        """Whether the scenario changed it."""
        return self.value != self.preset


def parameter_rows(device: DeviceSpec, preset: DeviceSpec, origins: Origins) -> list[ParameterRow]:
    """Every parameter, in the order of the device's fields."""
    return list(_walk(device, preset, "", origins))


def _walk(spec: Any, preset: Any, prefix: str, origins: Origins) -> Iterator[ParameterRow]:
    for field in attrs.fields(type(spec)):
        value, before = getattr(spec, field.name), getattr(preset, field.name)
        if attrs.has(type(value)):
            yield from _walk(value, before, f"{prefix}{field.name}.", origins)
        else:
            meta = field.metadata
            shown, known = (_shown(one, meta["unit"]) for one in (value, before))
            path = f"{prefix}{field.name}"
            origin = origins.origin(path, value)
            provenance = _words(origin) if origin else meta["provenance"]
            yield ParameterRow(path, meta["unit"], shown, known, meta["meaning"], provenance)


def _words(origin: FieldOrigin) -> str:
    if origin.interval is None:
        return origin.provenance
    low, high = origin.interval
    return f"{origin.provenance}, {low:,} to {high:,}"


def _shown(value: Any, unit: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:#x}" if unit == "address" else f"{value:,}"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def device_part(scenario: Scenario) -> Markup:
    """The configuration: differences first, then everything."""
    known = parameter_rows(scenario.device, scenario.preset_device, scenario.origins)
    changed = [one for one in known if one.differs]
    rows = [(one.name, one.preset, one.value, one.unit, one.meaning) for one in changed]
    head = ("parameter", "preset", "here", "unit", "meaning")
    every = _all(known, scenario)
    differences = table(head, rows, numbers=(1, 2)) if rows else note("Every parameter is as the preset has it.")
    return section(
        "Configuration",
        note(f"Device {scenario.preset}, seed {scenario.seed}: {len(changed)} of {len(known)} parameters differ."),
        differences,
        element("details", element("summary", "Every parameter and its provenance"), every, id="parameters"),
        anchor="configuration",
    )


def _all(known: list[ParameterRow], scenario: Scenario) -> Markup:
    basis = scenario_words(scenario)
    text = (
        f"{basis[:1].upper()}{basis[1:]}. Provenance: documented (by the chip's documents), public (stated by its "
        "maker), inferred (from those), guess (a plausible value, to be replaced). The last rows are the A65's."
    )
    rows = [(one.name, one.value, one.preset, one.unit, one.meaning, one.provenance) for one in known]
    rows += [(one.name, one.value, one.value, one.unit, one.meaning, one.provenance) for one in tick_parameters()]
    marked = [number for number, one in enumerate(known) if one.differs]
    head = ("parameter", "here", "preset", "unit", "meaning", "provenance")
    return Markup(note(text) + table(head, rows, numbers=(1, 2), marked=marked))
