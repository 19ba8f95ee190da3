"""`tessbed man`: the manual page, generated from the commands themselves."""

from collections.abc import Iterator
from importlib import import_module

import click

from tessbed import __version__
from tessbed.commands import group
from tessbed.commands.options import new_command
from tessbed.commands.streams import echo_file

HELP = """Print the manual page of tessbed, as roff: `tessbed man | man -l -` shows it.

A wheel installs it, too: where its prefix is on the path, `man tessbed` finds it."""

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


@new_command("man", HELP)
def command() -> None:
    """The page on stdout."""
    echo_file(page())


def page() -> str:
    """The manual page as roff."""
    lines = [
        f'.TH TESSBED 1 "" "tessbed {__version__}" "User Commands"',
        ".SH NAME",
        "tessbed \\- simulate the tile re\\-layout kernels of an edge\\-AI chip",
        ".SH SYNOPSIS",
        ".B tessbed",
        "COMMAND [ARGUMENTS]...",
        ".SH DESCRIPTION",
        _plain(group.ABOUT),
        "A SCENARIO is a TOML file, - for standard input, or a name that \\fBtessbed list\\fR shows.",
        ".SH COMMANDS",
    ]
    for name in group.COMMANDS:
        lines += _command_lines(name)
    lines += [".SH EXIT STATUS", *_list({str(code): meaning for code, meaning in EXITS.items()})]
    lines += [".SH ENVIRONMENT", *_list(VARIABLES)]
    return "\n".join(lines) + "\n"


def _command_lines(name: str) -> Iterator[str]:
    found: click.Command = import_module(f"tessbed.commands.{name}").command
    options = [option for option in found.params if isinstance(option, click.Option)]
    above = click.Context(group.group, info_name=group.PROGRAM)
    # With the command's own settings: it keeps the help option that its first context asks for.
    with click.Context(found, above, name, **found.context_settings) as context:
        yield f".SS {_plain(' '.join([group.PROGRAM, name, *found.collect_usage_pieces(context)]))}"
        for paragraph in (found.help or "").split("\n\n"):
            yield from _paragraph(paragraph)
        yield from _list(dict(filter(None, (option.get_help_record(context) for option in options))))


def _paragraph(text: str) -> list[str]:
    """A paragraph of a help text; after Click's mark its lines are kept."""
    if text.startswith("\b\n"):
        return [".PP", ".nf", *map(_plain, text.split("\n")[1:]), ".fi"]
    return [".PP", _plain(text.replace("\n", " "))]


def _list(entries: dict[str, str]) -> list[str]:
    return [line for term, text in entries.items() for line in (".TP", f"\\fB{_plain(term)}\\fR", _plain(text))]


def _plain(text: str) -> str:
    """Text that roff takes as it is."""
    safe = text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha")
    return f"\\&{safe}" if safe.startswith((".", "'")) else safe
