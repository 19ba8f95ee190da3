"""Ticks: the hand case, gates proved tight, and every rule against the literal stepper on random devices."""

import random

import attrs
import pytest

from tessbed.sim.events import event_queue
from tessbed.sim.stats import STALLS
from tessbed.sim.transfer.descriptor import Descriptor
from tests.sim.costs import chain_cost, read_cost
from tests.sim.programs import body_of
from tests.sim.rig import DATA, HAND, OUT, build, read, transfer_ticks, write
from tests.sim.stepper import walk

AFTER_ALL = event_queue.EventPriority(3)


def hand_body(log):
    """One worker, one band; `log` takes (what, tick of the launch) as each wait is over."""

    def body(ctx):
        def note(what):
            log.append((what, int(ctx.wait_state.env.now) - zero))

        zero = int(ctx.wait_state.env.now)
        yield from ctx.gather([read(0, 0, 256)])
        note("gathered")
        yield from ctx.wait_slot(0)
        yield from ctx.compute(10, lambda: None)
        note("computed")
        yield from ctx.drain(0, [write(OUT, 0, 128)])
        note("drain issued")
        yield from ctx.wait_drains()
        note("drained")

    return body


def test_the_hand_case_tick_by_tick() -> None:
    """Arrival 2, G 2, P 5, E 9, C 14; drain arrival 26, G 26, P 29, E 31, C 35, done."""
    log = []
    stats = build(hand_body(log), HAND, trace=True).run()
    assert transfer_ticks(stats) == [(0, 0, 2, 2, 5, 9, 14), (0, 1, 26, 26, 29, 31, 35)]
    assert log == [("gathered", 14), ("computed", 24), ("drain issued", 26), ("drained", 35)]
    assert stats.device_ticks == 35
    expected = {"issue": 4, "gather": 12, "slot": 0, "compute": 10, "order": 0, "end": 9}
    assert stats.workers[0].stalls == expected
    assert stats.ports[0].busy_ticks == 4 + 2
    assert [pool.busy_ticks for pool in stats.pools] == [9 - 2, 31 - 26]


def test_the_parts_of_a_job() -> None:
    """job_ticks is dispatch, the firmware's parts, the device and the completion, and nothing else."""
    stats = build(hand_body([]), {**HAND, "dispatch_ticks": 70, "completion_ticks": 9}).run()
    spent = {part: ticks for part, ticks in stats.parts.items() if ticks}
    assert spent == {"dispatch": 70, "device": 35, "completion": 9}
    assert stats.job_ticks == 70 + 35 + 9


GATES = [("gathered", 14), ("computed", 24), ("drain issued", 26), ("drained", 35)]


@pytest.mark.parametrize(("gate", "tick"), GATES, ids=[gate for gate, _ in GATES])
def test_gates_are_tight(gate, tick) -> None:
    """Not done at the end of tick n - 1, done at the end of tick n."""
    log, seen = [], {}
    rig = build(hand_body(log), {**HAND, "dispatch_ticks": 0})
    for when in (tick - 1, tick):
        event_queue.at(
            rig.device.env, when, AFTER_ALL, lambda event: seen.update({event.value: [g for g, _ in log]}), when
        )
    rig.run()
    assert gate not in seen[tick - 1]
    assert gate in seen[tick]


@pytest.mark.parametrize("tick", [34, 35])
def test_late_bytes_land_at_completion(tick) -> None:
    """With at_completion a drain's bytes are not in memory at C - 1, and are at C."""
    seen = []
    rig = build(hand_body([]), {**HAND, "dispatch_ticks": 0}, fill=0)
    event_queue.at(rig.device.env, tick, AFTER_ALL, lambda _: seen.append(bytes(rig.data[OUT : OUT + 128])), None)
    rig.data[:256] = 7
    rig.run()
    assert seen == [bytes([7]) * 128 if tick == 35 else bytes(128)]


def test_arbitration_waits_for_the_end_of_the_tick() -> None:
    """Worker 1 asks first inside the tick, worker 0 is granted first: the key decides, not the order of events."""
    order = []

    def body(ctx):
        pauses = (5, 15) if ctx.worker == 0 else (20,)
        for pause in pauses:
            yield from ctx.compute(pause, lambda: None)
        order.append(ctx.worker)
        yield from ctx.gather([read(256 * ctx.worker, 0, 256)])

    changes = {"workers": 2, "launch_stagger_ticks": 0, "dma": {"read_channels": 1, "issue_ticks": 0}}
    stats = build(body, changes, trace=True).run()
    assert order == [1, 0]
    granted = sorted(stats.trace, key=lambda t: t.grant)
    assert [(t.worker, t.arrival) for t in granted] == [(0, 20), (1, 20)]
    assert granted[1].grant == granted[0].end


def random_device(rng):
    """A small random device, slow enough to queue and quick enough to step."""
    return {
        "cores": rng.randint(1, 5),
        "workers": rng.randint(1, 6),
        "slots": rng.randint(1, 3),
        "launch_stagger_ticks": rng.choice([0, 0, 3]),
        "relaunch_ticks": rng.choice([0, 7]),
        "byte_strobes": rng.random() < 0.3,
        "write_granule_bytes": rng.choice([16, 64, 128]),
        "data_movement": rng.choice(["at_issue", "at_completion", "seeded"]),
        "dma": {
            "read_channels": rng.randint(1, 3),
            "write_channels": rng.randint(1, 3),
            "channel_scope": rng.choice(["shared", "per_core"]),
            "arbitration": rng.choice(["fifo", "round_robin"]),
            "outstanding": rng.choice([1, 2, 3, 16]),
            "issue_ticks": rng.randint(0, 3),
            "setup_ticks": rng.randint(0, 6),
            "outstanding_bursts": rng.choice([1, 16]),
        },
        "memory": {
            "split_port": rng.random() < 0.3,
            "read_latency_ticks": rng.randint(0, 20),
            "write_latency_ticks": rng.randint(0, 20),
            "background_percent": rng.choice([0, 35]),
        },
    }


def random_bands(rng, slots):
    """Bands as (groups of reads, ticks, ordered, chain); addresses anywhere in the data."""

    def descriptor():
        rows, row_bytes = rng.choice([1, 1, 2, 5]), rng.randint(1, 200)
        pitch = row_bytes + rng.choice([0, 8, 100])
        return Descriptor(DATA + rng.randrange(0x8000), rng.randrange(0x4000), rows, row_bytes, pitch, row_bytes)

    return [
        (
            [[descriptor() for _ in range(rng.randint(1, 4))] for _ in range(rng.randint(0, 2))],
            rng.choice([0, 10, 25]),
            rng.random() < 0.3,
            [descriptor() for _ in range(rng.randint(1, 3))],
        )
        for _ in range(rng.randint(1, 5))
    ]


def steps_of(spec, bands):
    """The same bands for the stepper."""
    issue, steps = spec.dma.issue_ticks, []
    for number, (groups, ticks, ordered, chain) in enumerate(bands):
        for group in groups:
            steps += [("spend", "issue", issue * len(group)), ("read", [read_cost(spec, d) for d in group])]
        steps += [("slot", number % spec.slots), ("spend", "compute", ticks)]
        steps += [("drains", "order")] if ordered else []
        steps += [("spend", "issue", issue * len(chain)), ("drain", number % spec.slots, chain_cost(spec, chain))]
    return [*steps, ("drains", "end")]


@pytest.mark.parametrize("seed", range(120))
def test_the_engine_is_the_literal_rules(seed) -> None:
    """Every timestamp of every transfer, every stall and every finish equals the stepper's, on a random device."""
    rng = random.Random(seed)
    changes = random_device(rng)
    bands = [random_bands(rng, changes["slots"]) for _ in range(changes["workers"])]
    rig = build(body_of(bands), changes, trace=True, seed=seed)
    stats, spec = rig.run(), rig.device.spec
    transfers, worker_states, last = walk(spec, [steps_of(spec, program) for program in bands])
    fields = ("worker", "seq", "arrival", "channel", "grant", "start", "end", "done")
    ours = sorted(tuple(getattr(t, f) for f in fields) for t in stats.trace)
    assert ours == sorted(tuple(getattr(t, f) for f in fields) for t in transfers)
    assert stats.device_ticks == last
    for worker, worker_state in zip(stats.workers, worker_states, strict=True):
        assert (worker.start_ticks, worker.finish_ticks) == (worker_state.start, worker_state.finish)
        assert {r: worker.stalls[r] for r in STALLS} == {r: worker_state.stalls.get(r, 0) for r in STALLS}


def test_the_random_devices_meet_in_shared_ticks() -> None:
    """Of the arrivals compared above at least 40 in 100 share their tick with another worker's or their own."""
    shared = total = 0
    for seed in range(0, 120, 6):
        rng = random.Random(seed)
        changes = random_device(rng)
        bands = [random_bands(rng, changes["slots"]) for _ in range(changes["workers"])]
        ticks = [t.arrival for t in build(body_of(bands), changes, trace=True, seed=seed).run().trace]
        shared += sum(ticks.count(tick) > 1 for tick in ticks)
        total += len(ticks)
    assert shared >= 0.4 * total


@pytest.mark.parametrize("policy", ["at_issue", "seeded"])
def test_data_movement_never_changes_a_tick(policy) -> None:
    """All statistics are those of at_completion."""
    rng = random.Random(5)
    changes = random_device(rng)
    bands = [random_bands(rng, changes["slots"]) for _ in range(changes["workers"])]
    runs = [build(body_of(bands), {**changes, "data_movement": p}, trace=True).run() for p in (policy, "at_completion")]
    assert attrs.asdict(runs[0]) == attrs.asdict(runs[1])


def test_ten_runs_are_one() -> None:
    """The same device, bodies and seed give the same statistics and the same bytes ten times."""
    rng = random.Random(11)
    changes = {**random_device(rng), "workers": 6, "data_movement": "seeded"}
    bands = [random_bands(rng, changes["slots"]) for _ in range(6)]
    rigs = [build(body_of(bands), changes, trace=True, seed=3) for _ in range(10)]
    results = [(attrs.asdict(rig.run()), bytes(rig.data)) for rig in rigs]
    assert all(result == results[0] for result in results)


def test_physical_numbering_changes_nothing() -> None:
    """Permuted and sparse core ids give the same statistics and bytes."""
    rng = random.Random(12)
    changes = {**random_device(rng), "cores": 4, "workers": 6}
    bands = [random_bands(rng, changes["slots"]) for _ in range(6)]
    results = []
    for ids in ([], [3, 2, 1, 0], [7, 100, 2, 55]):
        rig = build(body_of(bands), {**changes, "core_ids": ids}, trace=True)
        results.append((attrs.asdict(rig.run()), bytes(rig.data)))
    assert results[0] == results[1] == results[2]
