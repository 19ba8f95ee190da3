"""Mappings that change during a launch, and bodies of every mixture: no short cut changes their outcome."""

import random

import attrs
import numpy as np
import pytest

from tessbed.sim import clock
from tests.sim.programs import random_bands, random_device
from tests.sim.rig import DATA, OUT, PAGE, build, read, write
from tests.sim.test_ahead import scramble

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


def outcome(rig, changes, *, late):
    """What is known of a run in which the mappings change at some ticks, arranged before it or as it goes on."""
    env, memory = rig.device.env, rig.device.memory
    spare = [np.full(HALF, fill, np.uint8) for fill in (0x3A, 0xC5)]

    def in_time():
        for tick, what, where in changes:
            yield env.timeout(tick - env.now)
            change(memory, what, where, spare)

    if late:
        env.process(in_time())
    else:
        for tick, what, where in changes:
            clock.at(env, tick, clock.WORKER, lambda _, a=what, b=where: change(memory, a, b, spare), None)
    stats = attrs.asdict(rig.run())
    return stats, bytes(rig.data), [bytes(array) for array in spare]


def changes_of(seed, ticks):
    """One to three changes during a launch of so many ticks."""
    rng = random.Random(seed)
    moments = sorted(rng.randrange(1, max(2, ticks + 1)) for _ in range(rng.randint(1, 3)))
    return [(tick, rng.choice(["unmap", "replace"]), rng.randrange(2)) for tick in moments]


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


def _sorted(outcome):
    """The trace by transfer: without data, those that end in one tick have no order."""
    stats, *rest = outcome
    return {**stats, "trace": sorted(stats["trace"], key=lambda r: (r["worker"], r["seq"]))}, *rest


@pytest.mark.parametrize("seed", SEEDS)
def test_a_body_of_every_mixture(seed) -> None:
    """Packing as one beside computing by parts, prefetching and waiting: the same as without any short cut."""
    assert outcome(device(seed, {}), [], late=False) == outcome(device(seed, NO_SHORT_CUTS), [], late=False)


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
        clock.at(env, tick - 1, clock.WORKER, lambda _: clock.at(env, tick, clock.WORKER, unmap, None), None)
    else:
        clock.at(env, tick, clock.WORKER, unmap, None)
    completion = rig.run().completion
    assert (completion.status, completion.detail) == expected


def test_readless_bands_meet_a_fault_in_time() -> None:
    """A worker that packs on without reads learns of a drain whose memory was unmapped where it would have waited."""

    def body(ctx):
        for number in range(4):
            yield from ctx.pack(0, 300, lambda: None, [write(OUT + 64 * number, 0, 64)], ordered=number == 2)
            yield from ctx.wait_slot(0)
        yield from ctx.wait_drains()

    for tick in range(0, 1500, 20):
        results = [
            outcome(build(body, {"workers": 1, "dispatch_ticks": 0}, inject=inject), [(tick, "unmap", 0)], late=False)
            for inject in ({}, NO_SHORT_CUTS)
        ]
        assert results[0] == results[1]
