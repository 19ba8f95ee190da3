"""Grant memo: batches of runs have the ticks and the bytes of their reads one by one, whatever was granted before."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tessbed.sim.dma import grant_memo
from tessbed.sim.dma.arbiter import Arbiter
from tessbed.sim.dma.grant_memo import Granting, GrantMemo
from tessbed.sim.transfer.descriptor import Descriptor
from tessbed.sim.transfer.descriptor_run import DescriptorRun
from tests.sim.programs import random_device
from tests.sim.rig import HAND, OUT, build, read, write

Gathers = Callable[[DescriptorRun], Sequence[Descriptor]]


def one_run(rng: random.Random) -> DescriptorRun:
    """Up to eight equal reads: in a row or apart, whole rows or several, now and then over each other in scratch."""
    rows, row_bytes, gap = rng.choice((1, 1, 3)), rng.choice((16, 64, 70)), rng.choice((0, 0, 10))
    size = rows * (row_bytes + gap)
    first = read(rng.randrange(0, 8000, 16), rng.randrange(0, 1024, 16), row_bytes)
    shaped = first._replace(rows=rows, pitch=row_bytes + gap, scratch_pitch=row_bytes + rng.choice((0, gap)))
    return DescriptorRun(shaped, rng.randint(2, 8), rng.choice((size, size, 4096, 256)), rng.choice((size, size, 8)))


def ran(seed: int, gathers: Gathers) -> tuple[Any, bytes, list[bytes]]:
    """What a random device makes of workers that gather a few runs again and again: statistics, memory, scratches."""
    rng = random.Random(seed)
    changes = {**random_device(rng), "data_movement": "at_completion", "dispatch_ticks": 0, "completion_ticks": 0}
    changes["dma"] |= {"arbitration": "fifo", "wait_group": 8}
    changes["workers"] = workers = rng.randint(1, 4)
    runs = [one_run(rng) for _ in range(rng.randint(1, 2))]
    scratches = []

    def body(ctx: Any) -> Any:
        scratches.append(ctx.scratch)
        yield from ctx.gather([read(0, 0, 1)])
        for number, run in enumerate(runs * 12):
            if number % 6:
                yield from ctx.gather(gathers(run))
            else:
                yield from ctx.prefetch(gathers(run))
            slot, ticks = number % ctx.spec.slots, 25 * (number % 6 == 0 or workers > 2)
            chain = [write(OUT + 4096 * ctx.worker + 64 * number, 64, 100)]
            yield from ctx.pack(slot, ticks, lambda: ctx.scratch.__iadd__(1), chain, ordered=number % 8 == 1)
            if number % 6 == 0:
                yield from ctx.wait_drains()
        yield from ctx.wait_drains()

    rig = build(body, changes, seed=seed, pages=32)
    stats = rig.run()
    return stats, rig.data.tobytes(), [scratch.tobytes() for scratch in scratches]


@pytest.mark.parametrize("seed", range(40))
def test_runs_are_their_reads(seed: int) -> None:
    """Ticks, statistics, memory and scratch are those of the same reads as a list, without the short cuts of runs."""
    assert ran(seed, lambda run: run) == ran(seed, list)


def test_a_computation_that_ends_between_two_reads_acts_between_them() -> None:
    """A worker that does not wait for its reads computes at any of their ticks: what came before it computes with."""

    def lands(gathers: Gathers, ticks: int) -> bytes:
        def body(ctx: Any) -> Any:
            yield from ctx.gather([read(0, 0, 1)])
            yield from ctx.prefetch(gathers(DescriptorRun(read(0, 0, 64), 8, 64, 64)))
            yield from ctx.pack(0, ticks, lambda: ctx.scratch.__iadd__(1), [write(OUT, 0, 512)], ordered=True)
            yield from ctx.wait_drains()

        rig = build(body, {**HAND, "dma": {**HAND["dma"], "wait_group": 8}})
        rig.run()
        return rig.data.tobytes()

    as_runs, as_lists = ([lands(gathers, ticks) for ticks in range(40)] for gathers in (lambda run: run, list))
    assert as_runs == as_lists
    assert len(set(as_lists)) > 4


def test_states_repeat_and_limits_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over these devices the memo helps, and it is refused where the arbiter may not grant so far."""
    helped, refused = [], []
    find = GrantMemo.find

    def counted(memo: GrantMemo, state: Any, before: int) -> Granting | None:
        granting = find(memo, state, before)
        (refused if granting is None and state in memo.known else helped if granting else []).append(state)
        return granting

    monkeypatch.setattr(GrantMemo, "find", counted)
    for seed in range(12):
        ran(seed, lambda run: run)
    assert len(helped) > 50
    assert len(refused) > 0


def granting(*grants: int) -> Granting:
    """An granting with these grants."""
    return Granting((), grants, grants, (), (), 0, 0)


@pytest.mark.parametrize(
    ("grants", "before", "found"), [((0, 4), 5, True), ((0, 4), 4, False), ((0, 0), 0, True), ((0, 0), -3, True)]
)
def test_what_is_granted_lies_before_the_limit(grants: tuple[int, ...], before: int, found: bool) -> None:
    """The last grant comes before the limit, or in the tick at which granting begins, which has none."""
    memo = GrantMemo()
    memo.learn((1, 0, (), ()), granting(*grants))
    assert bool(memo.find((1, 0, (), ()), before)) == found
    assert memo.find((1, 1, (), ()), 99) is None


@pytest.mark.parametrize(("found", "learns"), [(0, False), (4, False), (5, True)])
def test_a_memo_that_does_not_help_learns_no_more(found: int, learns: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Full with four grantings, it goes on where it has helped five times, and begins anew."""
    monkeypatch.setattr(grant_memo, "MOST_KEPT", 4)
    memo = GrantMemo()
    for number in range(4):
        memo.learn((number, 0, (), ()), granting(0))
    for _ in range(found):
        assert memo.find((0, 0, (), ()), 1)
    memo.learn((9, 0, (), ()), granting(0))
    assert (memo.learns, len(memo.known)) == (learns, int(learns))


def test_equal_costs_of_other_runs_are_another_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state names its costs by their id, which a memo keeps from being given to others."""
    states = []
    by_memo = Arbiter._grant_by_memo

    def noted(arbiter: Arbiter, pool: Any, group: Any, tick: int, limit: int) -> int:
        states.append(group.transfer_costs)
        return by_memo(arbiter, pool, group, tick, limit)

    monkeypatch.setattr(Arbiter, "_grant_by_memo", noted)
    run = DescriptorRun(read(0, 0, 16), 8, 16, 16)

    def body(ctx: Any) -> Any:
        for by in (0, 4096, 16, 4096 * 2):
            yield from ctx.gather([read(0, 0, 1)])
            yield from ctx.gather(run.shifted(by))

    rig = build(body, {"workers": 1})
    rig.run()
    first, page, odd, pages = states
    assert first is page is pages
    assert odd is not first
    assert np.array_equal(rig.data[:4], np.arange(4) * 7 % 251)
