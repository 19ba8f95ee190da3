"""Compute counts: they sum to what the cores computed, and count what the device counted."""

from collections import Counter

import attrs
import pytest

from tessbed.scenarios.library import load
from tessbed.scenarios.study import attribution_report
from tessbed.scenarios.study.compute_counts import GIVEN, compute_parts
from tessbed.scenarios.study.measurement import measure_scenario, on_device, studied
from tests.scenarios.study.test_tick_attribution import random_measured

EV74 = ["jobs.*.backend=ev74"]


def computed(measured, core) -> int:
    """What the device says that the workers of a core computed."""
    return sum(w.stalls["compute"] for w in measured.stats.workers if w.worker % measured.spec.cores == core)


@pytest.mark.parametrize("seed", range(3))
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


def test_a_kernel_of_ones_own_gives_its_ticks() -> None:
    """Its bands are counted; what a band costs is its own affair."""
    measured = measure_scenario(studied(load("examples/copy.py:copy"))).jobs[0]
    parts = compute_parts(measured, 0)
    assert {part.parameter for part in parts} == {GIVEN}
    assert sum(part.ticks for part in parts) == computed(measured, 0)
