"""`tessbed drill`: reproduces a failure case from the field, and shows its diagnosis."""

import tomllib
from pathlib import Path

import click

from tessbed.commands.exits import FAILED, OK
from tessbed.commands.options import json_option, new_command, print_result
from tessbed.commands.streams import echo, echo_json
from tessbed.commands.timeline_options import recorded, timeline_option
from tessbed.commands.types import FAILURE_CASE
from tessbed.scenarios.format.diagnostics import Location, Problem, ScenarioError, nearest
from tessbed.scenarios.format.texts import is_text, read_text
from tessbed.scenarios.output.text_table import aligned
from tessbed.scenarios.shipped import failure_cases

HELP = """Reproduce a failure from the field and read its diagnosis. Without DRILL, list the failure cases that ship.

DRILL is a name from that list, or a TOML file of your own (docs/drills.md).

Exit code: 0 every step went as the failure case says, 1 not, 2 invalid input."""


@new_command("drill", HELP)
@click.argument("drill", required=False, type=FAILURE_CASE)
@timeline_option
@json_option
def command(drill: str | None, timeline: Path | None, as_json: bool) -> int:
    """The failure case's steps on stdout; returns the exit code."""
    if drill is None:
        if timeline is not None:
            raise click.UsageError("--trace: shows one failure case, wanted DRILL with it")
        return _list(as_json)
    from tessbed.scenarios.format.toml_source import parse_toml
    from tessbed.scenarios.verification.failure_cases.case_format import compose_failure_case
    from tessbed.scenarios.verification.failure_cases.case_runner import CaseRunner
    from tessbed.sim.spec.device_spec import load_preset

    path = _find(drill)
    script = compose_failure_case(parse_toml(read_text(path, drill), drill if path == Path(drill) else str(path)))
    with recorded(timeline, load_preset(script.preset), quiet=as_json) as shown:
        reported = CaseRunner(script, shown).run()
    ok = all(step.ok for step in reported)
    if as_json:
        steps = [{"step": step.number, "does": step.words, "told": step.result, "ok": step.ok} for step in reported]
        document = {"schema_version": 1, "name": script.name, "verdict": "ok" if ok else "failed", "steps": steps}
        echo_json(document)
    else:
        words = [line for step in reported for line in str(step).split("\n")]
        echo(*transcript(script.name, script.about, words, ok))
    return OK if ok else FAILED


def transcript(name: str, about: str, steps: list[str], ok: bool) -> list[str]:
    """The failure case for a person."""
    verdict = (
        "ok: each step went as the failure case says"
        if ok
        else "FAILED: the last step did not go as the failure case says"
    )
    return [name, "", *steps, "", f"the lesson: {about}", verdict]


def _list(as_json: bool) -> int:
    print_result(failure_entries(), failure_table, as_json=as_json)
    return OK


def failure_entries() -> list[dict[str, str]]:
    """The failure cases that ship: name and lesson. Nothing else of them is read."""
    texts = {name: tomllib.loads(path.read_text(encoding="utf-8")) for name, path in failure_cases().items()}
    return [{"drill": name, "about": values["about"]} for name, values in texts.items()]


def failure_table() -> list[str]:
    """The failure cases that ship, one a line."""
    return aligned(("drill", "about"), [(entry["drill"], entry["about"]) for entry in failure_entries()])


def _find(name: str) -> Path:
    path, known = Path(name), failure_cases()
    if is_text(name):
        return path
    if name not in known:
        text = f"no such file or failure case{nearest(path.stem, known) or '; `tessbed drill` lists them'}"
        raise ScenarioError([Problem(Location(name), text, "no_such_file")])
    return known[name]
