"""Bytes in motion: strided moves, policies, read-modify-write, and what unsafe firmware really corrupts."""

import numpy as np
import pytest

from tessbed.sim.errors import HazardError
from tessbed.sim.events import event_queue
from tessbed.sim.transfer.descriptor import Descriptor
from tests.sim.rig import DATA, HAND, OUT, PAGE, build, read, write

POLICIES = ["at_issue", "at_completion", "seeded"]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("strobes", [False, True], ids=["granules", "strobes"])
def test_two_dimensional_moves(policy, strobes) -> None:
    """Rows are picked at one pitch, laid down at another, and written at a third; gaps keep their bytes."""

    def body(ctx):
        yield from ctx.gather([Descriptor(DATA + 3, 100, 5, 30, 70, 33)])
        yield from ctx.drain(1, [Descriptor(DATA + OUT + 9, 100, 5, 30, 90, 33)])
        yield from ctx.wait_drains()

    rig = build(body, {"workers": 1, "data_movement": policy, "byte_strobes": strobes}, seed=4)
    expected = rig.data.copy()
    for row in range(5):
        expected[OUT + 9 + 90 * row :][:30] = rig.data[3 + 70 * row :][:30]
    stats = rig.run()
    assert np.array_equal(rig.data, expected)
    assert stats.reads.moved_bytes == stats.writes.moved_bytes == 150
    assert (stats.writes.rmw_granules == 0) == strobes


def overwrite_after_issue(ctx):
    """Drain a slot and corrupt it at once: what lands depends on when data moves."""
    ctx.scratch[:128] = 1
    yield from ctx.drain(0, [write(OUT, 0, 128)])
    ctx.scratch[:128] = 2
    yield from ctx.wait_drains()


LANDS = [("at_issue", {1}), ("at_completion", {2})]


@pytest.mark.parametrize(("policy", "values"), LANDS, ids=[policy for policy, _ in LANDS])
def test_a_drain_samples_its_slot_when_the_policy_says(policy, values) -> None:
    """Overwriting a slot under its drain is harmless with at_issue and shows with at_completion."""
    rig = build(overwrite_after_issue, {"workers": 1, "data_movement": policy})
    rig.run()
    assert set(rig.data[OUT : OUT + 128].tolist()) == values


def test_seeds_pick_both_outcomes() -> None:
    """Some seeds of the seeded policy hide the corrupted slot, some show it; each repeats itself."""
    outcomes = []
    for seed in [*range(12), *range(12)]:
        rig = build(overwrite_after_issue, {"workers": 1, "data_movement": "seeded"}, seed=seed)
        rig.run()
        outcomes.append(int(rig.data[OUT]))
    assert set(outcomes) == {1, 2}
    assert outcomes[:12] == outcomes[12:]


@pytest.mark.parametrize(("policy", "old"), [("at_issue", True), ("at_completion", False)])
def test_a_gather_samples_memory_when_the_policy_says(policy, old) -> None:
    """A source byte that changes under a gather is the old one with at_issue, the new one with at_completion."""
    got = []

    def body(ctx):
        yield from ctx.gather([read(0, 0, 256)])
        got.append(int(ctx.scratch[0]))

    rig = build(body, {**HAND, "dispatch_ticks": 0, "data_movement": policy}, fill=5)
    event_queue.at(rig.device.env, 8, event_queue.WORKER, lambda _: rig.data.__setitem__(0, 9), None)
    rig.run()
    assert got == [5 if old else 9]


def slot_loop(wait_first):
    """Three bands through one slot, packed slowly; `wait_first` is the documented order."""

    def body(ctx):
        for band in range(3):
            if wait_first:
                yield from ctx.wait_slot(0)
            yield from ctx.compute(5, lambda value=band + 1: ctx.scratch.__setitem__(slice(0, 128), value))
            if not wait_first:
                yield from ctx.wait_slot(0)
            yield from ctx.drain(0, [write(OUT + 128 * band, 0, 128)])
        yield from ctx.wait_drains()

    return body


@pytest.mark.parametrize("wait_first", [True, False], ids=["wait, pack", "pack, wait"])
def test_a_slot_is_waited_for_before_it_is_packed(wait_first) -> None:
    """Waiting after packing overwrites the slot under its own drain."""
    rig = build(slot_loop(wait_first), {"workers": 1, "slots": 1})
    rig.run()
    landed = [int(rig.data[OUT + 128 * band]) for band in range(3)]
    assert landed == ([1, 2, 3] if wait_first else [2, 3, 3])


# One worker, no cost but these: setup 3, port 4 (64 bytes read and 64 written, 32 a tick), read latency 5, l 4.
PARTIAL = {
    "workers": 1,
    "dispatch_ticks": 0,
    "dma": {"issue_ticks": 2, "setup_ticks": 3, "bytes_per_tick": 64},
    "memory": {"read_latency_ticks": 5, "write_latency_ticks": 4, "bytes_per_tick": 32},
}


def partial_body(ctx):
    """Drain 16 bytes of 0xEE to the middle of a granule: arrival 2, P 5, c 4 + 5, E 14, C 18."""
    ctx.scratch[:16] = 0xEE
    yield from ctx.drain(0, [write(OUT + 16, 0, 16)])
    yield from ctx.wait_drains()


FOREIGN = [  # tick of a foreign write to the same granule, whether it survives
    ("before the granule is read", 4, True),
    ("while it is held", 5, False),
    ("at its last tick", 13, False),
    ("after it is written", 14, True),
]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("tick", "survives"), [f[1:] for f in FOREIGN], ids=[f[0] for f in FOREIGN])
def test_a_partial_granule_is_read_at_p_and_written_whole_at_e(policy, tick, survives) -> None:
    """In every policy: a byte that another writes into the granule during [P, E) is lost, else it stays."""
    rig = build(partial_body, {**PARTIAL, "data_movement": policy}, trace=True, fill=0x11, seed=9)
    event_queue.at(rig.device.env, tick, event_queue.WORKER, lambda _: rig.data.__setitem__(OUT + 40, 0x77), None)
    stats = rig.run()
    (only,) = stats.trace
    assert (only.arrival, only.start, only.end, only.done) == (2, 5, 14, 18)
    granule = [0x11] * 16 + [0xEE] * 16 + [0x11] * 8 + [0x77 if survives else 0x11] + [0x11] * 23
    assert rig.data[OUT : OUT + 64].tolist() == granule
    assert stats.writes.port_bytes == 2 * 64


def test_a_granule_may_reach_past_the_view_but_not_past_the_pages() -> None:
    """The last byte of the last page can be written: its granule is in the mapping."""

    def body(ctx):
        ctx.scratch[0] = 0xEE
        yield from ctx.drain(0, [write(16 * PAGE - 1, 0, 1)])
        yield from ctx.wait_drains()

    rig = build(body, {"workers": 1, "write_granule_bytes": 128})
    expected = rig.data.copy()
    expected[-1] = 0xEE
    rig.run()
    assert np.array_equal(rig.data, expected)


def test_segments_of_a_chain_may_share_a_granule() -> None:
    """A chain runs in order, so a seam inside a granule is safe; two chains that overlap in time are not."""

    def body(chained):
        def run(ctx):
            ctx.scratch[:] = 0xEE
            left, right = write(OUT, 0, 40), write(OUT + 40, 40, 40)
            for slot, chain in enumerate([[left, right]] if chained else [[left], [right]]):
                yield from ctx.drain(slot, chain)
            yield from ctx.wait_drains()

        return run

    wrong = []
    for chained in (True, False):
        rig = build(body(chained), {"workers": 1}, fill=0)
        rig.run()
        wrong.append(int((rig.data[OUT : OUT + 80] != 0xEE).sum()))
    assert wrong[0] == 0
    assert wrong[1] > 0


# The chroma Tess: 100 full tiles of 39 x 42 x 2 BF16, 6,560 bytes each with alignment; 6560 % 64 == 32.
TILES, TILE_BYTES = 100, 6560


def chroma(share):
    """A body that drains its tiles one chain per `share` tiles, dealt round robin; each tile holds its number."""

    def body(ctx):
        for number, first in enumerate(range(ctx.worker * share, TILES, ctx.workers * share)):
            slot, nbytes = number % 2, share * TILE_BYTES
            low = slot * nbytes
            tiles = range(first, first + share)
            yield from ctx.wait_slot(slot)
            yield from ctx.compute(500, lambda low=low, tiles=tiles: fill(ctx.scratch, low, tiles))
            yield from ctx.drain(slot, [write(first * TILE_BYTES, low, nbytes)])
        yield from ctx.wait_drains()

    def fill(scratch, low, tiles):
        for index, tile in enumerate(tiles):
            scratch[low + index * TILE_BYTES :][:TILE_BYTES] = tile + 1

    return body


@pytest.mark.parametrize("granule", [64, 128])
@pytest.mark.parametrize("policy", POLICIES)
def test_unaligned_ownership_corrupts_and_aligned_does_not(policy, granule) -> None:
    """Tiles dealt singly share granules between workers and lose bytes; dealt in granule multiples they do not."""
    wrong = []
    for share in (1, 2 if granule == 64 else 4):
        changes = {"data_movement": policy, "write_granule_bytes": granule}
        rig = build(chroma(share), changes, pages=161, fill=0, seed=2)
        rig.run()
        expected = np.repeat(np.arange(1, TILES + 1, dtype=np.uint8), TILE_BYTES)
        wrong.append(int((rig.data[: TILES * TILE_BYTES] != expected).sum()))
    assert wrong[0] > 0
    assert wrong[1] == 0


OUTSIDE = [
    ("past the end", write(0, 196_600, 16)),
    ("before the start", write(0, -1, 16)),
    ("last row out", Descriptor(DATA, 196_500, 3, 16, 16, 60)),
]


@pytest.mark.parametrize("descriptor", [d for _, d in OUTSIDE], ids=[name for name, _ in OUTSIDE])
@pytest.mark.parametrize("direction", ["gather", "drain"])
def test_scratch_has_an_end(direction, descriptor) -> None:
    """A transfer that leaves the usable scratch is a hazard."""

    def body(ctx):
        yield from ctx.gather([descriptor]) if direction == "gather" else ctx.drain(0, [descriptor])
        yield from ctx.wait_drains()

    with pytest.raises(HazardError, match="leaves the scratch"):
        build(body, {"workers": 1}).run()


def test_scratch_is_dirty_and_bounded() -> None:
    """A worker starts with no zeroes to rely on, nor what an earlier worker of its core left."""
    seen = []

    def body(ctx):
        seen.append((ctx.scratch.size, int(ctx.scratch.min()), int(ctx.scratch.max())))
        ctx.scratch[:] = ctx.worker
        yield from ctx.compute(1, lambda: None)

    build(body, {"cores": 1, "workers": 3}).run()
    assert seen == [(262_144 - 65_536, 0xDB, 0xDB)] * 3


ACTS = [("at_issue", [(0, 0)]), ("at_completion", [(0, 7)])]


@pytest.mark.parametrize(("policy", "acts"), ACTS, ids=[policy for policy, _ in ACTS])
def test_a_computation_acts_once(policy, acts) -> None:
    """Its bytes move once: at its start with at_issue, at its end with at_completion."""
    seen = []

    def body(ctx):
        start = rig.device.now
        yield from ctx.compute(7, lambda: seen.append((ctx.worker, rig.device.now - start)))

    rig = build(body, {"workers": 1, "data_movement": policy})
    rig.run()
    assert seen == acts


def test_a_seeded_computation_acts_at_either_end() -> None:
    """Over a dozen computations both ends occur, and nothing between."""
    seen = []

    def body(ctx):
        for _ in range(12):
            start = rig.device.now
            yield from ctx.compute(7, lambda start=start: seen.append(rig.device.now - start))

    rig = build(body, {"workers": 1, "data_movement": "seeded"}, seed=1)
    rig.run()
    assert len(seen) == 12
    assert sorted(set(seen)) == [0, 7]
