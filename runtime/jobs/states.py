"""The states of a job, as one table: the only way to change a state is `step`, and what the table lacks is illegal.

A job is done with when its state is final: `retired` (the device confirmed the end, good or bad, and its owners are
released), `recovered` (a confirmed device reset ended it; its output is not to be trusted) or `cancelled` (the device
never saw it). Owners are released on entering a final state and at no other time. A job that was lost stays lost: it is
recovered when a reset, or a record that came after all, proves that the device is done with it.
"""

from enum import Enum

from tessbed.runtime.errors import StateError


class State(Enum):
    """Where a job is."""

    PREPARED = "prepared"
    BOUND = "bound"
    SUBMITTED = "submitted"
    RUNNING = "running"
    COMPLETED = "completed"
    FAULTED = "faulted"
    TIMED_OUT = "timed_out"
    LOST = "lost"
    QUARANTINED = "quarantined"
    RECOVERING = "recovering"
    RETIRED = "retired"
    RECOVERED = "recovered"
    CANCELLED = "cancelled"

    __hash__ = object.__hash__


class Transition(Enum):
    """What happens to a job."""

    BIND = "bind"
    SUBMIT = "submit"
    START = "start"
    COMPLETE = "complete"
    FAULT = "fault"
    RETIRE = "retire"
    EXPIRE = "expire"
    LOSE = "lose"
    QUARANTINE = "quarantine"
    RESET = "reset"
    RECOVER = "recover"
    CANCEL = "cancel"
    SKIP = "skip"

    __hash__ = object.__hash__


# Every legal move: from, move, to, and why it may happen.
TABLE: tuple[tuple[State, Transition, State, str], ...] = (
    (State.PREPARED, Transition.BIND, State.BOUND, "addresses are filled in, owners are held"),
    (State.BOUND, Transition.SUBMIT, State.SUBMITTED, "the queue took it"),
    (
        State.SUBMITTED,
        Transition.START,
        State.RUNNING,
        "the doorbell rang: from here on the device may touch its buffers",
    ),
    (State.RUNNING, Transition.COMPLETE, State.COMPLETED, "its record says ok"),
    (State.RUNNING, Transition.FAULT, State.FAULTED, "its record says what failed"),
    (State.COMPLETED, Transition.RETIRE, State.RETIRED, "its turn in the queue: the owners are released"),
    (State.FAULTED, Transition.RETIRE, State.RETIRED, "its turn in the queue: the owners are released"),
    (State.RUNNING, Transition.EXPIRE, State.TIMED_OUT, "no record in time; the device may still be writing"),
    (State.TIMED_OUT, Transition.COMPLETE, State.COMPLETED, "late, but it is this job's record"),
    (State.TIMED_OUT, Transition.FAULT, State.FAULTED, "late, but it is this job's record"),
    (State.TIMED_OUT, Transition.LOSE, State.LOST, "the grace is over too"),
    (State.RECOVERING, Transition.LOSE, State.LOST, "it timed out before the reset was confirmed"),
    (
        State.LOST,
        Transition.QUARANTINE,
        State.QUARANTINED,
        "its buffers stay held: what the device does is unknown",
    ),
    (
        State.QUARANTINED,
        Transition.RECOVER,
        State.RECOVERED,
        "its record arrived late: the device touches nothing more",
    ),
    (State.RUNNING, Transition.RESET, State.RECOVERING, "the device is reset under it"),
    (State.TIMED_OUT, Transition.RESET, State.RECOVERING, "the device is reset under it"),
    (State.QUARANTINED, Transition.RESET, State.RECOVERING, "the device is reset to get its buffers back"),
    (State.RECOVERING, Transition.COMPLETE, State.COMPLETED, "its record arrived before the reset took effect"),
    (State.RECOVERING, Transition.FAULT, State.FAULTED, "its record arrived before the reset took effect"),
    (
        State.RECOVERING,
        Transition.RECOVER,
        State.RECOVERED,
        "confirmed, or a lost job's record arrived: the device touches nothing more",
    ),
    (State.PREPARED, Transition.SKIP, State.RETIRED, "an empty tensor: there is nothing to submit"),
    (State.PREPARED, Transition.CANCEL, State.CANCELLED, "never bound"),
    (State.BOUND, Transition.CANCEL, State.CANCELLED, "never submitted"),
    (State.SUBMITTED, Transition.CANCEL, State.CANCELLED, "still in the queue"),
    (State.SUBMITTED, Transition.EXPIRE, State.CANCELLED, "it timed out in the queue: no device has seen it"),
)
STYLE = (
    '    graph [nodesep=0.55 ranksep=0.5 pad=0.2 bgcolor="white"]',
    '    node [shape=box style="rounded,filled" color="#57606a" fontname="Helvetica" fontsize=13 height=0.36]',
    '    edge [color="#57606a" fontname="Helvetica" fontsize=11 fontcolor="#24292f" arrowsize=0.7]',
)
NEXT = {(state, move): to for state, move, to, _ in TABLE}
FINAL = (State.RETIRED, State.RECOVERED, State.CANCELLED)
ON_DEVICE = (State.RUNNING, State.TIMED_OUT, State.LOST, State.QUARANTINED, State.RECOVERING)


def step(state: State, move: Transition, who: str = "job") -> State:
    """The state after `move`. Raises StateError for what the table does not have."""
    to = NEXT.get((state, move))
    if to is None:
        legal = ", ".join(other.value for (start, other) in NEXT if start is state) or "nothing"
        raise StateError(f"{who}: {move.value} is illegal while {state.value}; legal: {legal}")
    return to


def diagram() -> str:
    """The table as a graph in DOT, for Graphviz: docs/job-states.svg is what `dot -Tsvg` makes of it.

    Final states are green; in yellow ones the device may still use the buffers.
    """
    colours = {**dict.fromkeys(ON_DEVICE, "#fff8c5"), **dict.fromkeys(FINAL, "#dafbe1")}
    nodes = [f'    {state.value} [fillcolor="{colours.get(state, "#ddf4ff")}"]' for state in State]
    edges = [f'    {state.value} -> {to.value} [label=" {move.value} "]' for state, move, to, _ in TABLE]
    return "\n".join(["digraph states {", *STYLE, *nodes, *edges, "}"])


def transition_table() -> str:
    """The table as Markdown rows, with the reason of each move."""
    head = ["| from | move | to | because |", "|---|---|---|---|"]
    return "\n".join(
        head + [f"| {state.value} | {move.value} | {to.value} | {why} |" for state, move, to, why in TABLE]
    )
