"""Mappings that change during a launch, and bodies of every mixture: no short cut changes their outcome."""

import random

import attrs
import numpy as np
import pytest

from tessbed.sim.dma.transfer_stream import TransferStream
from tessbed.sim.events import event_queue
from tessbed.sim.spec.device_spec import DeviceSpec
from tests.sim.dma.test_inflight import scramble
from tests.sim.programs import random_bands, random_device
from tests.sim.rig import DATA, OUT, PAGE, build, read, write

SEEDS = range(40)
NO_SHORT_CUTS = {(0, 999, 999): "stall"}
"""An injection for a worker that does not exist: the device takes none of its short cuts."""
HALF = 8 * PAGE


def mixed(programs, rng):
    """A body whose bands are packed as one or by parts, with reads that are waited for or not, in any mixture."""
    plans = [[[rng.randrange(4) for _ in range(4)] for _ in bands] for bands in programs]

    def body(ctx):
        for number, (band, plan) in enumerate(zip(programs[ctx.worker], plans[ctx.worker], strict=True)):
            groups, ticks, ordered, chain = band
            for group, how in zip(groups, plan, strict=False):
                yield from (ctx.prefetch(group) if how == 0 else ctx.gather(group))
            slot, action = number % ctx.spec.slots, lambda number=number: scramble(ctx.scratch, number)
            if plan[2] == 0:
                yield from ctx.compute(ticks, action)
            if plan[3] < 2:
                yield from ctx.pack(slot, ticks, action, chain, ordered=ordered)
            else:
                yield from ctx.wait_slot(slot)
                yield from ctx.compute(ticks, action)
                if ordered:
                    yield from ctx.wait_drains("order")
                yield from ctx.drain(slot, chain)
            if plan[3] == 1:
                yield from ctx.wait_drains()
        yield from ctx.wait_drains()

    return body


def device(seed, inject, **options):
    """A rig of the kind that takes all short cuts, with its data in two mappings, and random bands in any mixture."""
    rng = random.Random(seed)
    changes = {**random_device(rng), "dispatch_ticks": 0, "completion_ticks": 0, "data_movement": "at_completion"}
    changes["dma"]["arbitration"] = "fifo"
    programs = [random_bands(rng) for _ in range(changes["workers"])]
    rig = build(mixed(programs, rng), changes, seed=seed, inject=inject, **options)
    memory = rig.device.memory
    memory.unmap(memory.mappings[1])
    for low in (0, HALF):
        memory.map(DATA + low, rig.data[low : low + HALF], name=f"half {low}")
    return rig


def change(memory, what, where, spare):
    """Take a half away, bring it back, or put other bytes in its place."""
    low = DATA + HALF * where
    here = [mapping for mapping in memory.mappings if mapping.address == low]
    for mapping in here:
        memory.unmap(mapping)
    if what == "replace" or not here:
        memory.map(low, spare[where])


def outcome(rig, changes, *, late=False):
    """What is known of a run in which the mappings change at some ticks, arranged before it or as it goes on."""
    env, memory = rig.device.env, rig.device.memory
    spare = [np.full(HALF, fill, np.uint8) for fill in (0x3A, 0xC5)]

    def in_time():
        for tick, what, where in changes:
            if tick > env.now + 1:
                yield env.timeout(tick - 1 - env.now)
            yield env.timeout(tick - env.now)  # the last but one tick puts it behind what is in the queue
            change(memory, what, where, spare)

    if late:
        env.process(in_time())
    else:
        for tick, what, where in changes:
            event_queue.at(env, tick, event_queue.WORKER, lambda _, a=what, b=where: change(memory, a, b, spare), None)
    stats = attrs.asdict(rig.run())
    return stats, bytes(rig.data), [bytes(array) for array in spare]


def changes_of(seed, ticks):
    """One to three changes during a launch of so many ticks."""
    rng = random.Random(seed)
    changes = sorted(rng.randrange(1, max(2, ticks + 1)) for _ in range(rng.randint(1, 3)))
    return [(tick, rng.choice(["unmap", "replace"]), rng.randrange(2)) for tick in changes]


@pytest.mark.parametrize("moves", [True, False], ids=["data", "ticks alone"])
@pytest.mark.parametrize("trace", [True, False], ids=["traced", "together"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_mapping_is_looked_up_at_the_arrival(seed, trace, moves) -> None:
    """Memory unmapped, mapped or replaced at any tick of a launch: same ticks, status, statistics and bytes."""
    ticks = device(seed, {}, moves=moves).run().device_ticks
    for number in range(4):
        changes, late = changes_of((seed + 1) * 100 + number, ticks), number % 2 == 1
        with_them, without = (
            outcome(device(seed, inject, trace=trace, moves=moves), changes, late=late)
            for inject in ({}, NO_SHORT_CUTS)
        )
        assert _sorted(with_them) == _sorted(without)


def outcome_at_landing(rig, wanted, what, where, monkeypatch):
    """What is known of a run in which the end of a drain changes the mappings: nothing in the queue announces it."""
    memory, spare = rig.device.memory, [np.full(HALF, fill, np.uint8) for fill in (0x3A, 0xC5)]

    def land(stream, inflight, land=TransferStream.land):
        land(stream, inflight)
        if (stream.worker, inflight.seq) == wanted:
            change(memory, what, where, spare)

    def land_quietly(stream, inflight, land_quietly=TransferStream.land_quietly):
        land_quietly(stream, inflight)
        stream.expect([wanted[1]] if stream.worker == wanted[0] else [])

    with monkeypatch.context() as patch:
        patch.setattr(TransferStream, "land", land)
        patch.setattr(TransferStream, "land_quietly", land_quietly)
        stats = attrs.asdict(rig.run())
    return stats, bytes(rig.data), [bytes(array) for array in spare]


@pytest.mark.parametrize("moves", [True, False], ids=["data", "ticks alone"])
@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_granted_ahead_is_looked_up_again(seed, moves, monkeypatch) -> None:
    """A change that nothing in the queue announces: same ticks, status and bytes as without short cuts."""
    rng = random.Random(seed)
    drains = [(r.worker, r.seq) for r in device(seed, {}, trace=True).run().trace if r.kind == "write"]
    for wanted in rng.sample(drains, min(4, len(drains))):
        what, where = rng.choice(["unmap", "replace"]), rng.randrange(2)
        with_them, without = (
            outcome_at_landing(device(seed, inject, moves=moves), wanted, what, where, monkeypatch)
            for inject in ({}, NO_SHORT_CUTS)
        )
        assert with_them == without


def _sorted(outcome):
    """The trace by transfer: without data, those that end in one tick have no order."""
    stats, *rest = outcome
    return {**stats, "trace": sorted(stats["trace"], key=lambda r: (r["worker"], r["seq"]))}, *rest


@pytest.mark.parametrize("seed", SEEDS)
def test_a_body_of_every_mixture(seed) -> None:
    """Packing as one beside computing by parts, prefetching and waiting: the same as without any short cut."""
    assert outcome(device(seed, {}), []) == outcome(device(seed, NO_SHORT_CUTS), [])


def one_copy(ctx):
    """Reads 256 bytes in a group of two, packs them, and drains them to OUT."""
    yield from ctx.gather([read(0, 0, 128), read(128, 128, 128)])
    yield from ctx.pack(0, 50, lambda: None, [write(OUT, 0, 256)], ordered=False)
    yield from ctx.wait_drains()


READS_FAULT, DRAIN_FAULTS, NOTHING_FAULTS = (0x103, DATA), (0x103, DATA + OUT), (0, 0)
AT_A_TICK = [  # the transfer at whose arrival all memory is unmapped, how many ticks after, (status, detail)
    ("arrival of the reads", 1, 0, READS_FAULT),
    ("tick after the reads", 1, 1, DRAIN_FAULTS),
    ("arrival of the drain", 2, 0, DRAIN_FAULTS),
    ("tick after the drain", 2, 1, NOTHING_FAULTS),
]


@pytest.mark.parametrize(
    ("seq", "after", "expected"), [row[1:] for row in AT_A_TICK], ids=[row[0] for row in AT_A_TICK]
)
@pytest.mark.parametrize("last", [False, True], ids=["first", "last"])
@pytest.mark.parametrize("inject", [{}, NO_SHORT_CUTS], ids=["ahead", "each tick"])
def test_a_change_holds_for_its_own_tick(seq, after, expected, last, inject) -> None:
    """What arrives in the tick of a change, or later, sees it, whichever comes first in the tick; the rest does not."""
    device = {"workers": 1, "dma": {"issue_ticks": 5}}
    traced = build(one_copy, device, trace=True).run()
    launch = traced.parts["dispatch"] + traced.parts["decode"] + traced.parts["load"] + traced.parts["other"]
    tick = launch + after + next(record.arrival for record in traced.trace if record.seq == seq)
    rig = build(one_copy, device, inject=inject)
    env, memory = rig.device.env, rig.device.memory

    def unmap(_):
        memory.unmap(memory.mappings[1])

    if last:
        event_queue.at(
            env,
            tick - 1,
            event_queue.WORKER,
            lambda _: event_queue.at(env, tick, event_queue.WORKER, unmap, None),
            None,
        )
    else:
        event_queue.at(env, tick, event_queue.WORKER, unmap, None)
    completion = rig.run().completion
    assert (completion.status, completion.detail) == expected


def each_way(body, changes, *, moves=True, late=False, **device):
    """The outcome of a body with short cuts, which must be the one without them."""
    results = [
        outcome(
            build(body, {"workers": 1, "dispatch_ticks": 0, **device}, inject=inject, moves=moves), changes, late=late
        )
        for inject in ({}, NO_SHORT_CUTS)
    ]
    assert results[0] == results[1]
    return results[0]


@pytest.mark.parametrize("moves", [True, False], ids=["data", "ticks alone"])
def test_readless_bands_meet_a_fault_in_time(moves) -> None:
    """A worker that packs on without reads ends where it would have waited, when memory is unmapped under a drain."""

    def body(ctx):
        for number, ticks in enumerate((300, 1700, 2000, 100)):
            yield from ctx.pack(number % 2, ticks, lambda: None, [write(OUT + 64 * number, 0, 64)], ordered=number == 2)
        yield from ctx.wait_drains()

    written = {
        each_way(body, [(tick, "unmap", 0)], moves=moves)[0]["writes"]["transfers"] for tick in range(0, 6000, 20)
    }
    assert {2, 4} <= written


def test_a_waking_worker_is_still_ahead(monkeypatch) -> None:
    """A drain that is granted ahead, then unmapped in the tick of a wake, stops the worker where it waits next."""
    traced = build(one_copy, {"workers": 1}, trace=True).run().trace[-1]
    issue, delay = DeviceSpec().dma.issue_ticks, traced.done - traced.arrival
    for later in range(1, issue):
        bands = [(0, 300, False), (1, delay + later - issue, False), (0, 2000, True), (1, 100, False)]

        def body(ctx, bands=bands):
            for number, (slot, ticks, ordered) in enumerate(bands):
                yield from ctx.pack(slot, ticks, lambda: None, [write(OUT + 256 * number, 0, 256)], ordered=ordered)
            yield from ctx.wait_drains()

        results = [
            outcome_at_landing(build(body, {"workers": 1}, inject=inject), (0, 0), "unmap", 0, monkeypatch)
            for inject in ({}, NO_SHORT_CUTS)
        ]
        assert results[0] == results[1]
        assert results[0][0]["writes"]["transfers"] == 2


def arrival_of(body, seq):
    """When a transfer of the only worker arrives, from the launch."""
    stats = build(body, {"workers": 1, "dispatch_ticks": 0}, trace=True).run()
    return next(record.arrival for record in stats.trace if record.seq == seq)


@pytest.mark.parametrize("moves", [True, False], ids=["data", "ticks alone"])
def test_the_fault_that_is_met_first_is_reported(moves) -> None:
    """Of two reads of a group that fault, the record names the one that is done first."""

    def body(ctx):
        yield from ctx.gather([read(0, 0, 64)])
        yield from ctx.gather([read(0, 0, 8192), read(8192, 8192, 64)])

    arrival = arrival_of(body, 1)
    for tick, detail in ((arrival - 20, DATA + 8192), (arrival, DATA + 8192), (arrival + 1, 0)):
        for late in (False, True):
            stats, *_ = each_way(body, [(tick, "unmap", 0)], moves=moves, late=late)
            assert stats["completion"]["detail"] == detail


@pytest.mark.parametrize("moves", [True, False], ids=["data", "ticks alone"])
def test_reads_that_nobody_waits_for_meet_their_faults(moves) -> None:
    """Each read of a prefetch that is unmapped at its arrival meets its fault at its own end, or never."""

    def steady(ctx):
        yield from ctx.gather([read(0, 0, 64)])
        yield from ctx.prefetch([read(4096 + 256 * i, 256 * i, 256) for i in range(12)])
        for _ in range(12):
            yield from ctx.compute(40, lambda: None)
            yield from ctx.wait_slot(0)

    def hurried(ctx):
        yield from ctx.gather([read(0, 0, 64)])
        yield from ctx.prefetch([read(4096 + 256 * i, 256 * i, 256) for i in range(12)])
        yield from ctx.compute(300, lambda: None)

    arrival = arrival_of(steady, 1)
    for body, transfers in ((steady, 13), (hurried, 4)):
        for tick in (arrival - 1, arrival, arrival + 1):
            stats, *_ = each_way(body, [(tick, "unmap", 0)], moves=moves, late=True)
            assert transfers <= stats["reads"]["transfers"] <= 13
            assert (stats["completion"]["status"] == 0x103) == (tick <= arrival)


def test_a_drain_of_partial_granules_is_looked_up_again() -> None:
    """A drain that is granted ahead and has partial granules to read is unmapped, or mapped, before it arrives."""

    def body(ctx):
        yield from ctx.gather([read(0, 0, 256)])
        yield from ctx.pack(0, 400, lambda: None, [write(OUT + 3, 0, 100), write(OUT + 301, 0, 50)], ordered=False)
        yield from ctx.gather([read(512, 256, 256), read(1024, 512, 64)])
        yield from ctx.pack(1, 400, lambda: None, [write(OUT + 5, 256, 130)], ordered=False)
        yield from ctx.wait_drains()

    for tick in range(0, 2600, 10):
        each_way(body, [(tick, "replace", 0)])
        each_way(body, [(tick, "unmap", 0)])
        each_way(body, [(tick, "unmap", 0), (tick + 150, "unmap", 0)])


@pytest.mark.parametrize("policy", ["at_issue", "at_completion"])
def test_data_that_has_moved_stays_where_it_is(policy) -> None:
    """A change in the tick of an arrival comes too late for bytes that were taken at the arrival itself."""

    def body(ctx):
        yield from ctx.gather([read(0, 0, 64)])
        yield from ctx.drain(0, [write(OUT, 0, 64)])
        yield from ctx.wait_drains()

    rig = build(body, {"workers": 1, "data_movement": policy, "dma": {"issue_ticks": 5}})
    env, memory, spare = rig.device.env, rig.device.memory, np.full(16 * PAGE, 0x5E, np.uint8)
    launch = rig.device.spec.dispatch_ticks

    def replace(_):
        memory.unmap(memory.mappings[1])
        memory.map(DATA, spare)

    def later(_):
        event_queue.at(env, launch + 5, event_queue.WORKER, replace, None)

    event_queue.at(env, launch + 4, event_queue.WORKER, later, None)
    rig.run()
    came = bytes(spare[OUT : OUT + 64])
    assert came == (bytes(rig.data[:64]) if policy == "at_issue" else bytes([0x5E] * 64))


def test_a_band_without_ticks_then_a_computation() -> None:
    """A drain packed in no time is granted at once, and its packing acts before the computation that follows."""
    device = {"dma": {"issue_ticks": 0}}

    def body(ctx):
        yield from ctx.gather([read(0, 0, 128)])
        yield from ctx.pack(0, 0, lambda: scramble(ctx.scratch, 3), [write(OUT, 0, 64)], ordered=False)
        yield from ctx.compute(500, lambda: ctx.scratch.__setitem__(slice(64), ctx.scratch[:64] * 3 + 1))
        yield from ctx.drain(1, [write(OUT + 64, 0, 64)])
        yield from ctx.wait_drains()

    each_way(body, [], **device)

    def hurried(ctx):
        yield from ctx.pack(0, 0, lambda: ctx.scratch.fill(5), [write(OUT, 0, 64)], ordered=False)
        yield from ctx.compute(1, lambda: ctx.scratch.__imul__(3))
        yield from ctx.drain(1, [write(OUT + 64, 0, 64)])
        yield from ctx.wait_drains()

    _, data, _ = each_way(hurried, [], **device)
    assert data[OUT : OUT + 128] == bytes([15] * 128)
