"""Channels, credits, ports and turns: each resource shown alone, by hand."""

import pytest

from tests.sim.rig import OUT, build, read, write

# A read of 256 bytes costs s 3, m 4, c 4, l 5, and a drain of 128 bytes s 3, m 2, c 2, l 4; nothing else costs.
QUICK = {
    "launch_stagger_ticks": 0,
    "dma": {"issue_ticks": 0, "setup_ticks": 3, "bytes_per_tick": 64},
    "memory": {"read_latency_ticks": 5, "write_latency_ticks": 4},
}


def device(top=None, dma=None, memory=None):
    """QUICK with changes."""
    return {
        **QUICK,
        **(top or {}),
        "dma": {**QUICK["dma"], **(dma or {})},
        "memory": {**QUICK["memory"], **(memory or {})},
    }


def two_reads(ctx):
    """Each worker asks for two reads at tick 0."""
    yield from ctx.gather([read(512 * ctx.worker, 0, 256), read(512 * ctx.worker + 256, 256, 256)])


def grants(stats):
    """(worker, seq, G, P, E, C) in the order of grants; within a tick the port gives the order."""
    return [(t.worker, t.seq, t.grant, t.start, t.end, t.done) for t in sorted(stats.trace, key=lambda t: t.start)]


ORDERS = [
    ("fifo", [(0, 0), (0, 1), (1, 0), (1, 1)]),
    ("round_robin", [(0, 0), (1, 0), (0, 1), (1, 1)]),
]


@pytest.mark.parametrize(("arbitration", "order"), ORDERS, ids=[name for name, _ in ORDERS])
def test_turns(arbitration, order) -> None:
    """fifo serves all of worker 0 first, round_robin takes turns; one channel, a grant every s + c ticks."""
    changes = device({"workers": 2}, {"arbitration": arbitration, "read_channels": 1})
    seen = grants(build(two_reads, changes, trace=True).run())
    assert [row[:2] for row in seen] == order
    assert [row[2:] for row in seen] == [(7 * n, 7 * n + 3, 7 * n + 7, 7 * n + 12) for n in range(4)]


def test_a_credit_is_held_to_completion() -> None:
    """One credit and four channels: the next grant is at C, not at E."""
    stats = build(two_reads, device({"workers": 1}, {"outstanding": 1}), trace=True).run()
    assert grants(stats) == [(0, 0, 0, 3, 7, 12), (0, 1, 12, 15, 19, 24)]
    assert [pool.peak_in_flight for pool in stats.pools] == [1, 0]


def test_the_port_is_reserved_in_grant_order() -> None:
    """Two channels start together; the second one's data waits for the port, m ticks later."""
    assert grants(build(two_reads, device({"workers": 1}), trace=True).run()) == [
        (0, 0, 0, 3, 7, 12),
        (0, 1, 0, 7, 11, 16),
    ]


SCOPES = [("shared", [0, 7], 1), ("per_core", [0, 0], 2)]


@pytest.mark.parametrize(("scope", "ticks", "pools"), SCOPES, ids=[name for name, _, _ in SCOPES])
def test_channel_scope(scope, ticks, pools) -> None:
    """One channel shared by two cores serves one after the other; one channel each serves both at once."""

    def body(ctx):
        yield from ctx.gather([read(256 * ctx.worker, 0, 256)])

    changes = device({"workers": 2, "cores": 2}, {"read_channels": 1, "channel_scope": scope})
    stats = build(body, changes, trace=True).run()
    assert sorted(t.grant for t in stats.trace) == ticks
    assert sum(pool.kind == "read" and pool.grants > 0 for pool in stats.pools) == pools


PORTS = [(False, 3 + 4), (True, 3)]


@pytest.mark.parametrize(("split", "start"), PORTS, ids=["one port", "a port each way"])
def test_reads_and_writes_share_the_port_unless_it_is_split(split, start) -> None:
    """Worker 1's drain, asked for when worker 0 reads, finds the port taken, or its own one free."""

    def body(ctx):
        if ctx.worker == 0:
            yield from ctx.gather([read(0, 0, 256)])
        else:
            yield from ctx.drain(0, [write(OUT, 0, 128)])
            yield from ctx.wait_drains()

    stats = build(body, device({"workers": 2}, memory={"split_port": split}), trace=True).run()
    (drain,) = [t for t in stats.trace if t.kind == "write"]
    assert (drain.grant, drain.start) == (0, start)
    expected = {"read": 4, "write": 2} if split else {"memory": 6}
    assert {port.name: port.busy_ticks for port in stats.ports} == expected
