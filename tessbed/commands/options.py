"""Options that commands share, and the form of a command."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from tessbed.commands import interrupts
from tessbed.commands.streams import colour, echo, echo_json
from tessbed.commands.types import SCENARIO, SETTING, Number
from tessbed.scenarios.format.option_values import ARGUMENT

__all__ = ["colour", "echo_verdict", "json_option", "new_command", "print_result", "quiet_option", "say"]

Decorated = Callable[..., Any]
MAX_SEED = 2**64 - 1


class Command(click.Command):
    """A Click command: Ctrl-C interrupts its work, and lets it put its things in order."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the callback."""
        restore = interrupts.interrupt_work()
        try:
            return super().invoke(ctx)
        finally:
            restore()


def new_command(name: str, help_text: str) -> Callable[[Decorated], click.Command]:
    """A Click command, with -h beside --help."""
    settings = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
    return click.command(name, cls=Command, help=help_text, context_settings=settings)


def settings_option(help_text: str, *names: str) -> Callable[[Decorated], Decorated]:
    """--set KEY=VALUE, or an option of another name that takes the same."""
    if not names:
        return lambda function: _with_arguments(_settings("--set", "settings", help_text)(function))
    return _settings(*names, help_text)


def _settings(*names: str) -> Callable[[Decorated], Decorated]:
    """The option of these names; the last of them is its help text."""
    *own, text = names
    return click.option(*own, type=SETTING, multiple=True, metavar="KEY=VALUE", help=f"{text} Can be repeated.")


def _with_arguments(function: Decorated) -> Decorated:
    """--arg NAME=VALUE, which is a setting too: that argument of every job that runs a kernel of one's own."""

    @click.option(
        "--arg",
        "kernel_arguments",
        multiple=True,
        metavar="NAME=VALUE",
        help="Argument of a kernel of your own.",
    )
    @wraps(function)
    def command(*args: Any, settings: tuple[str, ...], kernel_arguments: tuple[str, ...], **options: Any) -> Any:
        more = tuple(f"{ARGUMENT}{text}" for text in kernel_arguments)
        return function(*args, settings=(*settings, *more), **options)

    return command


def scenario_arguments(function: Decorated) -> Decorated:
    """FILE (a path or a catalogue name), --set and --seed: what `library.load` takes."""
    return _scenario(function, required=True)


def optional_scenario_arguments(function: Decorated) -> Decorated:
    """The same for a command that can do without a FILE."""
    return _scenario(function, required=False)


def run_arguments(function: Decorated) -> Decorated:
    """The same for a command that takes more than scenarios, and calls it RUN."""
    return _scenario(function, required=True, metavar="RUN")


def _scenario(function: Decorated, *, required: bool, metavar: str = "SCENARIO") -> Decorated:
    for decorate in (
        click.option("--seed", type=Number(0, MAX_SEED), metavar="N", help="Use this seed, not the file's."),
        settings_option("Override a key, for example device.workers=8 or jobs.*.backend=a65."),
        click.argument("file", metavar=metavar, required=required, type=SCENARIO),
    ):
        function = decorate(function)
    return function


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="Print only the result.")


def say(text: str, *, quiet: bool = False) -> None:
    """Talk: for the person, not for the pipe."""
    if not quiet:
        echo(text, err=True)


def echo_verdict(lines: list[str], fine: bool) -> None:
    """The lines of a result, of which the last one is the verdict."""
    *body, verdict = lines
    echo(*body)
    echo(verdict, fg="green" if fine else "red", bold=True)


def print_result(document: Any, lines: Callable[[], Any], *, as_json: bool) -> None:
    """The result on stdout: the document as JSON, or its lines for a person."""
    if as_json:
        echo_json(document)
    else:
        echo(*lines())
