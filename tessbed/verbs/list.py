"""`tessbed list`: the catalogue, one scenario a line, and the drills."""

import json

import click

from tessbed.scenarios.drills.format import shipped
from tessbed.scenarios.library import catalogue, load
from tessbed.scenarios.model import Scenario
from tessbed.scenarios.text_table import aligned
from tessbed.verbs import drill
from tessbed.verbs.options import command as verb
from tessbed.verbs.options import json_option

HELP = "List what ships with tessbed: scenarios, for `tessbed run NAME`, and drills, for `tessbed drill NAME`."


@verb("list", HELP)
@json_option
def command(as_json: bool) -> None:
    """The catalogue and the drills on stdout."""
    scenarios = {name: load(str(path)) for name, path in catalogue().items()}
    if as_json:
        click.echo(json.dumps(_document(scenarios), indent=2))
        return
    rows = [_row(name, scenario) for name, scenario in scenarios.items()]
    table = aligned(("scenario", "jobs", "bytes", "about"), rows, numbers=(1, 2))
    click.echo("\n".join([*table, "", *drill.table()]))


def _document(scenarios: dict[str, Scenario]) -> dict[str, object]:
    return {
        "schema_version": 1,
        "scenarios": [_summary(name, scenario) for name, scenario in scenarios.items()],
        "drills": [{"drill": name, "about": script.about} for name, script in shipped().items()],
    }


def _row(name: str, scenario: Scenario) -> tuple[str, ...]:
    return name, str(len(scenario.jobs)), f"{_total_bytes(scenario):,}", scenario.about


def _summary(name: str, scenario: Scenario) -> dict[str, object]:
    jobs = [job.name for job in scenario.jobs]
    return {"scenario": name, "about": scenario.about, "jobs": jobs, "bytes": _total_bytes(scenario)}


def _total_bytes(scenario: Scenario) -> int:
    return sum(job.plan.input.required_bytes + job.plan.output.required_bytes for job in scenario.jobs)
