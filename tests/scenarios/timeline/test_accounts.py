"""A timeline's slices are the ticks of the run: they sum to the accounts of every core, on both engines."""

import random
from collections import Counter
from collections.abc import Collection
from pathlib import Path

import attrs
import pytest

from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.toml_source import parse_toml
from tessbed.scenarios.library import catalogue, load
from tessbed.scenarios.runner import run_scenario
from tessbed.scenarios.study.measurement import measure_scenario
from tessbed.scenarios.study.tick_attribution import Term, attribute_core
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tests.breadth import breadth
from tests.geometries import random_geometries
from tests.scenarios.test_engine_compare import firmware_device
from tests.scenarios.texts import SMALL
from tests.scenarios.timeline.decoded import Decoded, Slice
from tests.scenarios.timeline.traced import jobs_of, on_ev74, stats_of, traced
from tests.scenarios.verification.explore.test_exploration import case_of

EV74 = ["jobs.*.backend=ev74"]
EXAMPLES = Path(__file__).parents[3] / "examples"
LONG = ("large-detess", "soak", "worker-curve", "detr-classes-int8")
CATALOGUE = [pytest.param(name, marks=pytest.mark.long if name in LONG else ()) for name in catalogue()]


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
    """The class of tiles of a step; the line of a kernel, whose bands have no class."""
    band = step if step.parent is None else step.parent
    return str(band.args.get("tiles") or step.args.get("source", ""))


def launches(shown: Decoded, names: Collection[str]) -> list[Slice]:
    """The launches of the jobs of these names, in order."""
    found = [one for one in shown.on("device job") if one.name == "launch"]
    return [one for one in found if one.parent is not None and one.parent.args["job"] in names]


def check_accounts(scenario, path) -> None:
    """Compare each core of each job with what `explain` says of it, by the exact engine."""
    ran, shown = traced(scenario, path)
    measured = measure_scenario(on_ev74(scenario)).jobs
    found = launches(shown, [job.job.name for job in measured])
    assert [one.ticks for one in found] == [job.stats.device_ticks for job in measured]
    for job, launch in zip(measured, found, strict=True):
        for core in range(min(job.spec.cores, job.workers)):
            terms = core_terms(shown, core, launch.begin, launch.end)
            assert terms == attribute_core(job, core), f"core {core} of {job.job.name}"
    assert len(measured) == sum(not outcome.trouble for outcome in ran.outcomes if outcome.output_bytes)


@pytest.mark.parametrize("name", CATALOGUE)
def test_slices_sum_to_the_account_of_every_core(name, tmp_path) -> None:
    """By resource, reason and class of tiles, the slices of a core are its account by the exact engine."""
    check_accounts(load(name, EV74), tmp_path / "run.pftrace")


@pytest.mark.parametrize("name", ["copy", "planes", "transpose"])
def test_slices_of_a_kernel_sum_to_its_account(name, tmp_path) -> None:
    """The same of kernels of one's own, by the lines of their source."""
    check_accounts(load(f"{EXAMPLES / name}.py:{name}"), tmp_path / "run.pftrace")


@pytest.mark.parametrize("name", ["reduce", "race"])
def test_slices_of_a_body_sum_to_its_workers(name, tmp_path) -> None:
    """By reason, the slices of a core are what its workers counted, in a kernel without an account and in a race."""
    ran, shown = traced(load(f"{EXAMPLES / name}.py:{name}"), tmp_path / "run.pftrace")
    (stats,) = stats_of(ran)
    for core in range(4):
        steps: Counter[str] = Counter()
        for one in shown.on(f"core {core} bands"):
            if one.name != "band" and (one.parent is None or one.parent.name == "band"):
                steps[one.name.removeprefix("wait ")] += one.ticks
        assert steps == Counter(stats.workers[core].stalls)


def random_scenarios(count, seed):
    """One random tensor each, on devices where everything meets."""
    base = compose(parse_toml(SMALL, "f"), Path())
    for geometry in random_geometries(count, seed):
        if 0 not in geometry.shape:
            rng = random.Random(f"{seed}/{geometry}")
            wanted = case_of(geometry).geometry
            job = attrs.evolve(base.jobs[0], geometry=wanted, plan=wanted.admit(), workers=None, backends=("ev74",))
            yield attrs.evolve(base, device=override(DeviceSpec(), firmware_device(rng)), jobs=(job,))


@pytest.mark.parametrize("seed", breadth(range(3), suite=1))
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
