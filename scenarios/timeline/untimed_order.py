"""An order of a job's actions as a timeline: which thread took which action, and what each action waited for.

An order has no ticks: each action is shown as one nanosecond. A core is a lane, and so are the data of a transfer and
its partial granules. Arrows lead from the actions that ended what a thread waited for to the action that it then took.
"""

from collections.abc import Iterable, Sequence

from tessbed.scenarios.timeline.flows import Flows
from tessbed.scenarios.timeline.lanes import MARKS, TEXT
from tessbed.scenarios.timeline.spans import NOTHING, Fields, Sink, TimelineSpan, Value, argument_fields
from tessbed.sim.interleavings.actions import HOST, MEMORY, ByteAccess, ByteAccesses, Name
from tessbed.sim.interleavings.untimed_engine import ExecutedAction

SCALE = "1 action = 1 ns"
TOUCH = argument_fields("where:text", "from:address", "to:address", "accesses")
DATA, PARTIAL = 0, 1
ACTIONS = {DATA: ("sample", "deliver"), PARTIAL: ("read granules", "write granules")}


def show_order(
    sink: Sink, executed: Sequence[ExecutedAction], findings: Iterable[str], wrong: tuple[int, str] | None
) -> None:
    """Show the actions; `findings` are the checker's texts, `wrong` the first wrong byte's address and its text."""
    scale = sink.lane(("time", SCALE), "what an action is here")
    text = "an order has no ticks: each action is shown as one nanosecond"
    sink.span(TimelineSpan(scale, SCALE, 0, 0, TEXT, (text,)))
    marks = sink.lane(MARKS, "what was found")
    lanes: dict[Name, int] = {}
    done: dict[Name, int] = {}
    starts, ends = arrows(executed)
    for number, action in enumerate(executed):
        name = action.name
        if name not in lanes:
            lanes[name] = sink.lane(*lane_of(name))
        step = done[name] = done.get(name, -1) + 1
        fields, values = access_values(action.touches)
        flows = starts.get(number, ()), ends.get(number, ())
        sink.span(TimelineSpan(lanes[name], action_name(name, step), number, number + 1, fields, values, *flows))
        if wrong is not None and any(writes(access, wrong[0]) for access in action.touches):
            said = f"{thread_name(name)} writes the granule of the wrong byte"
            sink.span(TimelineSpan(marks, "write", number, number, TEXT, (said,)))
    for what, said in [*(("finding", text) for text in findings), *([("wrong byte", wrong[1])] if wrong else [])]:
        sink.span(TimelineSpan(marks, what, len(executed), len(executed), TEXT, (said,)))


def arrows(executed: Sequence[ExecutedAction]) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """The flows that start and that end at each action, by its number."""
    flows = Flows()
    starts: dict[int, list[int]] = {}
    ends: dict[int, list[int]] = {}
    for number, action in enumerate(executed):
        for cause in action.causes:
            flow = flows.new()
            starts.setdefault(cause, []).append(flow)
            ends.setdefault(number, []).append(flow)
    return starts, ends


def lane_of(name: Name) -> tuple[tuple[str, ...], str]:
    """Where a thread is shown, and what it is."""
    if name == HOST:
        return ("host", "host"), "the host reads the output when all is over"
    worker, transfer, _ = name
    if not transfer:
        return ("cores", thread_name(name)), "from one wait of its workers to the next"
    return (
        f"transfers of worker {worker}",
        thread_name(name),
    ), "data: sample, deliver; granules: read, write"


def thread_name(name: Name) -> str:
    """A thread in words."""
    worker, transfer, half = name
    if name == HOST:
        return "host"
    if not transfer:
        return f"core {worker}"
    return f"transfer {transfer - 1} of worker {worker}{' (partial granules)' if half == PARTIAL else ''}"


def action_name(name: Name, step: int) -> str:
    """What a thread does at its `step`-th action."""
    if name == HOST:
        return "read"
    return ACTIONS[name[2]][step % 2] if name[1] else "go on"


def access_values(touches: ByteAccesses) -> tuple[Fields, tuple[Value, ...]]:
    """What an action touches: the first of its accesses, and how many there are."""
    if not touches:
        return NOTHING, ()
    space, low, high, _ = touches[0]
    where = "memory" if space == MEMORY else f"scratch of core {space}"
    return TOUCH, (where, low, high, len(touches))


def writes(access: ByteAccess, address: int) -> bool:
    """Whether an access writes that byte of memory."""
    return access.write and access.space == MEMORY and access.low <= address < access.high
