"""Exits: runs one command line and turns whatever ends it into an exit code and a message.

0 ok; 1 a check failed; 2 usage or invalid input; 3 a simulated fault, loss or hang that nobody expected; 4 a hazard or
a lifetime violation; 70 tessbed itself failed, which is no verdict; 74 our output can not be written; 130 interrupted;
141 the reader of our output went away.
"""

import os
import sys
import traceback
from itertools import pairwise
from typing import Any

import click

from tessbed.commands import group, interrupts
from tessbed.commands.streams import GuardedStream, OutputError, ReaderGone, echo, echo_json, echo_text, guarded_streams

OK, FAILED, INVALID, FAULT, HAZARD, BUG, UNWRITTEN, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 3, 4, 70, 74, 130, 141
COMPLETE = "_TESSBED_COMPLETE"
"""The environment variable in which a shell asks for completions; its name is Click's."""

# Errors that reach a person, by name: naming their modules here would import them all for every command.
CODES = {
    "ScenarioError": INVALID,
    "ContractError": INVALID,
    "NotRepresentable": INVALID,
    "BindingError": INVALID,
    "PacketFault": INVALID,
    "SpecError": INVALID,
    "EngineError": INVALID,
    "SubmitError": INVALID,
    "GraphError": INVALID,
    "CapabilityError": INVALID,
    "BitFlipError": INVALID,
    "ClickException": INVALID,
    "MemoryError": INVALID,
    "OSError": INVALID,
    "JobFault": FAULT,
    "JobLost": FAULT,
    "JobCancelled": FAULT,
    "DeviceFault": FAULT,
    "KernelFailure": FAULT,
    "KernelMisuse": HAZARD,
    "MemoryFault": FAULT,
    "HangError": FAULT,
    "HazardError": HAZARD,
    "LifetimeError": HAZARD,
    "CoherencyError": HAZARD,
    "StateError": HAZARD,
    "OutputError": UNWRITTEN,
    "ReaderGone": BROKEN_PIPE,
}

OUR_BUG = "tessbed itself failed, as shown above: this is a bug in tessbed, not a verdict on its input"


def run(arguments: list[str]) -> int:
    """Run a command line; returns the exit code."""
    with guarded_streams() as out:
        try:
            code = _ended(arguments)
            sys.stdout.flush()
        except (ReaderGone, OutputError):
            code = BROKEN_PIPE
        return _unwritten(out, code)


def _unwritten(out: GuardedStream | None, code: int) -> int:
    """The exit code, once it is known whether all output was written."""
    if out is None or code == INTERRUPTED:
        return code
    if isinstance(out.lost, OutputError):
        echo(f"standard output: can not be written: {out.lost}", err=True)
        return UNWRITTEN
    return BROKEN_PIPE if out.lost else code


def _ended(arguments: list[str]) -> int:
    """Run the command. Any error that is not in CODES is a bug of ours."""
    try:
        if COMPLETE in os.environ:
            from tessbed.commands.shells import complete

            return complete(os.environ[COMPLETE])
        # Not group.main: it has its own ideas of pipes and interrupts.
        with group.context_of(arguments) as context:
            outcome: Any = group.group.invoke(context)
        return outcome if isinstance(outcome, int) else OK
    except click.exceptions.Exit as error:
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        interrupts.leave_at_once()
        echo("interrupted", err=True)
        return INTERRUPTED
    except (ReaderGone, OutputError):
        raise
    except Exception as error:
        return _refused(error, arguments)


def _refused(error: Exception, arguments: list[str]) -> int:
    """Report an error; returns its exit code."""
    code = code_of(error)
    if code is None:
        echo_text("".join(traceback.format_exception(error)), err=True)
        echo(f"{command_of(arguments)}: {OUR_BUG}", err=True)
        return BUG
    from tessbed.commands.diagnostics import diagnostics, document, sarif
    from tessbed.scenarios.format.diagnostics import first_lines

    found = diagnostics(error, command_of(arguments))
    for line in first_lines(found):
        echo(*line.split("\n"), err=True)
    form = form_of(arguments)
    if code == INVALID and form:
        echo_json(sarif(found) if form == "sarif" else document(found, getattr(error, "results", {})))
    return code


def failed_ourselves(what: str) -> int:
    """Say that tessbed itself failed on a part of what it was asked, whose rows say how; returns the exit code."""
    echo(f"tessbed itself failed on {what}, as shown there: this is a bug in tessbed, not a verdict on them", err=True)
    return BUG


def code_of(error: Exception) -> int | None:
    """The exit code of an error that is not a bug of ours."""
    return next((CODES[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in CODES), None)


def command_of(arguments: list[str]) -> str:
    """The command as messages call it."""
    name = next((word for word in arguments[:1] if word in group.COMMANDS), "")
    return f"{group.PROGRAM} {name}".rstrip()


def form_of(arguments: list[str]) -> str:
    """The form of the document that the command line asks for, even one with errors: json, sarif, or none."""
    words = arguments[: arguments.index("--")] if "--" in arguments else arguments
    asked = [word.removeprefix("--format=") for word in words if word.startswith("--format=")]
    asked += [after for word, after in pairwise(words) if word == "--format"]
    return "sarif" if "sarif" in asked else "json" if "json" in asked or "--json" in words else ""
