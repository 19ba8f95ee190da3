"""Candidates: each is a different experiment, and a board can run what it is."""

from collections import Counter
from pathlib import Path

from tessbed.scenarios.format.toml_source import parse_toml
from tessbed.scenarios.format.toml_writer import toml_text
from tessbed.scenarios.runner import run_scenario
from tessbed.scenarios.study.calibration.experiment import Experiment
from tessbed.scenarios.study.calibration.plan.candidates import PROBES, candidates


def test_every_shape_is_there_once_on_every_grid(experiments: list[Experiment]) -> None:
    """No name comes twice, and each shape has the four grids."""
    assert len({experiment.name for experiment in experiments}) == len(experiments)
    grids = Counter((experiment.shape, experiment.workers) for experiment in experiments)
    shapes = {shape for shape, _ in grids}
    assert set(grids.values()) == {1}
    assert {workers for _, workers in grids} == {1, 2, 4, 8}
    assert len(grids) == 4 * len(shapes) > 300


def test_both_engines_agree_about_probes(experiments: list[Experiment]) -> None:
    """With real bytes on the event engine, every transfer of a probe is as the exact engine says, and nothing races."""
    probes = {experiment.name: experiment for experiment in experiments if experiment.name.startswith("dma.")}
    assert len(probes) == 4 * len(PROBES)
    for name in ("dma.16-small-reads.w4", "dma.partial-chain.w8", "dma.odd-pitch.w2", "dma.chain-of-16.w1"):
        run = run_scenario(probes[name].scenario, engine="verify")
        [outcome] = run.jobs[0].outcomes
        assert (outcome.trouble, outcome.disagreement) == (None, None)


def test_the_values_are_a_scenario_file() -> None:
    """What would be written reads back as the same values."""
    for candidate in candidates("ev74-4core", Path(), grids=(2,))[::9]:
        assert parse_toml(toml_text(candidate.values), "file").values == candidate.values
