"""Jobs on a device: queue, record, grid, faults, hazards, hangs, audit."""

import attrs
import numpy as np
import pytest
from simpy import Environment

from tessbed.sim import completion
from tessbed.sim.audit import audit
from tessbed.sim.completion import STATUS, Completion, Record
from tessbed.sim.device import Submission
from tessbed.sim.errors import DeviceFault, HangError, HazardError, MemoryFault
from tessbed.sim.hang import run_until
from tessbed.sim.transfer import Descriptor
from tests.sim.rig import BASE, DATA, HAND, PAGE, build, moments, read, write

OUT = 0x4000
END_OF_DATA = DATA + 16 * PAGE


def copy_body(ctx):
    """Each worker copies 256 bytes of its own to OUT."""
    yield from ctx.gather([read(256 * ctx.worker, 0, 256)])
    yield from ctx.drain(0, [write(OUT + 256 * ctx.worker, 0, 256)])
    yield from ctx.wait_drains()


class TestRecord:
    """The completion record."""

    GOLDEN = bytes.fromhex(
        "54454243 0100 4000"  # magic TEBC, version 1, size 64
        "2a00000000000000"  # cookie 42
        "03010000 07000000"  # status 0x103 unmapped, field 7
        "0010008000000000"  # detail 0x80001000
        "2300000000000000"  # 35 device ticks
        "04000000"  # 4 workers
        "00000000000000000000000000000000"
    )

    def test_golden_bytes(self) -> None:
        """A record is these bytes, and its CRC over the first 60; both ways."""
        record = Record(42, Completion(STATUS["unmapped"], 7, 0x8000_1000), 35, 4)
        data = completion.encode(record)
        assert data[:-4] == self.GOLDEN
        assert completion.decode(data) == record

    def test_any_flipped_bit_is_no_record(self) -> None:
        """Each of the 512 bits is guarded."""
        data = completion.encode(Record(42, Completion(0), 35, 4))
        for bit in range(512):
            flipped = bytearray(data)
            flipped[bit // 8] ^= 1 << bit % 8
            assert completion.decode(bytes(flipped)) is None

    @pytest.mark.parametrize("nbytes", [0, 63, 65])
    def test_other_lengths_are_no_record(self, nbytes) -> None:
        """Only 64 bytes can be a record."""
        assert completion.decode(bytes(nbytes)) is None


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
    assert moments(first) == moments(second)
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
            seen.append([job.memory.readable(DATA, PAGE), job.memory.readable(END_OF_DATA - 1, 2)])
            seen.append([job.memory.writable(BASE, 1), job.memory.writable(0, 1)])
            return Completion(9, 2, 77)

    rig = build(Image(), {"completion_ticks": 0})
    rig.page[:16] = range(16)
    stats = rig.run()
    assert seen == [bytes(range(16)), [True, False], [True, False]]
    assert rig.record() == Record(1, Completion(9, 2, 77), 0, 4)
    assert (stats.device_ticks, stats.parts["decode"], stats.parts["load"]) == (0, 5, 6)
    assert stats.job_ticks == 100_000 + 11


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
    assert moments(stats) == moments(clean)[: seq + 1]
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


def test_a_job_that_could_never_report_is_refused_at_once() -> None:
    """submit raises MemoryFault when the record has no place."""
    rig = build(copy_body)
    with pytest.raises(MemoryFault):
        rig.device.submit(Submission(BASE, 16, DATA - 64, 1))


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


def group_too_long(ctx):
    yield from ctx.gather([read(0, 0, 16)] * 17)


def empty_group(ctx):
    yield from ctx.gather([])


def empty_chain(ctx):
    yield from ctx.drain(0, [])


def no_such_slot(ctx):
    yield from ctx.drain(2, [write(OUT, 0, 16)])


def slot_in_flight(ctx):
    yield from ctx.drain(0, [write(OUT, 0, 16)])
    yield from ctx.drain(0, [write(OUT, 0, 16)])


def ends_early(ctx):
    yield from ctx.drain(0, [write(OUT, 0, 16)])


def too_wide(ctx):
    yield from ctx.gather([Descriptor(DATA, 0, 2, 16, 1 << 16, 16)])


def own_clock(ctx):
    yield ctx._env.timeout(5)


def backwards(ctx):
    yield from ctx.compute(-1, lambda: None)


HAZARDS = [
    (group_too_long, "wait group of 17"),
    (empty_group, "wait group of 0"),
    (empty_chain, "no descriptors"),
    (no_such_slot, "slot 2"),
    (slot_in_flight, "drains again"),
    (ends_early, "1 transfers in flight"),
    (too_wide, "pitch = 65536"),
    (own_clock, "waited past its context"),
    (backwards, "-1 ticks"),
]


@pytest.mark.parametrize(("body", "text"), HAZARDS, ids=[body.__name__ for body, _ in HAZARDS])
def test_misuse_is_a_hazard_that_stops_the_run(body, text) -> None:
    """A HazardError comes out of the run; no record is written."""
    rig = build(body, {"workers": 1})
    with pytest.raises(HazardError, match=text):
        rig.run()
    assert rig.record() is None


def test_a_job_launches_once() -> None:
    """A second launch is a hazard."""

    class Image:
        def entry(self, job):
            yield from job.launch(copy_body)
            yield from job.launch(copy_body)
            return Completion(0)

    with pytest.raises(HazardError, match="once"):
        build(Image()).run()


def test_a_stalled_channel_hangs_and_is_explained() -> None:
    """HangError names the job, the worker, the transfer and the channel, and the job queued behind."""
    rig = build(copy_body, {**HAND, "dispatch_ticks": 0}, inject={(0, 0, 0): "stall"})
    event = rig.submit(1)
    rig.submit(2)
    with pytest.raises(HangError) as caught:
        rig.device.run(event)
    lines = [str(line) for line in caught.value.waiting]
    assert lines == [
        "job 0 waits for workers [0] since tick 0",
        "worker 0 waits for transfers [0] of its own (gather) since tick 2",
        "transfer 0 of worker 0 waits for read channel 0, which stalled since tick 2",
        "job 1 waits for job 0 to end since tick 0",
    ]


def test_a_lost_credit_starves_the_others() -> None:
    """With one credit, a stalled read keeps every other worker's reads waiting."""
    changes = {"dispatch_ticks": 0, "launch_stagger_ticks": 0, "dma": {"outstanding": 1}}
    rig = build(copy_body, changes, inject={(0, 0, 0): "stall"})
    with pytest.raises(HangError, match="transfer 0 of worker 3 waits for a read channel and a credit"):
        rig.run()


def test_a_firmware_error_is_not_taken_for_a_hang() -> None:
    """A RuntimeError of the firmware comes out as it is."""

    def body(ctx):
        yield from ctx.compute(1, lambda: None)
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        build(body, {"workers": 1}).run()


def test_two_devices_share_an_environment() -> None:
    """Each has its own memory and channels; both run at once, each as if alone."""
    env = Environment()
    rigs = [build(copy_body, HAND, env=env, trace=True) for _ in range(2)]
    events = [rig.submit() for rig in rigs]
    both = [run_until(env, event, [rig.device for rig in rigs]) for event in events]
    alone = build(copy_body, HAND, trace=True).run()
    assert [moments(stats) for stats in both] == [moments(alone)] * 2
    assert env.now == alone.job_ticks


def broken(stats, what):
    """Statistics that break one rule."""
    changes = {
        "bytes": {"reads": attrs.evolve(stats.reads, moved_bytes=1)},
        "channel": {"pools": (attrs.evolve(stats.pools[0], busy_ticks=4 * stats.device_ticks + 1),)},
        "credits": {"pools": (attrs.evolve(stats.pools[0], peak_in_flight=17),)},
        "port": {"ports": (attrs.evolve(stats.ports[0], busy_ticks=stats.device_ticks + 1),)},
        "parts": {"job_ticks": stats.job_ticks + 1},
        "worker": {"workers": (attrs.evolve(stats.workers[0], finish_ticks=stats.device_ticks + 1),)},
    }
    return attrs.evolve(stats, **changes[what])


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("bytes", "reads moved 1"),
        ("channel", "pool read is busy"),
        ("credits", "17 transfers in flight"),
        ("port", "port memory is busy"),
        ("parts", "do not sum"),
        ("worker", "worker 0 ran"),
    ],
)
def test_the_audit_notices(what, text) -> None:
    """Clean statistics pass; each broken rule is named."""
    stats = build(copy_body).run()
    audit(stats)
    with pytest.raises(HazardError, match=text):
        audit(broken(stats, what))
