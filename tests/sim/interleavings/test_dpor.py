"""Partial-order reduction on threads of plain accesses, where a person can count the orders that differ."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from tessbed.sim.interleavings.actions import MEMORY, ByteAccess, ByteAccesses
from tessbed.sim.interleavings.dpor import Search
from tessbed.sim.interleavings.untimed_engine import ExecutedAction

Step = str  # "r0" reads byte 0, "w0" writes it, "-" touches nothing
A, B, C = (0, 0, 0), (1, 0, 0), (2, 0, 0)


def touches(step: Step) -> ByteAccesses:
    """What a step touches."""
    if step == "-":
        return ()
    byte = int(step[1:])
    return (ByteAccess(MEMORY, byte, byte + 1, step[0] == "w"),)


def runner(threads: Mapping[Any, Sequence[Step]], after: Mapping[Any, Any] | None = None) -> Any:
    """Runs the threads in any order; a thread in `after` begins when the one that it names has ended."""

    def run(choose: Any) -> list[ExecutedAction]:
        done: list[ExecutedAction] = []
        position = dict.fromkeys(threads, 0)
        last: dict[Any, int] = {}

        def ready(name: Any) -> bool:
            first = (after or {}).get(name)
            return position[name] < len(threads[name]) and (first is None or position[first] == len(threads[first]))

        while able := [name for name in threads if ready(name)]:
            nexts = [SimpleNamespace(touches=touches(threads[name][position[name]])) for name in able]
            name = able[choose([SimpleNamespace(name=n, next=step) for n, step in zip(able, nexts, strict=True)])]
            first = (after or {}).get(name)
            causes = (last[first],) if first is not None and not position[name] else ()
            last[name] = len(done)
            done.append(ExecutedAction(name, touches(threads[name][position[name]]), causes))
            position[name] += 1
        return done

    return run


COUNTS = {  # threads, who begins after whom, how many orders differ
    "one thread": ({A: ["w0", "w0"]}, {}, 1),
    "apart": ({A: ["w0", "w0"], B: ["w1", "w1"]}, {}, 1),
    "two readers": ({A: ["r0"], B: ["r0"]}, {}, 1),
    "a writer and a reader": ({A: ["w0"], B: ["r0"]}, {}, 2),
    "two writers": ({A: ["w0"], B: ["w0"]}, {}, 2),
    "three writers": ({A: ["w0"], B: ["w0"], C: ["w0"]}, {}, 6),
    "two writers twice: 4 over 2": ({A: ["w0", "w0"], B: ["w0", "w0"]}, {}, 6),
    "a writer and two readers: before, between in two ways, behind": ({A: ["w0"], B: ["r0"], C: ["r0"]}, {}, 4),
    "two bytes, each of a pair": ({A: ["w0", "w1"], B: ["w1", "w0"]}, {}, 3),
    "nothing touched": ({A: ["-", "-"], B: ["-", "-"]}, {}, 1),
    "conflict behind a step of its own": ({A: ["-", "w0"], B: ["-", "w0"]}, {}, 2),
    "ordered by a cause": ({A: ["w0"], B: ["w0"]}, {B: A}, 1),
    "a cause and a third": ({A: ["w0"], B: ["w0"], C: ["w0"]}, {B: A}, 3),
}


@pytest.mark.parametrize(("threads", "after", "orders"), COUNTS.values(), ids=COUNTS)
def test_each_class_is_run_once(threads, after, orders: int) -> None:
    """As many complete runs as there are orders of conflicting accesses, no two of one class; then it is complete."""
    search = Search(runner(threads, after), 1000)
    found = list(search.orders())
    assert (len(found), search.runs, search.complete) == (orders, orders, True)
    assert len({conflicting(threads, order) for order in found}) == orders


def conflicting(threads: Mapping[Any, Sequence[Step]], order: Sequence[Any]) -> frozenset[Any]:
    """What distinguishes an order: of each two conflicting accesses, which comes first."""
    position = dict.fromkeys(threads, 0)
    steps = []
    for name in order:
        steps.append((name, position[name], threads[name][position[name]]))
        position[name] += 1
    return frozenset(
        (one[:2], other[:2])
        for number, one in enumerate(steps)
        for other in steps[number + 1 :]
        if one[2][1:] == other[2][1:] != "" and "w" in one[2][0] + other[2][0]
    )


def test_the_first_order_is_the_plainest() -> None:
    """The first run lets whoever could go on first go on."""
    search = Search(runner({A: ["w0", "w1"], B: ["w0"]}), 10)
    assert next(search.orders()) == (A, A, B)


def test_a_bound_is_no_proof() -> None:
    """One order less than there are: it stops, and does not claim to be complete; with one more it does."""
    threads = {A: ["w0"], B: ["w0"], C: ["w0"]}
    short, long = Search(runner(threads), 5), Search(runner(threads), 7)
    assert (len(list(short.orders())), short.complete) == (5, False)
    assert (len(list(long.orders())), long.complete) == (6, True)
