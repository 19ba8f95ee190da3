"""The reference of commands: complete, and Markdown that shows the text of the help as it is."""

import re
from importlib import import_module
from pathlib import Path

import click
import pytest

from tessbed.commands.command_page import markdown_text
from tessbed.commands.group import COMMANDS

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## ([a-z]+)\n(.*?)(?=^## )", PAGE, re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_every_command_is_there(name: str) -> None:
    """Each command has a section with all names of its options, and the first two words of its help."""
    command: click.Command = import_module(f"tessbed.commands.{name}").command
    section = SECTIONS[name]
    rows = re.findall(r"^\| `([^`]*)` \|", section, re.MULTILINE)
    names = [set(re.findall(r"(?<![\w-])--?\w[\w-]*", row)) for row in rows]
    options = [option for option in command.params if isinstance(option, click.Option) and not option.hidden]
    assert names == [{*option.opts, *option.secondary_opts} for option in options]
    assert section.startswith(f"\n```text\ntessbed {name}")
    assert " ".join(command.help.split()[:2]) in section


TEXTS = {
    "code": ("see `tessbed list --json` and *", "see `tessbed list --json` and \\*"),
    "an option": ("with --fail-if, or --db", "with `--fail-if`, or `--db`"),
    "a key": ("jobs.*.backend <= 5_000 [default: 2]", "jobs.\\*.backend \\<= 5\\_000 \\[default: 2\\]"),
    "a name with hyphens": ("state--of-the-art a-b", "state--of-the-art a-b"),
}


@pytest.mark.parametrize("case", TEXTS)
def test_text_is_escaped(case: str) -> None:
    """What Markdown would take for its own is escaped, except inside code; options are code."""
    given, wanted = TEXTS[case]
    assert markdown_text(given) == wanted
