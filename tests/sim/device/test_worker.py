"""WorkerContext: each call's ticks go to its reason, by hand; misuse is a hazard that names the worker."""

import pytest

from tessbed.sim.errors import HangError, HazardError
from tests.sim.rig import HAND, OUT, build, read, write

# HAND: a read of 256 bytes has s 3, c 4, l 5, a drain of 128 bytes s 3, c 2, l 4; each transfer takes 2 to issue.


def stalls_of(body, changes=None):
    """The stalls that are not zero, and the finish, of a single worker."""
    worker = build(body, {**HAND, **(changes or {})}).run().workers[0]
    return {reason: ticks for reason, ticks in worker.stalls.items() if ticks}, worker.finish_ticks


def nothing() -> None:
    """A computation of no bytes."""


def test_every_tick_has_a_reason() -> None:
    """Issue 2, gather 3 + 4 + 5, compute 10, issue 2, and 3 + 2 + 4 until the drain ends: 35 ticks."""

    def body(ctx):
        yield from ctx.gather([read(0, 0, 256)])
        yield from ctx.wait_slot(0)
        yield from ctx.compute(10, nothing)
        yield from ctx.drain(0, [write(OUT, 0, 128)])
        yield from ctx.wait_drains()

    assert stalls_of(body) == ({"issue": 4, "gather": 12, "compute": 10, "end": 9}, 35)


def test_a_slot_is_waited_for_until_its_own_drain_is_done() -> None:
    """The drain of slot 0 arrives at 2 and is done at 11: a wait at 2 costs 9, that for slot 1 nothing."""

    def body(ctx):
        yield from ctx.drain(0, [write(OUT, 0, 128)])
        yield from ctx.wait_slot(1)
        assert ctx.tick == 2
        yield from ctx.wait_slot(0)
        assert ctx.tick == 11
        yield from ctx.wait_drains()

    assert stalls_of(body) == ({"issue": 2, "slot": 9}, 11)


def test_prefetch_goes_on() -> None:
    """A prefetch costs its issue alone; what is computed meanwhile hides the rest, and `wait_drains` waits for it."""

    def body(ctx):
        yield from ctx.prefetch([read(0, 0, 256)])
        assert ctx.tick == 2
        yield from ctx.compute(7, nothing)
        yield from ctx.wait_drains()
        assert ctx.tick == 14

    assert stalls_of(body) == ({"issue": 2, "compute": 7, "end": 5}, 14)


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("slots", [1, 2])
def test_pack_is_its_three_steps(ordered: bool, slots: int) -> None:
    """`pack` has the ticks and the stalls of wait_slot, compute, wait_drains where ordered, and drain."""

    def bands(ctx, step):
        for band in range(4):
            yield from ctx.gather([read(256 * band, 0, 256)])
            yield from step(ctx, band % slots, [write(OUT + 128 * band, 0, 128)])
        yield from ctx.wait_drains()

    def apart(ctx, slot, chain):
        yield from ctx.wait_slot(slot)
        yield from ctx.compute(5, nothing)
        if ordered:
            yield from ctx.wait_drains("order")
        yield from ctx.drain(slot, chain)

    def at_once(ctx, slot, chain):
        yield from ctx.pack(slot, 5, nothing, chain, ordered=ordered)

    one, other = (stalls_of(lambda ctx, s=step: bands(ctx, s), {"slots": slots}) for step in (apart, at_once))
    assert one == other
    assert one[0]["compute"] == 20


MISUSES = {
    "no such slot": (lambda ctx: ctx.wait_slot(2), "worker 0: slot 2, wanted 0 to 1"),
    "a slot below 0": (lambda ctx: ctx.drain(-1, [write(OUT, 0, 128)]), "worker 0: slot -1, wanted 0 to 1"),
    "an empty group": (lambda ctx: ctx.gather([]), "worker 0: a wait group of 0, wanted 1 to "),
    "time backwards": (lambda ctx: ctx.compute(-1, nothing), "worker 0: compute of -1 ticks"),
}


@pytest.mark.parametrize(("misuse", "words"), MISUSES.values(), ids=MISUSES)
def test_misuse(misuse, words: str) -> None:
    """What the hardware model can not be asked for is a hazard, with the worker and what was wanted."""

    def body(ctx):
        yield from misuse(ctx)

    with pytest.raises(HazardError, match=words):
        build(body, {**HAND, "slots": 2}).run()


def test_a_group_is_as_large_as_the_device_allows() -> None:
    """`dma.wait_group` reads are one group, one more is a hazard."""

    def body(count):
        def gathers(ctx):
            yield from ctx.gather([read(64 * n, 64 * n, 64) for n in range(count)])

        return gathers

    changes = {**HAND, "dma": {**HAND["dma"], "wait_group": 3}}
    build(body(3), changes).run()
    with pytest.raises(HazardError, match="a wait group of 4, wanted 1 to 3"):
        build(body(4), changes).run()


def test_a_worker_says_what_it_waits_for() -> None:
    """In a diagnosis: its number, the transfers by sequence, the reason, the tick since which it waits."""

    def body(ctx):
        yield from ctx.drain(0, [write(OUT, 0, 128)])
        yield from ctx.wait_drains()

    rig = build(body, {**HAND, "dispatch_ticks": 0})
    rig.submit()
    rig.device.env.run(until=3)
    waiting = {entry.who: entry for entry in rig.device.waiting()}
    assert waiting["worker 0"].what == "transfers [0] of its own (end)"
    assert waiting["worker 0"].since == 2
    assert waiting["worker 0"].on == ("transfer 0 of worker 0",)


def test_a_body_that_waits_for_nothing_that_comes_hangs() -> None:
    """A body that yields an event of its own, which nobody sets, ends in a diagnosis and not in silence."""

    def body(ctx):
        yield ctx.wait_state.env.event()

    with pytest.raises(HangError):
        build(body, HAND).run()
