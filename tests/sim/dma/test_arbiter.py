"""The arbiter: who is granted at the end of a tick, and that granting ahead of the clock is never seen; by hand."""

import pytest

from tests.sim.dma.test_channel_pool import device, grants
from tests.sim.rig import OUT, build, read, write

# A read of 256 bytes costs s 3, m 4, c 4, l 5, and a drain of 128 bytes s 3, m 2, c 2, l 4.
ONE_CHANNEL = {"read_channels": 1, "write_channels": 1}
ONE_PORT = {"split_port": False}


def reads_then_drain_at(tick: int):
    """Worker 0 asks for two reads at tick 0, worker 1 for one drain at `tick`."""

    def body(ctx):
        if ctx.worker == 0:
            yield from ctx.gather([read(0, 0, 256), read(256, 256, 256)])
        else:
            yield from ctx.compute(tick, lambda: None)
            yield from ctx.drain(0, [write(OUT, 0, 128)])
            yield from ctx.wait_drains()

    return body


# The channel is back at 7, so the second read is granted then. Until then a drain may ask, and take the port first.
SECOND_READ = [
    (5, (7, 10, 14, 19), (5, 8, 10, 14)),  # the drain's data ends at 10, when the read has been set up
    (6, (7, 11, 15, 20), (6, 9, 11, 15)),  # a tick later: the read waits for the port
    (7, (7, 10, 14, 19), (7, 14, 16, 20)),  # in the tick of the read's grant: the older arrival goes first
    (8, (7, 10, 14, 19), (8, 14, 16, 20)),
]


@pytest.mark.parametrize(("tick", "second", "drain"), SECOND_READ, ids=[f"at {tick}" for tick, *_ in SECOND_READ])
def test_a_request_before_the_next_grant_goes_first(tick, second, drain) -> None:
    """A grant that is certain in itself is not made ahead of a request that takes the port before it."""
    changes = device({"workers": 2, "cores": 2}, ONE_CHANNEL, ONE_PORT)
    seen = {row[:2]: row[2:] for row in grants(build(reads_then_drain_at(tick), changes, trace=True).run())}
    assert seen == {(0, 0): (0, 3, 7, 12), (0, 1): second, (1, 0): drain}


@pytest.mark.parametrize("steps", [{0: (4,), 1: (2, 2)}, {0: (2, 2), 1: (4,)}, {0: (4,), 1: (4,)}], ids=str)
def test_a_tick_is_arbitrated_at_its_end(steps) -> None:
    """Two requests of one tick are served by worker, whichever of them is made first inside the tick."""

    def body(ctx):
        for ticks in steps[ctx.worker]:
            yield from ctx.compute(ticks, lambda: None)
        yield from ctx.gather([read(256 * ctx.worker, 0, 256)])

    seen = grants(build(body, device({"workers": 2, "cores": 2}, ONE_CHANNEL), trace=True).run())
    assert seen == [(0, 0, 4, 7, 11, 16), (1, 0, 11, 14, 18, 23)]


def test_of_two_pools_the_older_arrival_is_served_first() -> None:
    """A read of tick 3 and a drain of tick 5 share the port: P is G + s or the end of the data before."""

    def body(ctx):
        yield from ctx.compute(3 + 2 * ctx.worker, lambda: None)
        if ctx.worker == 0:
            yield from ctx.gather([read(0, 0, 256)])
        else:
            yield from ctx.drain(0, [write(OUT, 0, 128)])
            yield from ctx.wait_drains()

    together = build(body, device({"workers": 2, "cores": 2}, None, ONE_PORT), trace=True).run()
    assert grants(together) == [(0, 0, 3, 6, 10, 15), (1, 0, 5, 10, 12, 16)]
    apart = build(body, device({"workers": 2, "cores": 2}, None, {"split_port": True}), trace=True).run()
    assert grants(apart) == [(0, 0, 3, 6, 10, 15), (1, 0, 5, 8, 10, 14)]


def test_a_reset_ends_all_grants() -> None:
    """What waits when a reset is confirmed is never granted; what was granted before moves no byte any more."""

    def body(ctx):
        yield from ctx.drain(0, [write(OUT, 0, 128)])
        yield from ctx.drain(1, [write(OUT + 128, 128, 128)])
        yield from ctx.wait_drains()

    changes = {**device({"workers": 1}, ONE_CHANNEL), "dispatch_ticks": 0, "reset_ticks": 0}
    rig = build(body, changes, fill=1)
    rig.submit()
    rig.device.env.run(until=4)  # the first drain has G 0 and E 5, so the second would have G 5
    rig.device.reset()
    rig.device.env.run()
    assert (rig.data[OUT : OUT + 256] == 1).all()
    assert rig.device.waiting() == []
