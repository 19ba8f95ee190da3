"""`tessbed show`: what a scenario asks for, and what it comes down to."""

import json

import click

from tessbed.scenarios import library, show
from tessbed.scenarios.model import to_values
from tessbed.scenarios.toml_text import toml_text
from tessbed.verbs.options import command as verb
from tessbed.verbs.options import json_option, scenario_arguments


@verb("show", "Show SCENARIO in words. With --toml or --json: every key, with all defaults spelled out.")
@scenario_arguments
@click.option("--toml", "as_toml", is_flag=True, help="Print a complete scenario file.")
@click.option("--source", is_flag=True, help="Print the file as it was written, comments and all.")
@json_option
def command(file: str, settings: tuple[str, ...], seed: int | None, as_toml: bool, source: bool, as_json: bool) -> None:
    """The scenario on stdout."""
    if source:
        click.echo(library.read_text(library.find(file), file), nl=False)
        return
    scenario = library.load(file, settings, seed)
    if as_json:
        click.echo(json.dumps(to_values(scenario), indent=2))
    elif as_toml:
        click.echo(toml_text(to_values(scenario)), nl=False)
    else:
        for line in show.lines(scenario):
            click.echo(line)
