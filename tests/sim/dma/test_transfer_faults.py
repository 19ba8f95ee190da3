"""Faults of transfers: each ends its job in the record, and moves no byte that it must not."""

import numpy as np
import pytest

from tessbed.sim.completion_record import STATUS, Completion, Record
from tessbed.sim.device.device import Submission
from tessbed.sim.errors import DeviceFault
from tessbed.sim.transfer.descriptor import Descriptor
from tests.sim.rig import BASE, DATA, HAND, OUT, PAGE, build, copy_body, read, transfer_ticks, write

END_OF_DATA = DATA + 16 * PAGE


def faulting(kind):
    """A body whose worker 1 meets a fault; the others copy."""
    bad = {
        "gather unmapped": (lambda ctx: ctx.gather([Descriptor(END_OF_DATA, 0, 1, 64, 0, 0)])),
        "gather outside": (lambda ctx: ctx.gather([read(0, 0, 64), Descriptor(64, 64, 1, 64, 0, 0)])),
        "gather straddles": (lambda ctx: ctx.gather([Descriptor(END_OF_DATA - 32, 0, 1, 64, 0, 0)])),
        "drain outside": (lambda ctx: ctx.drain(0, [write(OUT + 0x1000, 0, 64), Descriptor(64, 0, 1, 64, 0, 0)])),
    }[kind]

    def body(ctx):
        if ctx.worker == 1:
            yield from bad(ctx)
        yield from copy_body(ctx)

    return body


FAULTS = [
    ("gather unmapped", "unmapped", END_OF_DATA),
    ("gather outside", "outside_window", 64),
    ("gather straddles", "straddles", END_OF_DATA - 32),
]


@pytest.mark.parametrize("policy", ["at_issue", "at_completion"])
@pytest.mark.parametrize(("kind", "code", "address"), FAULTS, ids=[kind for kind, _, _ in FAULTS])
def test_a_gather_fault_ends_the_job_in_its_record(policy, kind, code, address) -> None:
    """The status names the fault, the detail its address; the faulty worker writes nothing, the others finish."""
    rig = build(faulting(kind), {"data_movement": policy})
    expected = rig.data.copy()
    for worker in (0, 2, 3):
        expected[OUT + 256 * worker :][:256] = rig.data[256 * worker :][:256]
    stats = rig.run()
    assert stats.completion == Completion(STATUS[code], 0, address)
    assert rig.record() == Record(1, stats.completion, stats.device_ticks, 4)
    assert np.array_equal(rig.data, expected)


def test_a_chain_moves_nothing_from_the_faulting_descriptor_on() -> None:
    """What came before the fault has moved; a fault of a drain reaches the worker in its next wait."""

    def body(ctx):
        ctx.scratch[:] = 9
        yield from ctx.drain(0, [write(OUT, 0, 64), Descriptor(DATA - 64, 64, 1, 64, 0, 0), write(OUT + 64, 128, 64)])
        ctx.count("went on")
        yield from ctx.wait_slot(0)
        ctx.count("not reached")

    rig = build(body, {"workers": 1}, fill=0)
    stats = rig.run()
    assert stats.completion == Completion(STATUS["unmapped"], 0, DATA - 64)
    assert (rig.data != 0).sum() == 64
    assert (rig.data[OUT : OUT + 64] == 9).all()
    assert stats.counts == {"went on": 1}
    assert stats.writes.moved_bytes == stats.writes.due_bytes == 64


def test_a_drain_fault_that_nobody_waits_for_still_counts() -> None:
    """A worker that never waits again cannot hide its fault."""

    def body(ctx):
        yield from ctx.drain(0, [Descriptor(DATA - 64, 64, 1, 64, 0, 0)])
        yield from ctx.compute(100_000, lambda: None)

    assert build(body, {"workers": 1}).run().completion.status == STATUS["unmapped"]


def test_a_read_only_buffer_faults_on_write() -> None:
    """The page's own mapping decides."""

    def body(ctx):
        yield from ctx.drain(0, [Descriptor(DATA + 0x100000, 0, 1, 64, 0, 0)])
        yield from ctx.wait_drains()

    rig = build(body, {"workers": 1})
    rig.device.memory.map(DATA + 0x100000, np.zeros(PAGE, np.uint8), writable=False)
    assert rig.run().completion == Completion(STATUS["read_only"], 0, DATA + 0x100000)


@pytest.mark.parametrize("seq", [0, 1])
def test_an_injected_error_moves_nothing(seq) -> None:
    """The n-th transfer of a worker of a job fails, with its first address, in its own time."""
    clean = build(copy_body, HAND, trace=True).run()
    rig = build(copy_body, HAND, trace=True, fill=3, inject={(0, 0, seq): "dma_error"})
    rig.data[:256] = 4
    stats = rig.run()
    assert stats.completion == Completion(STATUS["dma_error"], 0, DATA if seq == 0 else DATA + OUT)
    assert (rig.data[OUT:] == 3).all()
    assert transfer_ticks(stats) == transfer_ticks(clean)[: seq + 1]
    assert rig.run(2).completion == Completion(0)


def test_after_a_fault_no_further_worker_starts() -> None:
    """Workers that run end by themselves, those that would come later do not."""
    started = []

    def body(ctx):
        started.append(ctx.worker)
        yield from faulting("gather unmapped")(ctx)

    changes = {"cores": 2, "workers": 6, "launch_stagger_ticks": 0}
    stats = build(body, changes).run()
    assert stats.completion.status == STATUS["unmapped"]
    assert started[:2] == [0, 1]
    assert len(started) < 6


def test_a_packet_that_cannot_be_fetched_is_a_fault() -> None:
    """The firmware is never entered."""

    class Never:
        def entry(self, job):
            raise AssertionError
            yield

    rig = build(Never())
    rig.device.memory.unmap(rig.device.memory.mappings[0])
    rig.device.memory.map(BASE + PAGE, rig.page)
    submission = Submission(BASE, 16, BASE + PAGE, 1)
    stats = rig.device.run(rig.device.submit(submission))
    assert stats.completion == Completion(STATUS["packet_fetch"], 0, BASE)


def test_firmware_may_answer_a_fault_itself() -> None:
    """A DeviceFault passes through entry, which may turn it into its own status."""

    class Image:
        def entry(self, job):
            try:
                yield from job.launch(faulting("gather unmapped"))
            except DeviceFault as fault:
                return Completion(0x42, 0, fault.detail)
            return Completion(0)

    assert build(Image()).run().completion == Completion(0x42, 0, END_OF_DATA)
