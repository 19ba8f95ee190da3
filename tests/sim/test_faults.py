"""Faults and resets on the device's own interface, without a runtime."""

import pytest

from tessbed.sim.errors import HazardError
from tessbed.sim.faults import KINDS, STRANGE, TRANSFER, Fault, injections


def test_every_fault_is_in_the_table() -> None:
    """A kind that the table lacks, or a negative delay, is a misuse of the model."""
    with pytest.raises(HazardError, match="no fault 'explosion'"):
        Fault("explosion")
    with pytest.raises(HazardError, match="-1 ticks"):
        Fault("late", -1)
    assert set(TRANSFER) < set(KINDS)


def test_faults_of_transfers_are_injections() -> None:
    """Only faults of transfers reach the DMA engine, by worker and sequence."""
    planned = [Fault("stall", worker=1, transfer=2), Fault("late", 5), Fault("dma_error")]
    assert injections(planned) == {(1, 2): "stall", (0, 0): "dma_error"}
    assert STRANGE > 1 << 62
