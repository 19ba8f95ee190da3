"""Pack steps: the four of them come in their order, and the wait for earlier drains only where it is asked for."""

from collections.abc import Callable, Sequence

import attrs
import pytest

from tessbed.sim.pack_steps import pack_by_steps
from tessbed.sim.transfer.descriptor import Descriptor

CHAIN = [Descriptor(0, 0, 1, 64, 0, 0)]


@attrs.define
class Worker:
    """Yields the name of each step with what it was given."""

    def wait_slot(self, slot: int) -> Sequence[object]:
        """A step."""
        return [("slot", slot)]

    def compute(self, ticks: int, action: Callable[[], None]) -> Sequence[object]:
        """A step."""
        return [("compute", ticks, action)]

    def wait_drains(self, reason: str = "end") -> Sequence[object]:
        """A step."""
        return [("drains", reason)]

    def drain(self, slot: int, descriptors: Sequence[Descriptor]) -> Sequence[object]:
        """A step."""
        return [("drain", slot, descriptors)]


@pytest.mark.parametrize("ordered", [False, True])
def test_steps_in_order(ordered: bool) -> None:
    """Slot, computation, earlier drains if ordered, drain."""
    wanted = [("slot", 1), ("compute", 7, print), *[("drains", "order")] * ordered, ("drain", 1, CHAIN)]
    assert [*pack_by_steps(Worker(), 1, 7, print, CHAIN, ordered=ordered)] == wanted
