"""Compute counts: they sum to what the cores computed, and count what the device counted."""

from collections import Counter
from pathlib import Path

import attrs
import pytest

from tessbed.scenarios.library import load
from tessbed.scenarios.study import attribution_report
from tessbed.scenarios.study.compute_counts import GIVEN, compute_parts
from tessbed.scenarios.study.measurement import measure_scenario, on_device, studied
from tests.breadth import breadth
from tests.scenarios.study.test_tick_attribution import random_measured

EV74 = ["jobs.*.backend=ev74"]


def computed(measured, core) -> int:
    """What the device says that the workers of a core computed."""
    return sum(w.stalls["compute"] for w in measured.stats.workers if w.worker % measured.spec.cores == core)


@pytest.mark.parametrize("seed", breadth(range(3), suite=1))
def test_counts_times_their_parameters_are_the_ticks(seed) -> None:
    """On random tensors and devices, for every core: no remainder, and each part is its count times its parameter."""
    for measured in random_measured(40, seed):
        for core in range(min(measured.spec.cores, measured.workers)):
            parts = compute_parts(measured, core)
            assert sum(part.ticks for part in parts) == computed(measured, core)
            assert all(part.ticks == part.count * (part.unit_ticks or 0) for part in parts)


def test_counts_are_those_of_the_device() -> None:
    """Bands, clears and scattered scalars are what the worker loop counted on its own."""
    scenario = studied(load("depth-and-batch", EV74))
    for measured in measure_scenario(scenario).jobs:
        totals: Counter[str] = Counter()
        for core in range(measured.spec.cores):
            for part in compute_parts(measured, core):
                totals[part.unit] += part.count
        counts = measured.stats.counts
        assert totals["bands"] == counts["bands"]
        assert totals["clears"] == counts.get("plane_clears", 0)
        assert totals["scalars"] >= counts.get("scattered_scalars", 0)


def test_a_dearer_parameter_costs_its_count() -> None:
    """A count predicts: with that parameter one tick dearer, the cores compute so many ticks more."""
    scenario = studied(load("chroma", EV74))
    before = measure_scenario(scenario).jobs[0]
    spec = scenario.device.compute
    for part in compute_parts(before, 0)[:3]:
        name = part.parameter.removeprefix("vector_ticks.")
        assert part.unit_ticks is not None
        dearer = {name: part.unit_ticks + 1}
        change = dearer if name == part.parameter else {"vector_ticks": attrs.asdict(spec.vector_ticks) | dearer}
        after = measure_scenario(on_device(scenario, compute=change)).jobs[0]
        counted = sum(p.count for p in compute_parts(before, 0) if p.parameter == part.parameter)
        assert computed(after, 0) - computed(before, 0) == counted


def test_explain_opens_its_terms_of_computation() -> None:
    """The parts of a job sum to its terms of computation, class by class, and a person can multiply them."""
    reported = attribution_report.document(measure_scenario(studied(load("chroma", EV74))))
    for job in reported["jobs"]:
        for tiles in {term["tiles"] for term in job["account"]}:
            terms = sum(t["ticks"] for t in job["account"] if t["reason"] == "compute" and t["tiles"] == tiles)
            assert terms == sum(part["ticks"] for part in job["compute"] if part["tiles"] == tiles)
    assert any("runs x 6" in line for line in attribution_report.lines(reported, 12))


EXAMPLES = Path(__file__).parents[3] / "examples"
KERNELS = {"copy.py:copy": "vectors", "transpose.py:transpose": "scalars"}


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernels_cost_is_opened(name) -> None:
    """Where a kernel's ticks are a cost of the device, its counts times their parameters are its ticks."""
    measured = measure_scenario(studied(load(f"{EXAMPLES}/{name}"))).jobs[0]
    for core in range(measured.spec.cores):
        parts = compute_parts(measured, core)
        assert KERNELS[name] in {part.unit for part in parts}
        assert all(part.ticks == part.count * (part.unit_ticks or 0) for part in parts)
        assert sum(part.ticks for part in parts) == computed(measured, core)


@pytest.mark.parametrize("ticks", ["7", "7 + w.cost(runs=1)", "1 // 0 if w.cost(runs=1) < 9 else 40"])
def test_ticks_that_are_no_sum_of_products_are_given(tmp_path, ticks) -> None:
    """Numbers, sums with numbers, and code that fails on other devices: the bands are counted, nothing is made up."""
    source = (EXAMPLES / "copy.py").read_text()
    assert "same)  #" in source
    (tmp_path / "own.py").write_text(source.replace("same)  #", f"same, ticks={ticks})  #"))
    measured = measure_scenario(studied(load(f"{tmp_path}/own.py:copy"))).jobs[0]
    parts = compute_parts(measured, 0)
    assert {part.parameter for part in parts} == {GIVEN}
    assert sum(part.ticks for part in parts) == computed(measured, 0)
