"""Experiments: what is one, what is none, and which are of one shape."""

from pathlib import Path

import pytest

from tessbed.scenarios.format.diagnostics import Location, ScenarioError
from tessbed.scenarios.library import load
from tessbed.scenarios.study.calibration.experiment import experiment_of, read_experiment
from tessbed.scenarios.study.calibration.folder_files import experiment_path

HEAD = """
name = "head"
device = { workers = 8 }
[[jobs]]
name = "head"
op = "tess"
dtype = "bf16"
shape = [20, 20, 64]
tiled = { axes = [-1, 0, 1, 2], tile = [1, 4, 4, 64], channels = "pad16" }
backend = "ev74"
"""
GOLDEN = 'input = { pattern = "golden" }\n'
PITCHED = "linear = { strides_bytes = [2688, 128, 2] }\n"


def test_an_experiment_is_a_scenario_of_one_job(tmp_path: Path) -> None:
    """It is read by its name; its grid is what the job asks for, and the device's where it asks for none."""
    path = experiment_path(tmp_path, "head")
    path.parent.mkdir()
    path.write_text(HEAD + GOLDEN)
    assert read_experiment(tmp_path, "head").workers == 8
    path.write_text(f"{HEAD}{GOLDEN}workers = 2\n")
    found = read_experiment(tmp_path, "head")
    assert (found.name, found.workers, found.job.name, found.device.workers) == ("head", 2, "head", 8)


@pytest.mark.parametrize(
    ("scenario", "got"),
    {
        "two jobs": ("chroma", "got 2 jobs"),
        "both backends": ("luma", "got job luma on a65 and ev74"),
    }.values(),
    ids=("two jobs", "both backends"),
)
def test_what_is_no_experiment(scenario: str, got: str) -> None:
    """Anything else is refused at its place."""
    with pytest.raises(ScenarioError, match=f"somewhere: {got}, wanted one job"):
        experiment_of("it", load(scenario), Location("somewhere"))


def test_grids_and_names_do_not_change_a_shape(tmp_path: Path) -> None:
    """What is moved is a shape: on more workers, from other bytes and by another name it is the same, else another."""
    path = experiment_path(tmp_path, "head")
    path.parent.mkdir()
    shapes = []
    for change in (GOLDEN, f"{GOLDEN}workers = 2\n", 'input = { pattern = "random" }\n', f"{GOLDEN}{PITCHED}"):
        path.write_text(HEAD + change)
        shapes.append(read_experiment(tmp_path, "head").shape)
    assert shapes[0] == shapes[1] == shapes[2] != shapes[3]
