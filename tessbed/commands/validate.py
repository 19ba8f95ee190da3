"""`tessbed validate`: reads scenario files and reports every error in them, without moving a byte."""

from typing import TYPE_CHECKING, Any

import click

from tessbed.commands.diagnostics import PartlyInvalid, sarif
from tessbed.commands.options import json_option, new_command, say, settings_option
from tessbed.commands.streams import echo, echo_file, echo_json
from tessbed.commands.types import SCENARIO, OneOf
from tessbed.scenarios.format.diagnostics import Problem, ScenarioError

if TYPE_CHECKING:
    from tessbed.scenarios.model import Scenario

HELP = """Check scenario files (paths or catalogue names) and report every error at once; exit code 2 if there is one.

The streams of a load are compiled as `tessbed load` does it, each job timed once. No kernel of one's own is imported.

With --format json or sarif the errors are also printed as a document on stdout. Code hosts show SARIF errors beside
the lines."""


@new_command("validate", HELP)
@click.argument("files", metavar="SCENARIO...", nargs=-1, type=SCENARIO)
@settings_option("Override a key in every file.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of scenario files, for editors.")
@click.option(
    "--format",
    "form",
    type=OneOf(["text", "json", "sarif"]),
    default="text",
    show_default=True,
    help="Format of the result.",
)
@json_option
def command(files: tuple[str, ...], settings: tuple[str, ...], schema: bool, form: str, as_json: bool) -> None:
    """One line for each sound file on stdout; raises ScenarioError with the errors of all the others."""
    if schema:
        from tessbed.scenarios.format.json_schema import schema_text

        echo_file(schema_text())
        return
    if not files:
        raise click.UsageError("got no SCENARIO, wanted a path, or a name that `tessbed list` shows")
    sound, problems = _checked(files, settings)
    form = "json" if as_json and form == "text" else form
    if form == "text" and sound:
        echo(*(f"{entry['file']}: ok, {_counted(entry)}" for entry in sound))
    if problems:
        raise PartlyInvalid(problems, {"sound": sound})
    if form == "json":
        echo_json(sound)
    elif form == "sarif":
        echo_json(sarif([]))


def _checked(files: tuple[str, ...], settings: tuple[str, ...]) -> tuple[list[dict[str, Any]], list[Problem]]:
    """The sound files, and the errors of the others."""
    from tessbed.scenarios.format.notices import notices
    from tessbed.scenarios.library import load

    sound, problems = [], list[Problem]()
    for file in files:
        try:
            scenario = load(file, settings)
            checked = _check_load(scenario)
        except ScenarioError as error:
            problems += error.problems
        else:
            for text in notices(scenario):
                say(f"note: {file}: {text}")
            if not checked:
                say(f"note: {file}: streams with kernels of one's own, which `tessbed load` imports and checks")
            stages = scenario.load.stages if scenario.load else ()
            external = sum(bool(stage.server) for stage in stages)
            counts = {"jobs": len(scenario.jobs), "external_jobs": external}
            sound.append({"file": file, "name": scenario.name, **counts})
    return sound, problems


def _counted(entry: dict[str, Any]) -> str:
    """The jobs that run, and those that only take a server's time, where there are any."""
    kinds = ((entry["jobs"], "job"), (entry["external_jobs"], "external job"))
    return ", ".join(f"{many} {kind}{'s' * (many != 1)}" for many, kind in kinds if many or kind == "job")


def _check_load(scenario: "Scenario") -> bool:
    """Compile the load of a scenario with streams. False where it is left alone, for its kernels' code is not imported.

    Raises ScenarioError.
    """
    if scenario.load is None or not scenario.load.streams:
        return True
    if not scenario.kernels:
        from tessbed.scenarios.study.load.compilation import compile_load

        compile_load(scenario)
    return not scenario.kernels
