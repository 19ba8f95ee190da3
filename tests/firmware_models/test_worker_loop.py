"""The worker loop: which drains wait for earlier ones, by the granules that they touch."""

import attrs
import pytest

from tessbed.firmware_models.band import DrainFootprint
from tessbed.firmware_models.worker_loop import in_order
from tessbed.sim.spec.device_spec import DeviceSpec, override


@attrs.frozen
class Drain:
    """The output bytes of a band."""

    footprint: DrainFootprint


def drains(*spans: tuple[int, int]) -> list[Drain]:
    """Bands that drain [low, high)."""
    return [Drain(DrainFootprint(low, high, 0, high - low)) for low, high in spans]


# Write granules of 64 bytes: numbers 0, 1, 2 begin at 0, 64, 128.
ORDERS = {  # slots, the drains, whether each waits
    "no granule is shared": (2, [(0, 64), (64, 128), (128, 192)], [False, False, False]),
    "each shares one with the next": (2, [(0, 70), (70, 140), (140, 192)], [False, True, True]),
    "shared with the last but one": (3, [(10, 64), (64, 128), (0, 10)], [False, False, True]),
    "whose slot has been waited for": (2, [(10, 64), (64, 128), (0, 10)], [False, False, False]),
    "which an ordered one has waited for": (3, [(10, 80), (80, 100), (0, 10)], [False, True, False]),
    "the ordered one itself": (3, [(10, 80), (80, 100), (100, 128)], [False, True, True]),
    "one slot": (1, [(0, 70), (70, 140)], [False, False]),
}


@pytest.mark.parametrize(("slots", "spans", "waits"), ORDERS.values(), ids=ORDERS)
def test_a_drain_waits_where_one_in_flight_shares_its_granule(
    slots: int, spans: list[tuple[int, int]], waits: list[bool]
) -> None:
    """In flight is what no slot and no ordered drain has waited for; nothing else is worth a wait."""
    spec = override(DeviceSpec(), {"slots": slots, "write_granule_bytes": 64, "byte_strobes": False})
    assert [ordered for _, ordered in in_order(drains(*spans), spec)] == waits


def test_with_byte_strobes_bytes_alone_count() -> None:
    """A device that writes bytes orders only drains of the same bytes."""
    spec = override(DeviceSpec(), {"slots": 2, "byte_strobes": True})
    assert [ordered for _, ordered in in_order(drains((0, 70), (70, 140), (139, 150)), spec)] == [False, False, True]
