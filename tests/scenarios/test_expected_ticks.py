"""`expect` knows ticks: exact ones and limits, judged on every engine, located where they are wrong."""

import json
from pathlib import Path

import pytest

from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.toml_source import parse_toml
from tessbed.scenarios.model import to_values
from tessbed.scenarios.report import document, exit_code, report_table
from tessbed.scenarios.runner import run_scenario
from tests.cli.conftest import HEAD, Tessbed
from tests.cli.conftest import tessbed as command

__all__ = ["command"]
DEVICE_TICKS, JOB_TICKS = 1515, 158_515
"""Of HEAD on the default device: worked out by `test_the_ticks_are_these`, which no expectation enters."""


def scenario_of(expect: str, more: str = ""):
    """HEAD with these expectations."""
    return compose(parse_toml(f"{HEAD}{more}expect = {expect}\n", "f"), Path())


def test_the_ticks_are_these() -> None:
    """What the cases below compare with is what the job takes."""
    [_, ev74] = run_scenario(compose(parse_toml(HEAD, "f"), Path())).jobs[0].outcomes
    result = ev74.run.result  # pyright: ignore[reportOptionalMemberAccess]
    assert (result.device_ticks, result.job_ticks) == (DEVICE_TICKS, JOB_TICKS)  # pyright: ignore[reportOptionalMemberAccess]


CASES = {
    "exact": ("{ device_ticks = 1515, job_ticks = 158515 }", []),
    "one more": ("{ device_ticks = 1516 }", ["got 1,515 device_ticks, the scenario expects 1,516"]),
    "one less": ("{ device_ticks = 1514 }", ["got 1,515 device_ticks, the scenario expects 1,514"]),
    "at most": ("{ device_ticks = { at_most = 1515 } }", []),
    "too many": (
        "{ device_ticks = { at_most = 1514 } }",
        ["got 1,515 device_ticks, the scenario expects at most 1,514"],
    ),
    "at least": ("{ device_ticks = { at_least = 1515 } }", []),
    "too few": (
        "{ job_ticks = { at_least = 158516, at_most = 200000 } }",
        ["got 158,515 job_ticks, the scenario expects at least 158,516 and at most 200,000"],
    ),
    "zero": ("{ device_ticks = 0 }", ["got 1,515 device_ticks, the scenario expects 0"]),
    "both": (
        "{ device_ticks = 3, job_ticks = { at_most = 4 } }",
        ["got 1,515 device_ticks, the scenario expects 3", "got 158,515 job_ticks, the scenario expects at most 4"],
    ),
}


@pytest.mark.parametrize("engine", ["simpy", "exact", "verify"])
@pytest.mark.parametrize(("expect", "texts"), CASES.values(), ids=CASES.keys())
def test_ticks_are_judged(expect: str, texts: list[str], engine: str) -> None:
    """Only the EV74 is judged, the bytes stay right, and the exit code is that of a failed check."""
    run = run_scenario(scenario_of(expect), engine=engine)
    a65, ev74 = run.jobs[0].outcomes
    assert ev74.tick_complaints == texts
    assert (a65.ok, ev74.ok, run.ok, exit_code(run)) == (True, not texts, not texts, int(bool(texts)))
    result = document(run)["jobs"][0]["results"]["ev74"]
    assert result["as_expected"] is not bool(texts)
    assert result.get("unexpected_ticks", []) == texts
    lines = report_table(run)
    assert [line for line in lines if "expects" in line] == [f"head on ev74: {text}" for text in texts]
    assert not any("WRONG" in line or "unexpected" in line for line in lines)
    assert ("1 with other ticks than expected" in lines[-1]) is bool(texts)


def test_round_trip() -> None:
    """Expectations survive being written out, numbers as numbers and limits as limits."""
    expect = "{ device_ticks = 5, job_ticks = { at_most = 9, at_least = 2 } }"
    values = to_values(scenario_of(expect))
    assert values["jobs"][0]["expect"] == {"device_ticks": 5, "job_ticks": {"at_most": 9, "at_least": 2}}


MISTAKES = {
    "text": (
        '{ device_ticks = "5" }',
        'got the text "5", wanted an integer from 0 to 9223372036854775807 or a table with',
    ),
    "negative": ("{ device_ticks = -1 }", "device_ticks: got -1, wanted an integer from 0 to"),
    "empty": ("{ job_ticks = {} }", "job_ticks: got an empty table, wanted at_most, at_least or both"),
    "misspelt": ("{ job_ticks = { at_mots = 3 } }", "at_mots: unknown key, wanted at_most or at_least; did you mean"),
    "excluding": (
        "{ job_ticks = { at_most = 3, at_least = 4 } }",
        "job_ticks.at_least: got 4, wanted no more than at_most, 3",
    ),
    "of a failure": ('{ job_ticks = 3, fault = "lost" }', "job_ticks: got job_ticks and fault, wanted one of them"),
}


@pytest.mark.parametrize(("expect", "text"), MISTAKES.values(), ids=MISTAKES.keys())
def test_mistakes(expect: str, text: str, tmp_path: Path, command: Tessbed) -> None:
    """Each is an error at the line of the key."""
    file = tmp_path / "f.toml"
    file.write_text(f"{HEAD}expect = {expect}\n")
    said = command("validate", file)
    assert said.code == 2
    assert said.err.startswith(f"{file}:9:")
    assert f"jobs[0].expect.{text}" in said.err or text in said.err


def test_a_job_without_an_ev74(tmp_path: Path, command: Tessbed) -> None:
    """Ticks of the device on a job that only the A65 runs are never met, so they are refused."""
    file = tmp_path / "f.toml"
    file.write_text(f'{HEAD}backend = "a65"\nexpect = {{ device_ticks = 3 }}\n')
    assert "got device_ticks on a job that only a65 runs" in command("validate", file).err
    file.write_text(f"{HEAD}expect = {{ device_ticks = 3 }}\n")
    said = command("run", file, "--json")
    assert (said.code, json.loads(said.out)["verdict"]) == (1, "failed")
