"""What may change on an EV74 without changing a byte, and what without changing a tick."""

from random import Random
from typing import Any

import pytest

from tessbed.kernels import Plan
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tests.contract.backends import on_ev74, plan_of
from tests.geometries import name_of, random_geometries
from tests.oracle import PREFILL, Geometry, expected_output, input_bytes
from tests.requests import request_of

RANDOM = [geometry for geometry in random_geometries(36, seed=74) if 0 not in geometry.shape]


@pytest.fixture(params=RANDOM, ids=[name_of(geometry) for geometry in RANDOM])
def geometry(request: pytest.FixtureRequest) -> Geometry:
    """A small tensor, not empty."""
    return request.param


def launched(geometry: Geometry, seed: int = 0, **changes: Any) -> tuple[bytes, int]:
    """Output bytes and device ticks on the default device with `changes`."""
    plan: Plan = plan_of(request_of(geometry))
    spec = override(DeviceSpec(), changes)
    run = on_ev74(plan, source_of(geometry), PREFILL, spec, seed)
    return run.output.tobytes(), run.ticks


def source_of(geometry: Geometry) -> bytes:
    """Random bytes over the input's required span, the same every time."""
    return Random(name_of(geometry)).randbytes(input_bytes(geometry))


def test_workers_never_change_a_byte(geometry: Geometry) -> None:
    """1 to 16 logical workers on 4 cores write what the literal oracle says."""
    expected = expected_output(geometry, source_of(geometry))
    for workers in range(1, 17):
        assert launched(geometry, workers=workers)[0] == expected, workers


@pytest.mark.parametrize("granule", [16, 64, 128])
def test_data_movement_never_changes_a_byte_or_a_tick(geometry: Geometry, granule: int) -> None:
    """Early, late or seeded data, with granules of any size: right bytes, and the same ticks for each policy."""
    expected, ticks = expected_output(geometry, source_of(geometry)), set()
    for policy, seed in (("at_issue", 0), ("at_completion", 0), ("seeded", 1), ("seeded", 2)):
        output, elapsed = launched(geometry, seed, data_movement=policy, write_granule_bytes=granule, workers=7)
        assert output == expected, policy
        ticks.add(elapsed)
    assert len(ticks) == 1


@pytest.mark.parametrize("slots", [1, 3])
def test_slots_and_strobes_never_change_a_byte(geometry: Geometry, slots: int) -> None:
    """One slot or three, with byte strobes: the bytes stay."""
    expected = expected_output(geometry, source_of(geometry))
    assert launched(geometry, slots=slots, byte_strobes=True, workers=3)[0] == expected


def test_ticks_repeat(geometry: Geometry) -> None:
    """Ten runs on fresh devices take the same ticks."""
    assert len({launched(geometry)[1] for _ in range(10)}) == 1


@pytest.mark.parametrize("core_ids", [[3, 2, 1, 0], [9, 4, 7, 2]], ids=str)
def test_physical_numbering_never_changes_a_tick(geometry: Geometry, core_ids: list[int]) -> None:
    """Logical workers index the work: whatever the cores are called, bytes and ticks are the same."""
    assert launched(geometry, core_ids=core_ids, workers=6) == launched(geometry, workers=6)
