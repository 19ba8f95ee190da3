"""The parts of a job's ticks, whatever became of it; by hand."""

from typing import Any

import pytest

from tessbed.runtime.jobs.job_ticks import job_parts
from tessbed.runtime.jobs.states import State, Transition
from tests.sim.rig import HAND, build, copy_body

SUBMIT, START = (10, Transition.SUBMIT, State.SUBMITTED), (25, Transition.START, State.RUNNING)
BOUND = (3, Transition.BIND, State.BOUND)
LOST = (90, Transition.LOSE, State.LOST)


@pytest.fixture(scope="module")
def stats() -> Any:
    """A job of a device: submitted there at 0, with a queue of 0, and a completion of 10 ticks at its end."""
    return build(copy_body, {**HAND, "dispatch_ticks": 7, "completion_ticks": 10}).run()


WITHOUT_A_RECORD = {
    "never submitted": ([BOUND], {}),
    "cancelled in its queue": ([BOUND, SUBMIT, (60, Transition.CANCEL, State.CANCELLED)], {"queue": 90}),
    "lost on the device": ([BOUND, SUBMIT, START, LOST], {"queue": 15, "lost": 75}),
}


@pytest.mark.parametrize(("history", "parts"), WITHOUT_A_RECORD.values(), ids=WITHOUT_A_RECORD)
def test_without_a_record(history: Any, parts: dict[str, int], stats: Any) -> None:
    """The queue until it started, then `lost`; they sum to the ticks from submission, 10, to the wake-up, 100."""
    assert job_parts(history, 100, None) == parts
    assert sum(parts.values()) in (0, 90)
    if Transition.START in {move for _, move, _ in history}:
        assert job_parts(history, 100, stats) == parts  # the device has a record that the host has not read


@pytest.mark.parametrize("move", [Transition.COMPLETE, Transition.FAULT])
@pytest.mark.parametrize(("known", "woken"), [(0, 0), (-4, 0), (30, 30), (0, 8)], ids=str)
def test_with_a_record(stats: Any, move: Transition, known: int, woken: int) -> None:
    """The device's own parts; what the host knew early or late is `completion`, what it waited to retire is `queue`.

    The host submitted 15 ticks before the doorbell. `known` and `woken` count from the tick of the interrupt.
    """
    interrupt = stats.submit_tick + stats.job_ticks
    history = [
        (stats.submit_tick - 15, Transition.SUBMIT, State.SUBMITTED),
        (stats.submit_tick, Transition.START, State.RUNNING),
        (interrupt + known, move, State.COMPLETED),
    ]
    parts = job_parts(history, interrupt + max(known, woken), stats)
    assert parts["completion"] == 10 + known
    assert parts["queue"] == 15 + max(known, woken) - known
    assert {name: parts[name] for name in stats.parts if name not in ("queue", "completion")} == {
        name: ticks for name, ticks in stats.parts.items() if name not in ("queue", "completion")
    }
    assert sum(parts.values()) == 15 + stats.job_ticks + max(known, woken)
