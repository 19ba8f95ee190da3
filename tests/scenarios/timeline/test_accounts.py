"""A timeline's slices are the ticks of the run: they sum to the accounts of every core, on both engines."""

import random
from collections import Counter
from pathlib import Path

import attrs
import pytest

from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.toml_source import parse_toml
from tessbed.scenarios.library import load
from tessbed.scenarios.runner import run_scenario
from tessbed.scenarios.study.measurement import measure_scenario
from tessbed.scenarios.study.tick_attribution import Term, attribute_core
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tests.geometries import random_geometries
from tests.scenarios.test_engine_compare import firmware_device
from tests.scenarios.texts import SMALL
from tests.scenarios.timeline.decoded import Decoded, Slice
from tests.scenarios.timeline.traced import jobs_of, on_ev74, stats_of, traced
from tests.scenarios.verification.explore.test_exploration import case_of

EV74 = ["jobs.*.backend=ev74"]
CATALOGUE = ("chroma", "yolov8n-heads-bf16", "oversized-pitch", "low-rank", "strided-outputs", "resnet50-int8")


def core_terms(shown: Decoded, core: int, low: int, high: int) -> Counter[Term]:
    """What the slices of a core between two ticks say, by resource, reason and tiles."""
    terms: Counter[Term] = Counter()
    for one in shown.on(f"core {core} workers"):
        if low <= one.begin < high and one.name in ("stagger", "relaunch"):
            terms[Term("launch", one.name, "")] += one.ticks
    for one in shown.on(f"core {core} bands"):
        if low <= one.begin < high and one.end > one.begin and one.name != "band":
            terms.update(dict([_term(one, shown)]) if one.name in ("issue", "compute") else {})
            if one.parent is not None and one.parent.name.startswith("wait "):
                reason, tiles = one.parent.name.removeprefix("wait "), _tiles(one.parent)
                terms[Term(one.name, reason, tiles)] += one.ticks
    return terms


def _term(one: Slice, shown: Decoded) -> tuple[Term, int]:
    return Term("core", one.name, _tiles(one)), one.ticks


def _tiles(step: Slice) -> str:
    return step.args["tiles"] if step.parent is None else step.parent.args["tiles"]


def launches(shown: Decoded) -> list[Slice]:
    """The launch of each job, in order."""
    return [one for one in shown.on("device job") if one.name == "launch"]


def check_accounts(scenario, path) -> None:
    """Compare each core of each job with what `explain` says of it, by the exact engine."""
    ran, shown = traced(scenario, path)
    measured = measure_scenario(on_ev74(scenario)).jobs
    assert [one.ticks for one in launches(shown)] == [job.stats.device_ticks for job in measured]
    for job, launch in zip(measured, launches(shown), strict=True):
        for core in range(min(job.spec.cores, job.workers)):
            found = core_terms(shown, core, launch.begin, launch.end)
            assert found == attribute_core(job, core), f"core {core} of {job.job.name}"
    assert len(stats_of(ran)) == len(measured)


@pytest.mark.parametrize("name", CATALOGUE)
def test_slices_sum_to_the_account_of_every_core(name, tmp_path) -> None:
    """By resource, reason and class of tiles, the slices of a core are its account by the exact engine."""
    check_accounts(load(name, EV74), tmp_path / "run.pftrace")


def random_scenarios(count, seed):
    """One random tensor each, on devices where everything meets."""
    base = compose(parse_toml(SMALL, "f"), Path())
    for geometry in random_geometries(count, seed):
        if 0 not in geometry.shape:
            rng = random.Random(f"{seed}/{geometry}")
            wanted = case_of(geometry).geometry
            job = attrs.evolve(base.jobs[0], geometry=wanted, plan=wanted.admit(), workers=None, backends=("ev74",))
            yield attrs.evolve(base, device=override(DeviceSpec(), firmware_device(rng)), jobs=(job,))


@pytest.mark.parametrize("seed", range(3))
def test_slices_sum_to_the_account_on_random_devices(seed, tmp_path) -> None:
    """The same with few channels and credits, either arbitration, any data movement, more workers than cores."""
    for number, scenario in enumerate(random_scenarios(25, f"trace/{seed}")):
        check_accounts(scenario, tmp_path / f"{number}.pftrace")


@pytest.mark.parametrize("name", ["chroma", "yolov8n-heads-int8"])
def test_a_timeline_changes_no_tick_and_no_byte(name, tmp_path) -> None:
    """Traced or not, every statistic of every job and every byte of every output is the same."""
    scenario = load(name, EV74)
    (ran, _), plain = traced(scenario, tmp_path / "run.pftrace"), run_scenario(on_ev74(scenario))
    assert [one.output_sha256 for one in ran.outcomes] == [one.output_sha256 for one in plain.outcomes]
    assert stats_of(ran) == stats_of(plain)
    assert [job.history for job in jobs_of(ran)] == [job.history for job in jobs_of(plain)]
