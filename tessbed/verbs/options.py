"""Options that verbs share, and how they look at a terminal."""

import os
import sys
from collections.abc import Callable
from typing import Any

import click

Decorated = Callable[..., Any]


def scenario_arguments(function: Decorated) -> Decorated:
    """FILE (a path or a catalogue name), --set and --seed: what `library.load` takes."""
    return _scenario(function, required=True)


def optional_scenario_arguments(function: Decorated) -> Decorated:
    """The same for a verb that can do without a FILE."""
    return _scenario(function, required=False)


def _scenario(function: Decorated, *, required: bool) -> Decorated:
    for decorate in (
        click.option("--seed", type=click.IntRange(0, 2**64 - 1), metavar="N", help="Use this seed, not the file's."),
        click.option(
            "--set",
            "settings",
            multiple=True,
            metavar="KEY=VALUE",
            help="Override a key, for example device.workers=8 or jobs.*.backend=a65. Can be repeated.",
        ),
        click.argument("file", metavar="SCENARIO", required=required),
    ):
        function = decorate(function)
    return function


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="Say nothing beside the result.")


def colour(stream: Any = None) -> bool:
    """True where colours may be used: a terminal, and no NO_COLOR in the environment."""
    return not os.environ.get("NO_COLOR") and (stream or sys.stdout).isatty()


def say(text: str, *, quiet: bool = False) -> None:
    """Talk: for the person, not for the pipe."""
    if not quiet:
        click.echo(text, err=True)


def command(name: str, help_text: str) -> Callable[[Decorated], click.Command]:
    """A verb's click command, with -h beside --help."""
    settings = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
    return click.command(name, help=help_text, context_settings=settings)
