"""The table of job states: complete, and the only way from one state to another."""

import pytest

from tessbed.runtime import Job, State, StateError, Transition
from tessbed.runtime.address_ranges import JobFootprint
from tessbed.runtime.jobs.states import FINAL, NEXT, ON_DEVICE, TABLE
from tessbed.runtime.scheduling.queues import Queue


def path_to(goal: State) -> list[Transition]:
    """The shortest list of moves from prepared."""
    paths: dict[State, list[Transition]] = {State.PREPARED: []}
    todo = [State.PREPARED]
    for state in todo:
        for (start, move), to in NEXT.items():
            if start is state and to not in paths:
                paths[to] = [*paths[state], move]
                todo.append(to)
    return paths[goal]


def job_in(state: State) -> Job:
    job = Job(1, "subject", b"", JobFootprint(), Queue("q"))
    for tick, move in enumerate(path_to(state)):
        job.move(move, tick)
    assert job.state is state
    return job


@pytest.mark.parametrize("move", Transition, ids=lambda move: move.value)
@pytest.mark.parametrize("state", State, ids=lambda state: state.value)
def test_a_move_does_what_the_table_says_or_nothing(state: State, move: Transition) -> None:
    """A legal move leads to the table's state; an illegal one raises, names both, and changes nothing."""
    job = job_in(state)
    before = list(job.history)
    if (state, move) in NEXT:
        job.move(move, 99)
        assert job.state is NEXT[state, move]
        assert job.history == [*before, (99, move, job.state)]
    else:
        with pytest.raises(StateError, match=f"{move.value} is illegal while {state.value}; legal: "):
            job.move(move, 99)
        assert (job.state, job.history) == (state, before)


def test_the_table_is_sound() -> None:
    """No row occurs twice, every state can be reached, only final states have no way on, all others reach one."""
    assert len(NEXT) == len(TABLE)
    for state in State:
        path_to(state)
        onward = [to for (start, _), to in NEXT.items() if start is state]
        assert (state in FINAL) == (not onward)
    ends = set(FINAL)
    for _ in State:
        ends |= {start for (start, _), to in NEXT.items() if to in ends}
    assert ends == set(State)


def test_what_is_on_a_device_leaves_it_by_a_record_or_a_confirmed_reset() -> None:
    """From a state on the device the only ways off are complete, fault and recover."""
    ways = {move for (start, move), to in NEXT.items() if start in ON_DEVICE and to not in ON_DEVICE}
    assert ways == {Transition.COMPLETE, Transition.FAULT, Transition.RECOVER}


def test_nothing_but_a_move_changes_a_state() -> None:
    """The state can not be assigned."""
    with pytest.raises(AttributeError):
        job_in(State.BOUND).state = State.RETIRED  # pyright: ignore[reportAttributeAccessIssue]
