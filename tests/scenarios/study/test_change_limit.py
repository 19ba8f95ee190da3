"""`--fail-if`: which changes between two runs fail, to the tick and to the percent, and what is no limit."""

import json
from pathlib import Path

import pytest

from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.overrides import apply
from tessbed.scenarios.format.toml_source import parse_toml
from tessbed.scenarios.study.change_limit import check_common, parse_limits
from tessbed.scenarios.study.measurement import Measurement, measure_scenario
from tests.cli.conftest import HEAD, Tessbed
from tests.cli.conftest import tessbed as command

__all__ = ["command"]


SLOWER = "device.memory.read_latency_ticks=500"


def measured(*settings: str) -> Measurement:
    """HEAD with some settings."""
    return measure_scenario(compose(apply(parse_toml(HEAD, "f"), settings), Path()))


BEFORE, AFTER = measured(), measured(SLOWER)
TICKS = BEFORE.device_ticks, AFTER.device_ticks
MORE = TICKS[1] - TICKS[0]
LIMITS = {
    f"device_ticks > {MORE - 1}": True,
    f"device_ticks > {MORE}": False,
    f"device_ticks >= {MORE}": True,
    f"device_ticks >= {MORE + 1}": False,
    f"device_ticks < {MORE}": False,
    f"device_ticks <= {MORE}": True,
    f"  job_ticks>{MORE - 1}  ": True,
    f"job_ticks > {MORE}": False,
    f"device_ticks > {100 * MORE / TICKS[0] - 0.01:.4f} %": True,
    f"device_ticks > {100 * MORE / TICKS[0] + 0.01:.4f}%": False,
    "job_ticks > 2 %": False,
    "device_ticks < -1": False,
}


@pytest.mark.parametrize("text", LIMITS)
def test_limits(text: str) -> None:
    """A change breaks a limit exactly where the relation holds; job ticks are those of the job, not of the device."""
    (limit,) = parse_limits([text])
    assert [breach.job for breach in limit.breaches(BEFORE, AFTER)] == ["head"] * LIMITS[text]


def test_each_job_is_judged_by_itself() -> None:
    """A job that got faster does not make up for one that got slower."""
    second = HEAD.partition("[[jobs]]")[2].replace('"head"', '"second"')
    text = f"{HEAD}[[jobs]]{second}"
    settings = [[f"jobs.{job}.shape=[4, 6, 16]"] for job in (0, 1)]
    runs = [measure_scenario(compose(apply(parse_toml(text, "f"), each), Path())) for each in settings]
    assert runs[0].device_ticks == runs[1].device_ticks
    found = [
        [breach.job for breach in limit.breaches(*runs)]
        for limit in parse_limits(["device_ticks > 0", "device_ticks < 0"])
    ]
    assert sorted(found) == [["head"], ["second"]]


MISTAKES = {
    "no relation": (
        "device_ticks 2 %",
        "got \"device_ticks 2 %\", wanted a change that fails, such as 'device_ticks > 2 %'",
    ),
    "no number": ("device_ticks > x", "wanted a change that fails"),
    "other": ("ticks > 2 %", 'got "ticks > 2 %", wanted device_ticks or job_ticks'),
    "misspelt": ("device_tick > 2", "did you mean device_ticks?"),
    "empty": ("", 'got "", wanted a change that fails'),
}


@pytest.mark.parametrize(("text", "words"), MISTAKES.values(), ids=MISTAKES.keys())
def test_mistakes(text: str, words: str) -> None:
    """What is no limit is refused by its option."""
    with pytest.raises(ScenarioError) as caught:
        parse_limits(["job_ticks > 1", text])
    assert str(caught.value).startswith("--fail-if: ")
    assert words in str(caught.value)


def test_runs_without_a_common_job() -> None:
    """A gate that judges nothing is an error; a job of one run alone is named."""
    other = measure_scenario(compose(parse_toml(HEAD.replace('name = "head"\nop', 'name = "tail"\nop'), "f"), Path()))
    with pytest.raises(ScenarioError, match="without a job of the same name"):
        check_common(BEFORE, other)
    assert check_common(BEFORE, AFTER) == []


def test_command(command: Tessbed, tmp_path: Path) -> None:
    """The exit code and the last lines are the verdict, in words and in the document."""
    file = tmp_path / "head.toml"
    file.write_text(HEAD)
    slower = ("compare", file, file, "--set2", SLOWER)
    said = command(*slower, "--fail-if", "device_ticks > 1 %", "--fail-if", "job_ticks > 99999")
    assert said.code == 1
    *_, breach, empty, verdict = said.out.splitlines()
    assert breach.startswith(f"head: {TICKS[0]:,} to {TICKS[1]:,} device_ticks (+{MORE:,}, +")
    assert (empty, verdict) == ("", "FAILED: 1 such change")
    document = json.loads(command(*slower, "--fail-if", "device_ticks > 1 %", "--json").out)
    assert (document["verdict"], document["breaches"][0]["difference_ticks"]) == ("failed", MORE)
    fine = command(*slower, "--fail-if", "device_ticks > 900 %")
    assert (fine.code, fine.out.splitlines()[-1]) == (0, "ok: no job changed by device_ticks > 900 %")
    assert command("compare", file, file, "--fail-if", "ticks").code == 2
    assert "verdict" not in json.loads(command(*slower, "--json").out)
