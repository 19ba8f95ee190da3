"""The clock: put a call at a tick, in its place inside the tick.

Three places, in order: the data effects and completions of transfers, then workers (SimPy's own normal
priority), then arbitration. Nothing but the arbiter may use the last.

SimPy's queue asks little of what stands in it: a list of `callbacks`, and that it be `_ok`. So a transfer or an alarm
stands there itself, again and again, where an Event would have to be made each time.
"""

from collections.abc import Callable, Sequence
from heapq import heappush
from typing import Any, ClassVar

import attrs
from simpy import Environment, Event, Process
from simpy.events import NORMAL, URGENT, EventPriority

EFFECT = URGENT
WORKER = NORMAL
ARBITRATION = EventPriority(2)
Calls = Sequence[Callable[[Any], Any]]


@attrs.define(eq=False)
class Alarm:
    """The least that may stand in the queue: SimPy takes the `callbacks` away and calls each with the alarm itself."""

    callbacks: Calls | None = None
    _ok: ClassVar[bool] = True


def bell(env: Environment) -> Event:
    """An event that a process can wait for time after time: give it `callbacks`, post it, yield it."""
    event = Event(env)
    event.callbacks = None  # pyright: ignore[reportAttributeAccessIssue]
    event._ok = True
    event._value = None
    return event


def abandon(process: Process) -> None:
    """Never resume `process`, whatever it waits for."""
    target = process.target if process.is_alive else None
    if target is not None and target.callbacks is not None:
        target.callbacks.remove(process._resume)


def now(env: Environment) -> int:
    """The tick it is."""
    return env._now  # pyright: ignore[reportReturnType]


def next_tick(env: Environment) -> int:
    """The tick of whatever stands first in the queue; the coming tick when it is empty."""
    queue = env._queue
    return int(queue[0][0]) if queue else env._now + 1  # pyright: ignore[reportReturnType]


def post(env: Environment, tick: int, place: EventPriority, occasion: Any) -> None:
    """Let the callbacks of `occasion` be called at `tick`, in `place`."""
    heappush(env._queue, (tick, place, next(env._eid), occasion))


def comes_next(env: Environment, place: EventPriority) -> bool:
    """Whether something posted now for this tick and `place` would be the very next to come."""
    queue = env._queue
    return not queue or queue[0][0] > env._now or queue[0][1] > place


def call(occasion: Any) -> None:
    """Call the callbacks of `occasion` here and now, as if its turn had come."""
    calls, occasion.callbacks = occasion.callbacks, None
    for each in calls:
        each(occasion)


def at(env: Environment, tick: int, place: EventPriority, call: Callable[[Any], Any], value: Any) -> None:
    """Have `call` see an event of that `value` at `tick`, in `place`."""
    event = Event(env)
    event.callbacks = [call]
    event._ok = True
    event._value = value
    post(env, tick, place, event)
