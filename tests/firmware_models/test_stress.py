"""Random tensors at random addresses on random devices: the bytes are the oracle's, and nothing around them changes."""

from random import Random
from typing import Any

import pytest

from tessbed.sim.errors import SpecError
from tessbed.sim.spec.device_spec import DeviceSpec, override
from tests.breadth import breadth
from tests.contract.backends import plan_of
from tests.firmware_models.rig import launch, random_phases, source_of
from tests.geometries import name_of, random_geometries
from tests.oracle import PREFILL, expected_output
from tests.requests import request_of

RESERVED_BYTES = DeviceSpec().scratch_reserved_bytes


def random_device(random: Random) -> dict[str, Any]:
    """Changes to the default device: anything that a firmware has to bear, down to a scratch of a few hundred bytes."""
    changes: dict[str, Any] = {
        "write_granule_bytes": random.choice([16, 32, 64, 128]),
        "byte_strobes": random.random() < 0.1,
        "workers": random.randint(1, 16),
        "cores": random.choice([1, 2, 4, 5, 16]),
        "slots": random.choice([1, 2, 3]),
        "scratch_bytes": RESERVED_BYTES + random.choice([384, 512, 768, 2048, 196608]),
        "data_movement": random.choice(["at_issue", "at_completion", "seeded"]),
        "dma": {
            "wait_group": random.choice([1, 2, 4, 16]),
            "field_bits": random.choice([8, 10, 16, 16]),
            "outstanding": random.choice([1, 2, 16]),
            "arbitration": random.choice(["fifo", "round_robin"]),
        },
    }
    try:
        override(DeviceSpec(), changes)
    except SpecError:
        changes["scratch_bytes"] = RESERVED_BYTES + 2048
    return changes


def check(count: int, seed: int) -> None:
    """`count` cases of one seed."""
    for index, geometry in enumerate(random_geometries(count, seed)):
        if 0 in geometry.shape:
            continue
        random = Random(f"stress/{seed}/{index}")
        changes, phases = random_device(random), random_phases(random, plan_of(request_of(geometry)))
        done = launch(geometry, changes, phases=phases, seed=index)
        case = f"{name_of(geometry)} {changes} at {phases}"
        assert done.output == expected_output(geometry, source_of(geometry), PREFILL), case
        assert not done.strayed, case
        assert done.record is not None, case
        assert done.record.completion.status == 0, case


@pytest.mark.parametrize("seed", breadth(range(6), suite=2))
def test_any_device(seed: int) -> None:
    """Any granule, grid, slots, scratch, DMA limits and data movement: right bytes, nothing else touched."""
    check(50, 7400 + seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_any_device_at_length(seed: int) -> None:
    """The same on ten times as many, with other seeds."""
    check(250, 9900 + seed)
