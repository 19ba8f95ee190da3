"""Diagnostics: every error in one form, as a line for a person, in a JSON document, or as SARIF.

A line is `place: what was got, what was wanted, and the nearest right thing`. The place is a file with line and column,
a file, an option, or the command where there is nothing nearer.
"""

import re
from collections.abc import Sequence
from typing import Any

import attrs
import click

from tessbed import __version__
from tessbed.scenarios.format.diagnostics import LONGEST_TEXT, Problem, ScenarioError, shortened
from tessbed.scenarios.format.printable import escaped
from tessbed.sim.spelling import nearest_name

SCHEMA_VERSION = 1
MOST_IN_DOCUMENT = 1000
"""So many errors are in a document, and the number of the others."""
OWN_PLACE = re.compile(r"(TESSBED_[A-Z]+|--[a-z0-9-]+): ")
"""How a message begins that names a variable of the environment, or an option."""


class PartlyInvalid(ScenarioError):
    """Some of what was named is invalid; `results` is the result of the rest, as the JSON document holds it beside."""

    def __init__(self, problems: Sequence[Problem], results: dict[str, Any]) -> None:
        super().__init__(problems)
        self.results = results


@attrs.frozen
class Diagnostic:
    """One error. `file` is None where no file is at fault, `line` and `column` (from 1) where none is."""

    place: str
    text: str
    code: str
    file: str | None = None
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return escaped(self.place) + ": " + escaped(self.text, keep="\n")

    def document(self) -> dict[str, Any]:
        """As JSON holds it; the message of what is no file's begins with its place."""
        message = self.text if self.file is not None else f"{self.place}: {self.text}"
        return {"file": self.file, "line": self.line, "column": self.column, "code": self.code, "message": message}


def diagnostics(error: Exception, command: str) -> list[Diagnostic]:
    """The diagnostics that an exception carries; `command` is what ran."""
    if isinstance(error, ScenarioError):
        return [_of_problem(problem) for problem in error.problems]
    if isinstance(error, click.UsageError):
        place, text = _usage(error, command)
        return [Diagnostic(place, shortened(text, LONGEST_TEXT), "usage")]
    if isinstance(error, OSError) and error.strerror:
        name = error.filename
        file = None if name is None else name.decode(errors="surrogateescape") if isinstance(name, bytes) else str(name)
        return [Diagnostic(file or command, error.strerror, "os_error", file)]
    text = error.format_message() if isinstance(error, click.ClickException) else str(error)
    own = OWN_PLACE.match(text)
    place, text = (own[1], text[own.end() :]) if own else (command, text or type(error).__name__)
    return [Diagnostic(place, text, _code(error))]


def _of_problem(problem: Any) -> Diagnostic:
    place = problem.place
    file = None if place.source.startswith("--") else place.source
    return Diagnostic(str(place), problem.text, problem.code, file, place.line or None, place.column or None)


def _code(error: Exception) -> str:
    """The error's own code, or the words of its class."""
    name = type(error).__name__
    words = "".join(f"_{char.lower()}" if char.isupper() else char for char in name).lstrip("_")
    return str(getattr(error, "code", None) or ("usage" if isinstance(error, click.ClickException) else words))


def _usage(error: click.UsageError, command: str) -> tuple[str, str]:
    """The place of a usage error, and its text."""
    path = error.ctx.command_path if error.ctx else command
    help_words = f"`{path} --help` shows how"
    if isinstance(error, click.NoSuchOption):
        return path, f"got the option {error.option_name}, wanted one of `{path} --help`{_near(error)}"
    if isinstance(error, click.MissingParameter) and error.param is not None:
        return path, f"got no {_named(error)}; {help_words}"
    if isinstance(error, click.BadParameter):
        return _named(error) or path, error.message
    if isinstance(error, click.BadOptionUsage):
        return error.option_name, f"{_lower(error.message)}; {help_words}"
    return path, _lower(error.message)


def _named(error: click.BadParameter) -> str:
    """The option as it is written, or the argument as the help calls it."""
    if error.param_hint is not None:
        return error.param_hint if isinstance(error.param_hint, str) else ", ".join(error.param_hint)
    if isinstance(error.param, click.Option):
        return max(error.param.opts, key=len)
    return error.param.make_metavar(error.ctx) if error.param is not None and error.ctx else ""


def _near(error: click.NoSuchOption) -> str:
    context = error.ctx
    known = [name for parameter in context.command.get_params(context) for name in parameter.opts] if context else []
    near = nearest_name(error.option_name, [name for name in known if name.startswith("-")])
    return f"; did you mean {near}?" if near else ""


def _lower(text: str) -> str:
    return (text[:1].lower() + text[1:]).removesuffix(".")


def document(found: Sequence[Diagnostic], results: dict[str, Any]) -> dict[str, Any]:
    """The JSON document of exit code 2; `results` is what went well beside, `left_out` how many errors it has not."""
    shown = found[:MOST_IN_DOCUMENT]
    left = {"left_out": len(found) - len(shown)} if len(found) > len(shown) else {}
    return {"schema_version": SCHEMA_VERSION, "diagnostics": [one.document() for one in shown], **left, **results}


def sarif(found: Sequence[Diagnostic]) -> dict[str, Any]:
    """A SARIF 2.1.0 log, as code hosts and editors read it."""
    found, left = found[:MOST_IN_DOCUMENT], len(found[MOST_IN_DOCUMENT:])
    rules = sorted({one.code for one in found})
    driver = {"name": "tessbed", "version": __version__, "rules": [{"id": rule} for rule in rules]}
    results = [
        {
            "ruleId": one.code,
            "ruleIndex": rules.index(one.code),
            "level": "error",
            "message": {"text": one.document()["message"]},
            "locations": [_location(one)] if one.file is not None else [],
        }
        for one in found
    ]
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "results": results,
                **({"properties": {"left_out": left}} if left else {}),
            }
        ],
    }


def _location(one: Diagnostic) -> dict[str, Any]:
    from urllib.parse import quote

    name = one.file or ""
    uri = quote(name.encode("utf-8", "surrogateescape"), safe="/.-_~")
    region = {"region": {"startLine": one.line, "startColumn": one.column}} if one.line else {}
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, **region}}
