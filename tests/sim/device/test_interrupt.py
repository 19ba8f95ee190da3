"""Completion records and interrupts: in which order they come, what damages or drops them, and who hears of them."""

from typing import Any

import pytest

from tessbed.sim.completion_record import RECORD_BYTES, Completion, Record
from tessbed.sim.fault_injection import UNKNOWN_STATUS, Fault, by_number
from tests.sim.rig import HAND, Rig, build, copy_body

QUICK = {**HAND, "dispatch_ticks": 0, "completion_ticks": 10, "reset_ticks": 5}
Heard = list[tuple[int, int, bool]]


def listening(*faults: Fault, **changes: Any) -> tuple[Rig, Heard]:
    """A rig whose first job has faults, and (tick, cookie, whether with an account) of each interrupt."""
    rig = build(copy_body, {**QUICK, **changes}, faults=by_number({0: faults}))
    heard: Heard = []
    rig.device.delivery.listeners.append(
        lambda cookie, stats: heard.append((rig.device.now, cookie, stats is not None))
    )
    return rig, heard


def run_dry(rig: Rig) -> None:
    """Let everything happen."""
    while rig.device.env.peek() != float("inf"):
        rig.device.env.step()


def device_ticks() -> int:
    """The ticks of the job."""
    return build(copy_body, QUICK).run().device_ticks


DELIVERIES = {  # faults, interrupts as (ticks after the end of the job, cookie, account), whether there is a record
    "none": ((), [(10, 1, True)], True),
    "late": ((Fault("late", 7),), [(17, 1, True)], True),
    "twice late": ((Fault("late", 7), Fault("late", 2)), [(19, 1, True)], True),
    "lost": ((Fault("lost"),), [], False),
    "lost interrupt": ((Fault("lost_interrupt"),), [], True),
    "torn record": ((Fault("torn_record"),), [(10, 1, True)], False),
    "repeated": ((Fault("repeated", 3),), [(10, 1, True), (13, 1, False)], True),
    "stranger": ((Fault("stranger", 3),), [(10, 1, True), (13, 1 ^ UNKNOWN_STATUS, False)], True),
}


@pytest.mark.parametrize(("faults", "interrupts", "recorded"), DELIVERIES.values(), ids=DELIVERIES)
def test_what_the_host_hears(
    faults: tuple[Fault, ...], interrupts: list[tuple[int, int, bool]], recorded: bool
) -> None:
    """Each fault of a completion has its own effect on the interrupts and on the record, to the tick."""
    rig, heard = listening(*faults)
    rig.submit()
    run_dry(rig)
    ended = device_ticks()
    assert [(tick - ended, cookie, account) for tick, cookie, account in heard] == interrupts
    assert rig.record() == (Record(1, Completion(0), ended, 1) if recorded else None)


def test_an_early_interrupt_comes_before_the_job() -> None:
    """It comes for the job's own cookie, without an account, and the true one follows."""
    rig, heard = listening(Fault("early", 1))
    rig.submit()
    run_dry(rig)
    assert heard == [(1, 1, False), (device_ticks() + 10, 1, True)]


def test_a_torn_record_differs_in_its_last_bit() -> None:
    """All bytes but the last are those of the whole record, so only its checksum shows it."""
    pages = []
    for faults in ((), (Fault("torn_record"),)):
        rig, _ = listening(*faults)
        rig.submit()
        run_dry(rig)
        pages.append(bytes(rig.page[RECORD_BYTES : 2 * RECORD_BYTES]))
    whole, torn = pages
    assert torn[:-1] == whole[:-1]
    assert torn[-1] ^ whole[-1] == 0x80


ON_ITS_WAY = {  # faults, ticks after the end of the job at which a reset is confirmed, whether the record is there
    "the interrupt": ((), 9, True),
    "the record": ((Fault("late", 50),), 49, False),
    "the interrupt of a late record": ((Fault("late", 50),), 59, True),
    "a repeated interrupt": ((Fault("repeated", 100),), 109, True),
}


@pytest.mark.parametrize(("faults", "after", "recorded"), ON_ITS_WAY.values(), ids=ON_ITS_WAY)
def test_a_reset_drops_what_is_on_its_way(faults: tuple[Fault, ...], after: int, recorded: bool) -> None:
    """What has come stays, what has not never comes: a tick before its time is early enough for the reset."""
    rig, heard = listening(*faults)
    rig.submit()
    confirmed_at = device_ticks() + after
    while rig.device.env.peek() < confirmed_at - 5:
        rig.device.env.step()
    rig.device.env.run(until=confirmed_at - 5)
    rig.device.reset()
    run_dry(rig)
    assert [tick for tick, *_ in heard if tick >= confirmed_at] == []
    assert (rig.record() is not None) == recorded
    assert rig.device.delivery.written == {}


def test_a_host_that_looked_gets_the_account_once() -> None:
    """Between record and interrupt `collect` gives the account; the interrupt still comes, and then none is kept."""
    rig, heard = listening()
    rig.submit()
    rig.device.env.run(until=device_ticks() + 5)
    stats = rig.device.collect(1)
    assert stats is not None
    assert (stats.cookie, rig.device.collect(1)) == (1, None)
    run_dry(rig)
    assert len(heard) == 1
    assert rig.device.delivery.written == {}
