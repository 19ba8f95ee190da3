"""`tessbed validate`: reads scenario files and reports every mistake in them, without running anything."""

import json

import click

from tessbed.scenarios.library import load
from tessbed.scenarios.problems import Problem, ScenarioError
from tessbed.verbs.options import command as verb
from tessbed.verbs.options import json_option


@verb("validate", "Check scenario files (paths or catalogue names), every mistake at once; exit 2 when there is one.")
@click.argument("files", metavar="SCENARIO...", nargs=-1)
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Override a key in every file.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of scenario files, for editors.")
@json_option
def command(files: tuple[str, ...], settings: tuple[str, ...], schema: bool, as_json: bool) -> None:
    """One line for each sound file on stdout; raises ScenarioError with the mistakes of all the others."""
    if schema:
        from tessbed.scenarios.schema import schema_text

        click.echo(schema_text(), nl=False)
        return
    if not files:
        raise click.UsageError("missing SCENARIO: a path, or a name that `tessbed list` shows")
    sound, problems = [], list[Problem]()
    for file in files:
        try:
            scenario = load(file, settings)
        except ScenarioError as error:
            problems += error.problems
        else:
            sound.append({"file": file, "name": scenario.name, "jobs": len(scenario.jobs)})
    if not as_json:
        for entry in sound:
            click.echo(f"{entry['file']}: ok, {entry['jobs']} job{'s' * (entry['jobs'] != 1)}")
    if problems:
        raise ScenarioError(problems)
    if as_json:
        click.echo(json.dumps(sound, indent=2))
