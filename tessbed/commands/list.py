"""`tessbed list`: the catalogue, one scenario per line, the devices, and the failure cases."""

from pathlib import Path
from typing import TYPE_CHECKING

from tessbed.commands import drill
from tessbed.commands.options import json_option, new_command, print_result
from tessbed.scenarios.output.text_table import aligned
from tessbed.scenarios.shipped import catalogue

if TYPE_CHECKING:
    from tessbed.scenarios.model import Scenario

HELP = """List what ships with tessbed: scenarios, for `tessbed run NAME`, devices, for `device.preset`, and failure
cases, for `tessbed drill NAME`. Devices that installed packages bring (entry points of the group `tessbed.presets`) are
listed, too."""


@new_command("list", HELP)
@json_option
def command(as_json: bool) -> None:
    """The catalogue and the failure cases on stdout."""
    from tessbed.scenarios.library import load

    scenarios = {name: load(str(path)) for name, path in catalogue().items()}
    print_result(_document(scenarios), lambda: _lines(scenarios), as_json=as_json)


def _lines(scenarios: "dict[str, Scenario]") -> list[str]:
    rows = [_row(name, scenario) for name, scenario in scenarios.items()]
    devices = [(entry["device"], entry["from"], entry["about"]) for entry in _devices()]
    return [
        *aligned(("scenario", "jobs", "bytes", "about"), rows, numbers=(1, 2)),
        "",
        *aligned(("device", "from", "about"), devices),
        "",
        *drill.failure_table(),
    ]


def _devices() -> list[dict[str, str]]:
    """The presets that ship, and those of packages; what is wrong with one of a package is in its place."""
    from tessbed.scenarios.format.presets.preset_packages import package_presets
    from tessbed.sim.spec.device_spec import preset_names

    shipped = [{"device": name, "from": "tessbed", "about": _words(name)} for name in preset_names()]
    brought = [found for found in package_presets().values() if found.name not in preset_names()]
    return [
        *shipped,
        *(
            {"device": found.name, "from": found.package, "about": found.problem or _words(found.name)}
            for found in brought
        ),
    ]


def _words(name: str) -> str:
    """What a preset says about itself and how large it is, or the first thing that is wrong with it."""
    from tessbed.scenarios.format.diagnostics import Location, ScenarioError
    from tessbed.scenarios.format.presets.preset_file import PresetSource, read_preset

    try:
        found = read_preset(name, PresetSource(Path(), Location(name)))
    except ScenarioError as error:
        return f"can not be used: {error.problems[0]}"
    return found.about or f"{found.device.cores} core{'s' * (found.device.cores != 1)}"


def _document(scenarios: "dict[str, Scenario]") -> dict[str, object]:
    return {
        "schema_version": 1,
        "scenarios": [_summary(name, scenario) for name, scenario in scenarios.items()],
        "devices": _devices(),
        "drills": drill.failure_entries(),
    }


def _row(name: str, scenario: "Scenario") -> tuple[str, ...]:
    return name, str(len(scenario.jobs)), f"{_total_bytes(scenario):,}", scenario.about


def _summary(name: str, scenario: "Scenario") -> dict[str, object]:
    jobs = [job.name for job in scenario.jobs]
    return {"scenario": name, "about": scenario.about, "jobs": jobs, "bytes": _total_bytes(scenario)}


def _total_bytes(scenario: "Scenario") -> int:
    return sum(job.plan.input.required_bytes + job.plan.output.required_bytes for job in scenario.operations)
