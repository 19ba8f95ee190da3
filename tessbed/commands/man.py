"""`tessbed man`: the manual page, generated from the commands themselves."""

from collections.abc import Iterator

from tessbed import __version__
from tessbed.commands import group
from tessbed.commands.command_help import EXITS, VARIABLES, CommandHelp, Paragraph, command_helps
from tessbed.commands.options import new_command
from tessbed.commands.streams import echo_file

HELP = """Print the manual page of tessbed, as roff: `tessbed man | man -l -` shows it.

A wheel installs it, too: where its prefix is on the path, `man tessbed` finds it."""


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
    for found in command_helps():
        lines += _command_lines(found)
    lines += [".SH EXIT STATUS", *_list({str(code): meaning for code, meaning in EXITS.items()})]
    lines += [".SH ENVIRONMENT", *_list(VARIABLES)]
    return "\n".join(lines) + "\n"


def _command_lines(found: CommandHelp) -> Iterator[str]:
    yield f".SS {_plain(found.usage)}"
    for paragraph in found.paragraphs:
        yield from _paragraph(paragraph)
    yield from _list(found.options)


def _paragraph(paragraph: Paragraph) -> list[str]:
    lines = map(_plain, paragraph.lines)
    return [".PP", ".nf", *lines, ".fi"] if paragraph.kept else [".PP", *lines]


def _list(entries: dict[str, str]) -> list[str]:
    return [line for term, text in entries.items() for line in (".TP", f"\\fB{_plain(term)}\\fR", _plain(text))]


def _plain(text: str) -> str:
    """Text that roff takes as it is."""
    safe = text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha")
    return f"\\&{safe}" if safe.startswith((".", "'")) else safe
