"""Each bug is caught, those that can corrupt bytes do so under a legal order, and clean firmware is never accused."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from tessbed.sim.checkers.hazards import Checker
from tessbed.sim.errors import HazardError
from tessbed.sim.interleavings.actions import Thread
from tests.breadth import breadth
from tests.contract.backends import plan_of
from tests.firmware_models.mutants import MUTANTS, Mutant
from tests.firmware_models.rig import Rig, build, launch, random_phases, source_of
from tests.firmware_models.test_stress import random_device
from tests.geometries import name_of, random_geometries
from tests.oracle import Geometry, expected_output
from tests.requests import request_of

ORDERS = 60
GRANULES = (16, 32, 64, 128)


def at_random(seed: int) -> Any:
    """Any thread that can go on goes on; every other seed, one that is drawn last stays behind as long as it can."""
    random = Random(seed)
    ranks: dict[Any, float] = {}

    def choose(ready: Sequence[Thread]) -> int:
        if seed % 2:
            return random.randrange(len(ready))
        return min(range(len(ready)), key=lambda index: ranks.setdefault(ready[index].name, random.random()))

    return choose


def corrupting_order(rig: Rig, geometry: Geometry) -> int | None:
    """The first seeded order that leaves a wrong byte."""
    wanted = expected_output(geometry, source_of(geometry))
    for seed in range(ORDERS):
        rig.in_order(at_random(seed), Checker("off"))
        if rig.span().tobytes() != wanted:
            return seed
    return None


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_checker_catches_it(mutant: Mutant) -> None:
    """One run in ticks is enough: the run stops, and says what is wrong; wrong in every order, the oracle sees it."""
    wanted = expected_output(mutant.geometry, source_of(mutant.geometry))
    with mutant.applied():
        if mutant.always:
            assert launch(mutant.geometry, mutant.changes).output != wanted
            return
        with pytest.raises(HazardError, match=f"^{mutant.kind}: job 0: "):
            launch(mutant.geometry, mutant.changes)


@pytest.mark.parametrize("mutant", [m for m in MUTANTS if m.corrupts], ids=lambda mutant: mutant.name)
def test_some_order_corrupts_bytes(mutant: Mutant) -> None:
    """The finding is no formality: among seeded legal orders there is one that leaves wrong bytes."""
    with mutant.applied():
        assert corrupting_order(build(mutant.geometry, mutant.changes), mutant.geometry) is not None


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_without_the_bug_nothing_is_wrong(mutant: Mutant) -> None:
    """The same job without the bug: no finding, and no order leaves a wrong byte."""
    assert launch(mutant.geometry, mutant.changes).output == expected_output(
        mutant.geometry, source_of(mutant.geometry)
    )
    assert corrupting_order(build(mutant.geometry, mutant.changes), mutant.geometry) is None


@pytest.mark.parametrize("granule", GRANULES)
@pytest.mark.parametrize("mutant", [m for m in MUTANTS if m.corrupts and not m.always], ids=lambda mutant: mutant.name)
def test_unsafe_exactly_if_an_order_corrupts(mutant: Mutant, granule: int) -> None:
    """At every granule size: the checker accuses the job if, and only if, seeded orders corrupt a byte of it."""
    changes = {**mutant.changes, "write_granule_bytes": granule}
    with mutant.applied():
        rig, checker = build(mutant.geometry, changes), Checker("report")
        rig.in_order(at_random(1), checker)
        corrupted = corrupting_order(rig, mutant.geometry) is not None
    assert bool(checker.findings) == corrupted


def test_unchained_segments_race() -> None:
    """Segments of one band that travel alone share granules: beside the slot, the races between them are reported."""
    (mutant,) = (mutant for mutant in MUTANTS if mutant.name == "unchained drain segments")
    checker = Checker("report")
    with mutant.applied():
        launch(mutant.geometry, mutant.changes, checker=checker)
    assert {finding.kind for finding in checker.findings} == {"slot_in_flight", "granule_race"}


def never_accused(count: int, seed: int) -> None:
    """Clean firmware on random devices, in ticks and in a few orders."""
    for index, geometry in enumerate(random_geometries(count, seed)):
        if 0 in geometry.shape:
            continue
        random = Random(f"clean/{seed}/{index}")
        changes, phases = random_device(random), random_phases(random, plan_of(request_of(geometry)))
        rig = build(geometry, changes, phases=phases)
        wanted = expected_output(geometry, source_of(geometry))
        for order in range(3):
            rig.in_order(at_random(index + order), Checker())
            assert rig.span().tobytes() == wanted, f"{name_of(geometry)} {changes} {phases} {order}"


@pytest.mark.parametrize("seed", breadth(range(3), suite=1))
def test_clean_firmware_is_never_accused(seed: int) -> None:
    """Random tensors, addresses, granules, grids, slots and scratch, in random orders: right, and no finding."""
    never_accused(50, 61 + seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_clean_firmware_is_never_accused_at_length(seed: int) -> None:
    """The same on many more."""
    never_accused(300, 610 + seed)
