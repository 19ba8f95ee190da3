"""Orders without ticks: legal ones only, each repeatable, and for small jobs every one that can be distinguished."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest

from tessbed.sim.checkers.hazards import Checker
from tessbed.sim.errors import DeviceFault
from tessbed.sim.interleavings.actions import Thread
from tessbed.sim.interleavings.dpor import Search
from tessbed.sim.interleavings.untimed_engine import Choose, UntimedEngine
from tests.sim.rig import OUT, build, copy_body, read, write

PREFILL = 0x11


class Unfolded:
    """Every order of a job, one by one, with no reduction: the reference for small jobs."""

    def __init__(self) -> None:
        self.path: list[tuple[int, int]] = []
        self.depth = 0

    def choose(self, ready: Sequence[Thread]) -> int:
        """The next choice of the current order."""
        if self.depth == len(self.path):
            self.path.append((0, len(ready)))
        self.depth += 1
        return self.path[self.depth - 1][0]

    def next(self) -> bool:
        """Go on to the next order; False after the last."""
        self.depth = 0
        while self.path:
            choice, count = self.path.pop()
            if choice + 1 < count:
                self.path.append((choice + 1, count))
                return True
        return False


def staged(
    body: Any, changes: Any = None, mode: str = "off"
) -> Callable[[Choose], tuple[UntimedEngine, bytes, Checker]]:
    """Runs the body in the order that a chooser makes, on a memory that is as it was at first."""
    rig = build(body, changes)
    source = rig.data[:OUT].copy()

    def run(choose: Choose) -> tuple[UntimedEngine, bytes, Checker]:
        rig.data[:OUT], rig.data[OUT:] = source, PREFILL
        spec, checker = rig.device.spec, Checker(mode)
        stage = UntimedEngine(
            spec, rig.device.memory, choose, checker.job(rig, 0, spec.write_unit_bytes), recording=True
        )
        stage.run(body, spec.workers)
        return stage, rig.data[OUT:].tobytes(), checker

    return run


def two_in_a_granule(ctx: Any) -> Any:
    """One worker, two drains, one granule, no order."""
    yield from ctx.drain(0, [write(OUT, 0, 32)])
    yield from ctx.drain(1, [write(OUT + 32, 64, 32)])
    yield from ctx.wait_drains()


def two_workers(ctx: Any) -> Any:
    """Two workers, one granule."""
    yield from ctx.drain(0, [write(OUT + 32 * ctx.worker, 0, 32)])
    yield from ctx.wait_drains()


def unwaited(ctx: Any) -> Any:
    """The job ends before its drain."""
    yield from ctx.drain(0, [write(OUT, 0, 64)])


def slot_overwritten(ctx: Any) -> Any:
    """The slot is packed again while it drains."""
    yield from ctx.drain(0, [write(OUT, 0, 96)])
    yield from ctx.compute(5, lambda: ctx.scratch.fill(7))
    yield from ctx.wait_drains()


def not_gathered(ctx: Any) -> Any:
    """Bytes are packed that may not be there yet."""

    def copy() -> None:
        ctx.scratch[64:128] = ctx.scratch[:64]

    yield from ctx.prefetch([read(64, 0, 64)])
    yield from ctx.compute(5, copy)
    yield from ctx.wait_drains()
    yield from ctx.drain(0, [write(OUT, 64, 64)])
    yield from ctx.wait_drains()


def chained(ctx: Any) -> Any:
    """Two segments of one chain in one granule: safe."""
    yield from ctx.drain(0, [write(OUT, 0, 32), write(OUT + 32, 32, 32)])
    yield from ctx.wait_drains()


def waited(ctx: Any) -> Any:
    """Two drains in one granule with a wait between: safe."""
    yield from ctx.drain(0, [write(OUT, 0, 32)])
    yield from ctx.wait_slot(0)
    yield from ctx.drain(0, [write(OUT + 32, 32, 32)])
    yield from ctx.wait_drains()


BODIES = [
    (two_in_a_granule, 1, 2),
    (two_workers, 2, 2),
    (unwaited, 1, 2),
    (slot_overwritten, 1, 2),
    (not_gathered, 1, 2),
    (chained, 1, 1),
    (waited, 1, 1),
]


@pytest.mark.parametrize(
    ("body", "workers", "least"),
    [pytest.param(*case, id=case[0].__name__, marks=[pytest.mark.long] * (case[1] > 1)) for case in BODIES],
)
def test_every_outcome_is_found(body: Any, workers: int, least: int) -> None:
    """The reduced search ends with the same set of outcomes as trying each order, in far fewer runs."""
    run, unfolded = staged(body, {"workers": workers}), Unfolded()
    outcomes, orders, more = set[bytes](), 0, True
    while more:
        outcomes.add(run(unfolded.choose)[1])
        orders += 1
        more = unfolded.next()
    found = set[bytes]()

    def reduced(choose: Choose) -> Any:
        stage, output, _ = run(choose)
        found.add(output)
        return stage.executed

    search = Search(reduced, 10000)
    assert len(set(search.orders())) == search.runs
    assert search.complete
    assert found == outcomes
    assert len(outcomes) >= least
    assert (len(outcomes) == 1) == (least == 1)
    assert search.runs <= orders


JUDGED = [case for case in BODIES if case[0] not in (slot_overwritten, not_gathered)]  # their actions say nothing


@pytest.mark.parametrize(("body", "workers", "least"), JUDGED, ids=[body.__name__ for body, *_ in JUDGED])
def test_the_checker_says_unsafe_exactly_if_an_order_corrupts(body: Any, workers: int, least: int) -> None:
    """Both directions, on jobs small enough to try everything: a finding if, and only if, outcomes differ."""
    _, _, checker = staged(body, {"workers": workers}, "report")(lambda ready: 0)
    assert bool(checker.findings) == (least > 1)


def test_an_order_repeats() -> None:
    """The same choices give the same actions and the same bytes."""
    run = staged(copy_body, {"workers": 3})

    def once(seed: int) -> tuple[Any, bytes]:
        random = Random(seed)
        stage, output, _ = run(lambda ready: random.randrange(len(ready)))
        return stage.executed, output

    assert once(1) == once(1)
    assert once(1)[0] != once(2)[0]
    assert once(1)[1] == once(2)[1]


def test_no_action_before_its_cause() -> None:
    """Whatever is chosen, each action comes after all that it must follow."""
    run = staged(copy_body, {"workers": 3})
    for seed in range(20):
        random = Random(seed)
        stage, _, _ = run(lambda ready, random=random: random.randrange(len(ready)))
        for number, action in enumerate(stage.executed):
            assert all(cause < number for cause in action.causes)


def test_a_search_is_bounded() -> None:
    """It stops where it is reported, and does not claim to have seen everything."""
    run = staged(two_in_a_granule, {"workers": 1})
    search = Search(lambda choose: run(choose)[0].executed, 3)
    assert len(list(search.orders())) == 3
    assert not search.complete


def test_an_unmapped_access_faults() -> None:
    """Memory's refusal is the device's fault, as in ticks."""

    def body(ctx: Any) -> Any:
        yield from ctx.gather([read(1 << 20, 0, 64)])

    with pytest.raises(DeviceFault, match="unmapped"):
        staged(body, {"workers": 1})(lambda ready: 0)
