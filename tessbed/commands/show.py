"""`tessbed show`: what a scenario asks for, and what it resolves to."""

import click

from tessbed.commands.options import json_option, new_command, scenario_arguments
from tessbed.commands.streams import echo, echo_file, echo_json
from tessbed.scenarios.format.texts import find, read_text


@new_command("show", "Describe SCENARIO. With --toml or --json: every key, with all defaults spelled out.")
@scenario_arguments
@click.option("--toml", "as_toml", is_flag=True, help="Print a complete scenario file.")
@click.option("--source", is_flag=True, help="Print the file as it was written, comments and all.")
@json_option
def command(file: str, settings: tuple[str, ...], seed: int | None, as_toml: bool, source: bool, as_json: bool) -> None:
    """The scenario on stdout."""
    if source:
        echo_file(read_text(find(file), file))
        return
    from tessbed.scenarios import library, summary
    from tessbed.scenarios.format.toml_writer import toml_text
    from tessbed.scenarios.model import to_values

    scenario = library.load(file, settings, seed, to_run=False)
    if as_json:
        echo_json(to_values(scenario))
    elif as_toml:
        echo_file(toml_text(to_values(scenario)))
    else:
        echo(*summary.summary_lines(scenario))
