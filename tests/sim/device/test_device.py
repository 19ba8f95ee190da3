"""Jobs on a device: queue, record, grid, entry, two devices on one clock."""

import gc
import weakref

import pytest
from simpy import Environment

from tessbed.sim.completion_record import Completion, Record
from tessbed.sim.device.device import Submission
from tessbed.sim.errors import MemoryFault
from tessbed.sim.events.deadlock import run_until
from tests.sim.rig import BASE, DATA, HAND, PAGE, build, copy_body, transfer_ticks


def test_a_job_writes_its_record_before_the_host_wakes() -> None:
    """The record is in memory completion_ticks before the event, and not a tick earlier."""
    rig = build(copy_body, {**HAND, "dispatch_ticks": 0, "completion_ticks": 10})
    event = rig.submit(cookie=3)
    stats = rig.device.run(event)
    assert rig.record(3) == Record(3, Completion(0), stats.device_ticks, 1)
    assert rig.device.now == stats.device_ticks + 10 == stats.job_ticks


def test_jobs_run_one_after_the_other_in_submission_order() -> None:
    """The second job's queue part is the first one's way to its record."""
    rig = build(copy_body, {**HAND, "dispatch_ticks": 7, "completion_ticks": 100})
    events = [rig.submit(cookie) for cookie in (1, 2, 3)]
    runs = [rig.device.run(event) for event in events]
    busy = 7 + runs[0].device_ticks
    assert [run.parts["queue"] for run in runs] == [0, busy, 2 * busy]
    assert [run.job_ticks for run in runs] == [busy + 100, 2 * busy + 100, 3 * busy + 100]
    assert [run.cookie for run in runs] == [1, 2, 3]


def test_a_later_job_is_timed_as_the_first() -> None:
    """A job finds the device as new: the same ticks from the launch on, whatever ran before."""
    rig = build(copy_body, {"dma": {"arbitration": "round_robin"}}, trace=True)
    first, second = rig.run(1), rig.run(2)
    assert transfer_ticks(first) == transfer_ticks(second)
    assert first.digests == second.digests


GRID = [(None, 6), (4, 4), (6, 6), (60, 6), (1, 1)]


@pytest.mark.parametrize(("asked", "launched"), GRID, ids=[str(asked) for asked, _ in GRID])
def test_the_grid_is_what_is_launched(asked, launched) -> None:
    """A launch gives the smaller of asked and workers; each index runs once and knows the grid's size."""
    seen = []

    def body(ctx):
        seen.append((ctx.worker, ctx.workers))
        yield from copy_body(ctx)

    stats = build(body, {"workers": 6}).run(workers=asked)
    assert sorted(seen) == [(worker, launched) for worker in range(launched)]
    assert stats.workers_launched == launched


def test_scratch_goes_when_its_workers_have_ended() -> None:
    """A device that remembers its jobs does not remember their scratch, whatever the garbage collector does."""
    scratches = []

    def body(ctx):
        scratches.append(weakref.ref(ctx.scratch))
        yield from copy_body(ctx)

    gc.collect()
    gc.disable()
    try:
        rig = build(body, {"cores": 2, "workers": 5})
        rig.run()
        assert [scratch() for scratch in scratches] == [None] * 5
    finally:
        gc.enable()


def test_a_reset_forgets_the_queue() -> None:
    """Of two jobs that were queued when a reset is confirmed none runs; one submitted then starts at once."""
    rig = build(copy_body, {**HAND, "dispatch_ticks": 7, "reset_ticks": 5})
    for cookie in (1, 2):
        rig.submit(cookie)
    rig.device.run(rig.device.reset())
    assert rig.device.waiting() == []
    stats = rig.run(3)
    assert stats.parts["queue"] == 0
    rig.device.env.run()
    assert [rig.record(cookie) is None for cookie in (1, 2, 3)] == [True, True, False]


def test_workers_share_cores_in_order() -> None:
    """Core c runs c, c + cores, ... one after the other, relaunch_ticks apart."""
    changes = {"cores": 2, "workers": 5, "launch_stagger_ticks": 11, "relaunch_ticks": 3}
    workers = build(copy_body, changes).run().workers
    assert [worker.start_ticks for worker in workers[:2]] == [0, 11]
    for later, earlier in ((2, 0), (3, 1), (4, 2)):
        assert workers[later].start_ticks == workers[earlier].finish_ticks + 3


def test_entry_sees_the_packet_and_may_probe() -> None:
    """Firmware gets the packet's bytes and can ask whether a range is accessible."""
    seen = []

    class Image:
        def entry(self, job):
            yield from job.wait(5, "decode")
            yield from job.wait(6, "load")
            seen.append(job.packet)
            seen.append([job.memory.readable(DATA, PAGE), job.memory.readable(DATA + 16 * PAGE - 1, 2)])
            seen.append([job.memory.writable(BASE, 1), job.memory.writable(0, 1)])
            return Completion(9, 2, 77)

    rig = build(Image(), {"completion_ticks": 0})
    rig.page[:16] = range(16)
    stats = rig.run()
    assert seen == [bytes(range(16)), [True, False], [True, False]]
    assert rig.record() == Record(1, Completion(9, 2, 77), 0, 4)
    assert (stats.device_ticks, stats.parts["decode"], stats.parts["load"]) == (0, 5, 6)
    assert stats.job_ticks == 100_000 + 11


def test_a_job_that_could_never_report_is_refused_at_once() -> None:
    """submit raises MemoryFault when the record has no place."""
    rig = build(copy_body)
    with pytest.raises(MemoryFault):
        rig.device.submit(Submission(BASE, 16, DATA - 64, 1))


def test_two_devices_share_an_environment() -> None:
    """Each has its own memory and channels; both run at once, each as if alone."""
    env = Environment()
    rigs = [build(copy_body, HAND, env=env, trace=True) for _ in range(2)]
    events = [rig.submit() for rig in rigs]
    both = [run_until(env, event, [rig.device for rig in rigs]) for event in events]
    alone = build(copy_body, HAND, trace=True).run()
    assert [transfer_ticks(stats) for stats in both] == [transfer_ticks(alone)] * 2
    assert env.now == alone.job_ticks
