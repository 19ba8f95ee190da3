"""What each command says of itself, taken from Click: for the manual page and for the reference of commands."""

from collections.abc import Iterator
from importlib import import_module

import attrs
import click

from tessbed.commands import group

EXITS = {
    0: "every check passed",
    1: "a check failed",
    2: "usage or invalid input; with --json the diagnostics are a document on stdout",
    3: "an unexpected fault, loss or hang of the simulated device",
    4: "a hazard or a lifetime violation",
    70: "tessbed itself failed; there is no verdict",
    74: "the output can not be written",
    130: "interrupted",
    141: "the reader of the output closed it",
}
VARIABLES = {
    "NO_COLOR": "no colours, whatever its value",
    "TESSBED_ROWS": "native or numpy: the rows of the A65 executor",
    "TESSBED_EXACT": "native or python: the form of the exact engine",
}


@attrs.frozen
class Paragraph:
    """A paragraph of a help text: one line of words, or lines to keep as they are."""

    lines: tuple[str, ...]
    kept: bool = False


@attrs.frozen
class CommandHelp:
    """A command: how it is called, what it does, and its options with their metavars."""

    name: str
    usage: str
    paragraphs: tuple[Paragraph, ...]
    options: dict[str, str]


def command_helps() -> Iterator[CommandHelp]:
    """The help of every command, in the order of the table; behind a group that of its commands."""
    for name in group.COMMANDS:
        found: click.Command = import_module(f"tessbed.commands.{name}").command
        yield command_help(name, found)
        if isinstance(found, group.CommandGroup):
            for inner in found.table:
                yield command_help(f"{name} {inner}", import_module(f"{found.package}.{inner}").command)


def command_help(name: str, found: click.Command) -> CommandHelp:
    """The help of one command."""
    options = [option for option in found.params if isinstance(option, click.Option)]
    above = click.Context(group.group, info_name=group.PROGRAM)
    # With the command's own settings: it keeps the help option that its first context asks for.
    with click.Context(found, above, name, **found.context_settings) as context:
        usage = " ".join([group.PROGRAM, name, *found.collect_usage_pieces(context)])
        records = dict(filter(None, (option.get_help_record(context) for option in options)))
    return CommandHelp(name, usage, tuple(map(_paragraph, (found.help or "").split("\n\n"))), records)


def _paragraph(text: str) -> Paragraph:
    """A paragraph of a help text; after Click's mark its lines are kept."""
    if text.startswith("\b\n"):
        return Paragraph(tuple(text.split("\n")[1:]), kept=True)
    return Paragraph((text.replace("\n", " "),))
