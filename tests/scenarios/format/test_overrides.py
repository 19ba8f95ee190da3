"""Overrides: any key can be set from the command line, and an error in one names the option."""

from pathlib import Path

import pytest

from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.overrides import apply
from tessbed.scenarios.format.toml_source import parse_toml
from tessbed.scenarios.model import Scenario
from tests.scenarios.texts import SMALL


def overridden(*settings: str, seed: int | None = None) -> Scenario:
    """SMALL with overrides."""
    return compose(apply(parse_toml(SMALL, "f"), settings, seed), Path())


def test_values() -> None:
    """A value is TOML, or a bare word; a list takes an index or a star; tables are made on the way."""
    scenario = overridden(
        "device.workers=8", "device.dma.outstanding=2", "jobs.0.shape=[1, 2, 3]", "jobs.*.backend=a65", "name=a b"
    )
    assert (scenario.device.workers, scenario.device.dma.outstanding) == (8, 2)
    assert scenario.jobs[0].plan.shape == (1, 2, 3)
    assert [job.backends for job in scenario.jobs] == [("a65",), ("a65",)]
    assert scenario.name == "a b"


def test_brackets() -> None:
    """An index may be written as errors print it."""
    scenario = overridden("jobs[0].shape[2]=5", "jobs[*].backend=a65")
    assert scenario.jobs[0].plan.shape[2] == 5
    assert [job.backends for job in scenario.jobs] == [("a65",), ("a65",)]


def test_later_wins() -> None:
    """Of two settings of one key the later one holds, and --seed is the last of all."""
    assert overridden("seed=1", "seed=2").seed == 2
    assert overridden("seed=1", seed=3).seed == 3


def test_the_source_stays() -> None:
    """Overriding changes nothing in the source that it starts from."""
    source = parse_toml(SMALL, "f")
    apply(source, ["jobs.0.shape.0=9", "device.workers=2"])
    assert source.values == parse_toml(SMALL, "f").values


WRONG = [
    ("device.workers", '--set: got "device.workers", wanted key=value, such as device.workers=8'),
    ("device.workers=many", "--set device.workers: got 'many', wanted an integer from 1 to 64 (workers)"),
    ("device.wrokers=3", "--set device.wrokers: unknown field 'wrokers'; did you mean 'workers'?"),
    ("jobs.2.op=tess", '--set jobs.2.op: got "2" for an entry of jobs, wanted 0 to 1, or * for all'),
    ("jobs[2].op=tess", '--set jobs[2].op: got "2" for an entry of jobs, wanted 0 to 1, or * for all'),
    ("name.x=1", '--set name.x: name is the text "small", wanted a table or a list to go into with .x'),
    ("jobs.1.to=fp61", '--set jobs.1.to: got the text "fp61", wanted "fp32" or "bf16"'),
    ("jobs.0.shape=[3, 5, -4]", "--set jobs.0.shape: jobs[0].shape[2]: got -4, wanted an integer of at least 0"),
    ("seed=true", "--set seed: got the boolean true, wanted an integer from 0"),
    ("spam.eggs=1", "--set spam.eggs: spam: unknown key, wanted name, "),
    ("jobs.*.speed=1", "--set jobs.*.speed: jobs[0].speed: unknown key, wanted name, op, "),
]


@pytest.mark.parametrize(("setting", "line"), WRONG, ids=[setting for setting, _ in WRONG])
def test_errors(setting: str, line: str) -> None:
    """An error in a setting has the setting as its place."""
    with pytest.raises(ScenarioError) as caught:
        overridden(setting)
    assert str(caught.value.problems[0]).startswith(line)


def test_all_errors() -> None:
    """Every unusable setting is reported, not only the first."""
    with pytest.raises(ScenarioError) as caught:
        overridden("x", "jobs.7.op=1", "name.y=2")
    assert len(caught.value.problems) == 3
