"""Exits: runs one verb and turns whatever ends it into an exit code and words for a person.

0 ok; 1 a check failed; 2 usage or invalid input; 3 a simulated fault, loss or hang that nobody expected; 4 a hazard or
a lifetime violation; 70 tessbed itself failed, which is no verdict; 130 interrupted; 141 the reader of our output went
away.
"""

import os
import sys
import traceback
from importlib import import_module
from typing import Any

import click

OK, FAILED, INVALID, FAULT, HAZARD, BUG, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 3, 4, 70, 130, 141

# Errors that reach a person, by name: naming their modules here would import them all for every verb.
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
    "CensusError": INVALID,
    "MemoryError": INVALID,
    "OSError": INVALID,
    "JobFault": FAULT,
    "JobLost": FAULT,
    "JobCancelled": FAULT,
    "DeviceFault": FAULT,
    "MemoryFault": FAULT,
    "HangError": FAULT,
    "HazardError": HAZARD,
    "LifetimeError": HAZARD,
    "CoherencyError": HAZARD,
    "StateError": HAZARD,
}

OUR_BUG = "error: tessbed itself failed, as told above: a bug of ours, and no verdict on what it was asked about"


def call(module: str, name: str, arguments: list[str]) -> int:
    """Run the `command` of a verb's module; returns the exit code. Any error that is not in CODES is a bug of ours."""
    try:
        command: click.Command = import_module(module).command
        # Not command.main: it has its own ideas of pipes and interrupts.
        with command.make_context(name, arguments) as context:
            outcome: Any = command.invoke(context)
        if sys.stdout:  # None where the caller closed it
            sys.stdout.flush()
        return outcome if isinstance(outcome, int) else OK
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return INVALID
    except (KeyboardInterrupt, click.Abort):
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Python flushes stdout once more at exit: give it somewhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except Exception as error:
        code = code_of(error)
        if code is None:
            traceback.print_exception(error)
        print(words(error) if code else OUR_BUG, file=sys.stderr)
        return code or BUG


def code_of(error: Exception) -> int | None:
    """The exit code of an error that is not a bug of ours."""
    return next((CODES[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in CODES), None)


def words(error: Exception) -> str:
    """The error as lines for a person; the lines of a ScenarioError begin with their places."""
    if hasattr(error, "problems"):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"error: {error.filename}: {error.strerror}" if error.filename else f"error: {error.strerror}"
    return f"error: {str(error) or type(error).__name__}"
