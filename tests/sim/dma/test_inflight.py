"""Short cuts of the engine (ahead, at once, together, ticks alone): none may change a tick, a statistic or a byte."""

import random

import attrs
import pytest

from tessbed.sim.dma.engine import Dma
from tessbed.sim.events import event_queue
from tests.sim.programs import body_of, random_bands, random_device
from tests.sim.rig import OUT, build, read, write

SEEDS = range(60)


def device(seed, body=body_of, *, trace=True, **options):
    """A rig with a random device and program; nothing is waited for before the launch or after it.

    Every second one is of the kind that takes all short cuts.
    """
    rng = random.Random(seed)
    changes = {**random_device(rng), "dispatch_ticks": 0, "completion_ticks": 0}
    if seed % 2:
        changes["data_movement"], changes["dma"]["arbitration"] = "at_completion", "fifo"
    programs = [random_bands(rng) for _ in range(changes["workers"])]
    return build(body(programs), changes, trace=trace, seed=seed, **options)


def scrambled(*, packed):
    """A body whose computations scramble the scratch under transfers that nothing orders, by `pack` or by its parts."""

    def body_of_programs(programs):
        def body(ctx):
            for number, (groups, ticks, ordered, chain) in enumerate(programs[ctx.worker]):
                for group in groups:
                    yield from ctx.gather(group)
                slot, action = number % ctx.spec.slots, lambda number=number: scramble(ctx.scratch, number)
                if packed:
                    yield from ctx.pack(slot, ticks, action, chain, ordered=ordered)
                else:
                    yield from ctx.wait_slot(slot)
                    yield from ctx.compute(ticks, action)
                    if ordered:
                        yield from ctx.wait_drains("order")
                    yield from ctx.drain(slot, chain)
            yield from ctx.wait_drains()

        return body

    return body_of_programs


def scramble(scratch, number):
    """Change bytes that reads write and drains take, so that it matters what came before."""
    scratch[:2048] += scratch[2048:4096]
    scratch[1000:5000] ^= number + 1


def noting(body, scratches):
    """The body, with each worker's scratch noted."""

    def noted(ctx):
        scratches.append(ctx.scratch)
        yield from body(ctx)

    return noted


PARTS, PACKED = scrambled(packed=False), scrambled(packed=True)


def astray(body):
    """The body's programs with some descriptors outside every mapping."""

    def body_of_programs(programs):
        rng = random.Random(len(programs))

        def lost(descriptor):
            return descriptor._replace(address=descriptor.address + (1 << 24) * (rng.random() < 0.05))

        return body(
            [
                [
                    ([[*map(lost, group)] for group in groups], ticks, ordered, [*map(lost, chain)])
                    for groups, ticks, ordered, chain in bands
                ]
                for bands in programs
            ]
        )

    return body_of_programs


def every_tick(env):
    """Something is in the queue at every tick, so that nothing ever comes next by itself."""
    while True:
        yield env.timeout(1)


def outcome(rig, *, trace=True):
    """Everything that is known of a run afterwards."""
    stats = attrs.asdict(rig.run())
    return {**stats, "trace": stats["trace"] if trace else ()}, bytes(rig.data)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_busy_queue_changes_nothing(seed) -> None:
    """With an event of somebody else's at each tick, the arbiter cannot go ahead: same statistics, same bytes."""
    alone, watched = device(seed), device(seed)
    watched.device.env.process(every_tick(watched.device.env))
    assert outcome(alone) == outcome(watched)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_pack_is_its_parts(seed) -> None:
    """A worker that is ahead of the clock and one that waits for each tick end alike, races and all."""
    assert outcome(device(seed, PACKED)) == outcome(device(seed, PARTS))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_fault_is_met_at_the_same_tick(seed) -> None:
    """A worker that is ahead learns of a fault, and ends, where one that waits for each tick does."""
    expected = outcome(device(seed, astray(PARTS)), trace=False)
    for trace in (True, False):
        assert outcome(device(seed, astray(PACKED), trace=trace), trace=False) == expected


@pytest.mark.parametrize("ticks", range(0, 400, 10))
def test_an_ordered_pack_waits_from_the_end_of_its_computation(ticks) -> None:
    """A drain that ends while the next band computes is not waited for, one that ends later is, from then on."""
    bands = [([], 0, False, [write(OUT, 0, 64)]), ([], ticks, True, [write(OUT + 32, 64, 64)])]
    rigs = [build(body([bands]), {"workers": 1}) for body in (PACKED, PARTS)]
    assert outcome(rigs[0]) == outcome(rigs[1])


@pytest.mark.parametrize("seed", SEEDS)
def test_a_group_is_its_reads(seed) -> None:
    """Reads that are granted and landed together do what they do where each is traced."""
    expected = outcome(device(seed, PARTS), trace=False)
    for body in (PARTS, PACKED):
        assert outcome(device(seed, body, trace=False)) == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_who_waits_is_the_same(seed) -> None:
    """At any tick the same workers and transfers wait for the same, together or each by itself."""
    reported = []
    for trace in (True, False):
        rig = device(seed, trace=trace)
        rig.device.env.process(every_tick(rig.device.env))
        lines = []
        for tick in range(10, 1000, 7):
            event_queue.at(
                rig.device.env, tick, event_queue.WORKER, lambda _, r=rig, n=lines: n.append(r.device.waiting()), None
            )
        stats = rig.run()
        reported.append(lines)
    assert reported[0] == reported[1]
    assert any(reported[0]) or not stats.transfers


@pytest.mark.parametrize("seed", SEEDS)
def test_a_reset_comes_between(seed) -> None:
    """Whatever has been granted or computed ahead: after a reset at some tick no byte differs.

    Only a computation that no drain has looked at may be missing from the scratch of a worker that was ahead.
    """
    tick = random.Random(seed).randrange(50, 1500)
    after = []
    for parts, trace in ((PARTS, True), (PARTS, False), (PACKED, False)):
        scratches = []
        rig = device(seed, lambda programs, p=parts, s=scratches: noting(p(programs), s), trace=trace, reset_ticks=tick)
        rig.submit()
        rig.device.run(rig.device.reset())
        rig.device.env.run()
        after.append((bytes(rig.data), [bytes(scratch) for scratch in scratches]))
    assert after[0] == after[1]
    assert after[0][0] == after[2][0]


def leaves_reads_behind(ctx):
    """Ends with reads under way: worker 0 at once, worker 1 when some are done."""
    yield from ctx.gather([read(0, 0, 256)])
    yield from ctx.prefetch([read(256 * i, 256 * i, 256) for i in range(12)])
    if ctx.worker:
        yield from ctx.compute(360, lambda: None)


@pytest.mark.parametrize("moves", [True, False], ids=["data", "ticks alone"])
def test_a_job_may_end_within_a_group(moves, monkeypatch) -> None:
    """Of a group that nobody waited for, only the reads that are done count; the others are in flight."""
    counts = []
    monkeypatch.setattr(Dma, "book", lambda dma, book=Dma.book: (book(dma), note(dma)))

    def note(dma):
        counts.append([stream.wait_state.in_flight for stream in dma.streams.values()])

    results = []
    for trace in (True, False):
        rig = build(leaves_reads_behind, {"workers": 2}, trace=trace, moves=moves)
        rig.device.env.process(every_tick(rig.device.env))
        results.append(outcome(rig, trace=False))
    assert results[0] == results[1]
    assert counts[0] == counts[1]
    done, left = results[0][0]["reads"]["transfers"], counts[0][::2]
    assert 2 < done < 26 == done + sum(left)
    assert all(left)


@pytest.mark.parametrize("seed", SEEDS)
def test_ticks_alone(seed) -> None:
    """Without data every statistic but the bytes moved is the same, and no byte of memory changes.

    Only the order in which the trace names transfers that end in one tick may differ.
    """
    full, bare = device(seed), device(seed, moves=False)
    before = bytes(bare.data)
    expected, got = attrs.asdict(full.run()), attrs.asdict(bare.run())
    for traffic in ("reads", "writes"):
        assert got[traffic]["moved_bytes"] == got[traffic]["due_bytes"] == 0
        got[traffic] |= {name: expected[traffic][name] for name in ("moved_bytes", "due_bytes")}
    for stats in (got, expected):
        stats["trace"] = sorted(stats["trace"], key=lambda record: (record["worker"], record["seq"]))
    assert got == expected
    assert bytes(bare.data) == before
