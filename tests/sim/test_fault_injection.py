"""Faults on the device's own interface: what they are, which have struck, and what a host that polls is given."""

import pytest

from tessbed.firmware_models.image import FirmwareImage
from tessbed.runtime import Runtime
from tessbed.sim.checkers.granule_races import NEVER
from tessbed.sim.device.device import Device
from tessbed.sim.errors import HazardError
from tessbed.sim.fault_injection import (
    FAULT_KINDS,
    TRANSFER_FAULTS,
    UNKNOWN_STATUS,
    Fault,
    by_number,
    injections,
)
from tessbed.sim.stats import JobStats
from tests.runtime.bench import filled, small_plan, small_spec


def test_every_fault_is_in_the_table() -> None:
    """A kind that the table lacks, or a negative delay, is a misuse of the model."""
    with pytest.raises(HazardError, match="no fault 'explosion'"):
        Fault("explosion")
    with pytest.raises(HazardError, match="-1 ticks"):
        Fault("late", -1)
    assert set(TRANSFER_FAULTS) < set(FAULT_KINDS)


def test_faults_of_transfers_are_injections() -> None:
    """Only faults of transfers reach the DMA engine, by worker and sequence."""
    planned = [Fault("stall", worker=1, transfer=2), Fault("late", 5), Fault("dma_error")]
    assert injections(planned) == {(1, 2): "stall", (0, 0): "dma_error"}
    assert UNKNOWN_STATUS > 1 << 62


def test_what_has_struck_is_on_record() -> None:
    """A device lists each fault that took effect, with the number of its job, and none that did not."""
    idle = Fault("dma_error", transfer=999)
    faults = [Fault("late", 7), Fault("late", 0), Fault("repeated", 3), Fault("repeated", 4), idle]
    device = Device(small_spec(), FirmwareImage.full(), faults=by_number({0: faults}))
    runtime = Runtime(device)
    source, target = filled(runtime)
    runtime.run(small_plan(), [source], [target])
    assert device.struck == [(0, faults[0])]
    while device.env.peek() != float("inf"):
        device.env.step()
    assert device.struck == [(0, faults[0]), (0, faults[2]), (0, faults[3])]


def test_a_host_that_polls_says_so() -> None:
    """`collect` gives the account of a job whose record is in place, once, and the checker knows of the end."""
    device = Device(small_spec(), FirmwareImage.full(), faults=by_number({0: [Fault("lost_interrupt")]}))
    runtime = Runtime(device)
    source, target = filled(runtime)
    job = runtime.submit(small_plan(), [source], [target])
    assert device.collect(job.cookie) is None
    while device.env.peek() != float("inf"):
        device.env.step()
    check = device.delivery.written[job.cookie].learned.__self__  # type: ignore[attr-defined]
    assert check.known == NEVER
    stats = device.collect(job.cookie)
    assert stats is not None
    assert stats.cookie == job.cookie
    assert check.known != NEVER
    assert device.collect(job.cookie) is None


def test_a_late_completion_is_in_the_account() -> None:
    """The device's own account of a late job ends when its interrupt comes, and its parts sum to that."""
    device = Device(small_spec(), FirmwareImage.full(), faults=by_number({0: [Fault("late", 7), Fault("late", 2)]}))
    runtime = Runtime(device)
    on_progress: list[tuple[int, JobStats | None]] = []
    device.delivery.listeners.append(lambda _, stats: on_progress.append((device.now, stats)))
    source, target = filled(runtime)
    runtime.run(small_plan(), [source], [target])
    ((tick, stats),) = on_progress
    assert stats is not None
    assert stats.job_ticks == tick == sum(stats.parts.values())
    assert stats.parts["completion"] == small_spec().completion_ticks + 9
