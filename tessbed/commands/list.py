"""`tessbed list`: the catalogue, one scenario per line, and the failure cases."""

from typing import TYPE_CHECKING

from tessbed.commands import drill
from tessbed.commands.options import json_option, new_command, print_result
from tessbed.scenarios.output.text_table import aligned
from tessbed.scenarios.shipped import catalogue

if TYPE_CHECKING:
    from tessbed.scenarios.model import Scenario

HELP = "List what ships with tessbed: scenarios, for `tessbed run NAME`, and failure cases, for `tessbed drill NAME`."


@new_command("list", HELP)
@json_option
def command(as_json: bool) -> None:
    """The catalogue and the failure cases on stdout."""
    from tessbed.scenarios.library import load

    scenarios = {name: load(str(path)) for name, path in catalogue().items()}
    print_result(_document(scenarios), lambda: _lines(scenarios), as_json=as_json)


def _lines(scenarios: "dict[str, Scenario]") -> list[str]:
    rows = [_row(name, scenario) for name, scenario in scenarios.items()]
    return [*aligned(("scenario", "jobs", "bytes", "about"), rows, numbers=(1, 2)), "", *drill.failure_table()]


def _document(scenarios: "dict[str, Scenario]") -> dict[str, object]:
    return {
        "schema_version": 1,
        "scenarios": [_summary(name, scenario) for name, scenario in scenarios.items()],
        "drills": drill.failure_entries(),
    }


def _row(name: str, scenario: "Scenario") -> tuple[str, ...]:
    return name, str(len(scenario.jobs)), f"{_total_bytes(scenario):,}", scenario.about


def _summary(name: str, scenario: "Scenario") -> dict[str, object]:
    jobs = [job.name for job in scenario.jobs]
    return {"scenario": name, "about": scenario.about, "jobs": jobs, "bytes": _total_bytes(scenario)}


def _total_bytes(scenario: "Scenario") -> int:
    return sum(job.plan.input.required_bytes + job.plan.output.required_bytes for job in scenario.jobs)
