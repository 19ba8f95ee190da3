"""Studies: accounts sum, bounds hold, cells are whole runs, differences are made of their terms; on random devices."""

import random
from pathlib import Path

import attrs
import pytest

from tessbed.scenarios.format.diagnostics import ScenarioError
from tessbed.scenarios.format.loader import compose
from tessbed.scenarios.format.toml_source import parse_toml
from tessbed.scenarios.library import load
from tessbed.scenarios.runner import run_scenario
from tessbed.scenarios.study import attribution_report, comparison, lower_bounds, sensitivity, worker_scaling
from tessbed.scenarios.study.lower_bounds import PROOFS, bounds
from tessbed.scenarios.study.measurement import measure_scenario, on_device, studied, whole
from tessbed.scenarios.study.parameters import knobs
from tessbed.scenarios.study.tick_attribution import attribute_ticks, utilisation
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tests.breadth import breadth
from tests.contract.backends import plan_of
from tests.geometries import random_geometries
from tests.requests import request_of
from tests.scenarios.test_engine_compare import firmware_device
from tests.scenarios.texts import SMALL

EV74 = ["jobs.*.backend=ev74"]


def opened(name, settings):
    """The measurement of one side of a comparison."""
    return whole(measure_scenario(comparison.opened(name, settings)))


def random_scenarios(count, seed):
    """One random tensor each, on random devices."""
    base = studied(compose(parse_toml(SMALL, "f"), Path()))
    for geometry in random_geometries(count, seed):
        if 0 not in geometry.shape:
            rng = random.Random(f"{seed}/{geometry}")
            job = attrs.evolve(base.jobs[0], plan=plan_of(request_of(geometry)), workers=None)
            spec = override(DeviceSpec(), firmware_device(rng))
            yield attrs.evolve(base, device=spec, jobs=(job,))


def random_measured(count, seed):
    """Random tensors on random devices, by the exact engine."""
    for scenario in random_scenarios(count, seed):
        yield measure_scenario(scenario).jobs[0]


@pytest.mark.parametrize("seed", breadth(range(4), suite=2))
def test_accounts_sum_and_bounds_hold(seed) -> None:
    """Every tick of a makespan has one place; no makespan is below any bound; nothing is busier than it exists."""
    for measured in random_measured(60, seed):
        assert sum(attribute_ticks(measured).values()) == measured.stats.device_ticks
        assert all(ticks > 0 for ticks in attribute_ticks(measured).values())
        assert all(found.ticks <= measured.stats.device_ticks for found in bounds(measured))
        assert all(0 <= part <= 1 for part in utilisation(measured).values())


def test_bounds_are_tight_where_one_thing_is_scarce() -> None:
    """A device with nothing but one scarce resource runs at the bound of that resource, or nearly."""
    free = {
        "launch_stagger_ticks": 0,
        "dma": {"issue_ticks": 0, "setup_ticks": 0, "row_ticks": 0, "read_channels": 64, "write_channels": 64},
        "memory": {"read_latency_ticks": 0, "write_latency_ticks": 0},
        "compute": {"band_ticks": 0, "run_ticks": 0, "vector_ticks": {"copy": 0}},
    }
    scenario = studied(load("yolov8n-image", EV74))
    scenario = attrs.evolve(scenario, jobs=scenario.jobs[:1])
    measured = measure_scenario(on_device(scenario, **free, workers=16, cores=16)).jobs[0]
    assert bounds(measured)[0].resource == "memory port"
    assert measured.stats.device_ticks <= 1.05 * bounds(measured)[0].ticks


def test_every_bound_has_a_proof() -> None:
    """All resources of PROOFS turn up somewhere, and no other."""
    seen = {found.resource for measured in random_measured(20, 77) for found in bounds(measured)}
    assert seen == set(PROOFS)


def test_a_whatif_cell_is_an_independent_run() -> None:
    """Cells equal event-engine runs of the changed scenario; anomalies are exactly the cells that go the wrong way."""
    scenario = studied(load("strided-outputs", EV74))
    measured, rows = sensitivity.sensitivities(scenario, "exact")
    base = measured.device_ticks
    assert [row.knob.path for row in rows] != [knob.path for knob in knobs(scenario.device)]
    gains = [row.gain(base) for row in rows]
    assert gains == sorted(gains, reverse=True)
    rng = random.Random(1)
    for row in rng.sample([row for row in rows if row.cells], 12):
        cell = rng.choice(list(row.cells.values()))
        moved = run_scenario(on_device(scenario, **row.knob.changes(cell.value)))
        assert sum(outcome.run.ticks for outcome in moved.outcomes if outcome.run) == cell.ticks, row.knob.path
        assert cell.anomaly == (cell.ticks > base if row.knob.better(cell.value) else cell.ticks < base)


def test_advice_on_a_known_curve() -> None:
    """The knee, the count within the bound and the stretches are those of the curve, by hand."""
    scenario = studied(load("chroma", EV74))
    points = worker_scaling.curve(worker_scaling.scaling_runs(scenario, 0, 8, "exact"))
    ticks = [measure_scenario(on_device(scenario, workers=w)).jobs[0].stats.device_ticks for w in range(1, 9)]
    assert [point.ticks for point in points] == ticks
    knee = worker_scaling.knee(points, 5)
    assert all(t > 0.95 * ticks[knee - 1] for t in ticks[knee:])
    assert any(t <= 0.95 * ticks[knee - 2] for t in ticks[knee - 1 :])
    stretches = worker_scaling.stretches(points, 5)
    assert [s.first for s in stretches[1:]] == [s.last for s in stretches[:-1]]
    assert (stretches[0].first, stretches[-1].last) == (1, 8)
    assert stretches[1].kind == "rising"
    assert "5 workers take turns on 4 cores" in stretches[1].reason


def test_a_comparison_is_made_of_its_terms(tmp_path) -> None:
    """Terms sum to their job's difference, jobs to the whole; a run folder compares as its scenario."""
    from tessbed.scenarios.run_folder import RunFolder

    scenario = load("chroma", EV74)
    RunFolder.open(tmp_path / "one").write(run_scenario(scenario), 0.0)
    before = opened(str(tmp_path / "one"), [])
    assert comparison.stale(str(tmp_path / "one"), before) is None
    after = opened("chroma", [*EV74, "device.workers=7", "device.dma.outstanding=3"])
    reported = comparison.document(("one", "chroma"), before, after)
    assert reported["difference_ticks"] == after.device_ticks - before.device_ticks != 0
    assert sum(job["difference_ticks"] for job in reported["jobs"]) == reported["difference_ticks"]
    for job in reported["jobs"]:
        assert sum(term["difference_ticks"] for term in job["terms"]) == job["difference_ticks"]
        assert job["after_ticks"] - job["before_ticks"] == job["difference_ticks"]


@pytest.mark.parametrize("engine", ["simpy", "verify"])
def test_every_engine_gives_the_same_account(engine) -> None:
    """The account depends on what happened, and not on which engine reported it."""
    scenario = load("oversized-pitch", EV74)
    reported, other = (attribution_report.document(measure_scenario(scenario, name)) for name in ("exact", engine))
    assert reported["jobs"] == other["jobs"]
    assert other["engine"] == engine


def test_a_job_that_fails_is_no_subject_of_a_study() -> None:
    """Studies of each job name the failed ones and leave them out; studies of the whole refuse."""
    scenario = studied(load("fault-lost-completion"))
    for reported in (
        attribution_report.document(measure_scenario(scenario)),
        lower_bounds.document(measure_scenario(scenario)),
        worker_scaling.document(scenario, 2, 5, "exact"),
    ):
        assert {job["name"]: job["text"] for job in reported["failed"]} == {
            "never heard of again": "ended in lost",
        }
        assert [job["name"] for job in reported["jobs"]] == ["found by looking", "after the reset"]
        assert "simpy" in reported["engine"]
        assert reported["instead"] == "job never heard of again has faults, which only the event engine supports"
    with pytest.raises(ScenarioError, match="job never heard of again ended in lost; a study needs jobs that end"):
        sensitivity.sensitivities(scenario, "exact")
    with pytest.raises(ScenarioError, match="a study needs jobs that end"):
        opened("fault-lost-completion", [])


def test_engines_that_part_give_no_ticks(monkeypatch) -> None:
    """`--engine verify` takes no job for measured on which the engines differ."""
    monkeypatch.setattr(
        "tessbed.scenarios.runner.engine_difference", lambda events, exact: "the engines differ at tick 7"
    )
    measured = measure_scenario(load("documents-2x17", EV74), "verify")
    assert measured.jobs == ()
    assert {job.text for job in measured.failed} == {"the engines differ at tick 7"}


def test_lines_for_people_say_what_they_are() -> None:
    """An account is marked as one, and its makespan line closes the sum."""
    lines = list(attribution_report.lines(attribution_report.document(measure_scenario(load("chroma", EV74))), top=3))
    assert "an attribution of this run, not a prediction" in lines[0]
    assert any(line.startswith("makespan") and "100.0 %" in line for line in lines)
