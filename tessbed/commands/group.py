"""The group of all commands: one table; a command's module is imported when it runs, completes, or prints its help.

`tessbed --version`, `tessbed --help` and the completion of commands need nothing but this table and Click.
To add a command: a module in `tessbed/commands` with a click command named `command`, and one line here. Such a module
imports what it needs to read a command line; what runs it is imported by the command itself, so that completion, help
and errors are quick.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import click

from tessbed import __version__
from tessbed.commands.streams import echo
from tessbed.sim.spelling import nearest_name

PROGRAM = "tessbed"
# command: what it does; its module in tessbed.commands has its name
COMMANDS = {
    "run": "run a scenario on its backends and check every byte",
    "load": "run streams of frames through a scenario's jobs: latency, drops, limits",
    "list": "list the scenarios and failure cases that ship with tessbed",
    "show": "show what a scenario asks for, and what it resolves to",
    "validate": "check scenario files without running them",
    "encode": "write the relocatable packets of a scenario's EV74 jobs",
    "disasm": "show packets field by field",
    "diff": "compare two packets field by field",
    "verify": "validate packets as firmware does; --census flips every bit",
    "check": "check a kernel of one's own: sizes, devices, orders, needless waits",
    "drill": "reproduce a failure from the field and read the diagnosis",
    "explore": "run jobs in many or all legal orders; shrink a failure",
    "soak": "run many random jobs with faults; check that nothing is lost",
    "explain": "report where every tick of an EV74 job went",
    "trace": "write the timeline of a run, for Perfetto, GTKWave or Surfer",
    "profile": "add up the timeline of a run: top bands, longest waits",
    "report": "write a run or a study as one HTML file that opens offline",
    "bound": "print certified lower bounds of an EV74 job and the gap to them",
    "advise": "report how many workers pay off, and why",
    "whatif": "re-run with each device parameter worse and better, ranked",
    "compare": "report which terms make the difference between two runs",
    "sweep": "time thousands of configurations in parallel; resumes",
    "search": "search a large space for the configuration with the fewest ticks",
    "calibrate": "turn a board's measurements into a preset with intervals",
    "bench": "measure the A65 rows beside plain copies and plain numpy",
    "doctor": "report what is installed, and what of it runs in C",
    "completion": "print the completion script of a shell",
    "man": "print the manual page",
}
ABOUT = "Tessbed simulates the tile re-layout kernels of an edge-AI chip: exact bytes, exact model ticks."
START = "Start with: tessbed list"


class CommandGroup(click.Group):
    """A group of commands: names and descriptions come from a table, commands from the modules of a package."""

    def __init__(self, name: str, table: Mapping[str, str], package: str, **options: Any) -> None:
        super().__init__(name, **options)
        self.table, self.package = table, package

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Without a word, the help."""
        return super().parse_args(ctx, args or ["--help"])

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands, in the order of the table."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The Click command of that name; imports its module."""
        return import_module(f"{self.package}.{cmd_name}").command if cmd_name in self.table else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments begin with. Raises UsageError with the nearest one."""
        name = args[0]
        if name == "help":
            name, args = (args[1], [args[1], "--help"]) if len(args) > 1 else ("--help", ["--help"])
        if name.startswith("-"):
            self.parse_args(ctx, list(args))  # answers, or names the option that there is not
        command = self.get_command(ctx, name)
        if command is None and not ctx.resilient_parsing:
            raise click.UsageError(self.unknown(name, ctx.command_path), ctx)
        return name if command else None, command, args[1:]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table, as the help shows it; no module is imported."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.table.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """The commands and options that begin so; no module is imported."""
        from click.shell_completion import CompletionItem

        names = [CompletionItem(name, help=what) for name, what in self.table.items() if name.startswith(incomplete)]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]

    def unknown(self, name: str, called: str) -> str:
        """The message for a command that there is not; `called` is how the group is."""
        near = nearest_name(name, self.table)
        hint = f"; did you mean {near}?" if near else ""
        return f'got the command "{name}", wanted one that `{called} --help` lists{hint}'


def _version(context: click.Context, parameter: click.Parameter, asked: bool) -> None:
    if asked and not context.resilient_parsing:
        echo(f"{PROGRAM} {__version__}")
        context.exit()


group = CommandGroup(
    PROGRAM,
    COMMANDS,
    "tessbed.commands",
    help=ABOUT,
    epilog=START,
    subcommand_metavar="COMMAND [ARGUMENTS]...",
    options_metavar="",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    params=[
        click.Option(
            ["-V", "--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_version,
            help="Print the version.",
        )
    ],
)


def context_of(arguments: Sequence[str]) -> click.Context:
    """The context of a command line; without arguments, that of the help."""
    return group.make_context(PROGRAM, list(arguments) or ["--help"])
