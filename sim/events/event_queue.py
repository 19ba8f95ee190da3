"""The clock: put a call at a tick, in its place inside the tick.

Four places, in order: the data effects and completions of transfers, then workers (SimPy's own normal
priority), then arbitration, which is the arbiter's alone, then the host's timeouts: what happens in the tick of a
timeout is in time.

SimPy's queue asks little of what stands in it: a list of `callbacks`, and that it be `_ok`. So a transfer or an alarm
stands there itself, again and again, where an Event would have to be made each time.
"""

from collections.abc import Callable, Sequence
from heapq import heapify, heappush
from typing import Any, ClassVar

import attrs
from simpy import Environment, Event, Process
from simpy.events import NORMAL, URGENT, EventPriority

EFFECT = URGENT
WORKER = NORMAL
ARBITRATION = EventPriority(2)
TIMEOUT = EventPriority(3)
Calls = Sequence[Callable[[Any], Any]]


@attrs.define(eq=False)
class Alarm:
    """The least that may stand in the queue: SimPy takes the `callbacks` away and calls each with the alarm itself."""

    callbacks: Calls | None = None
    _ok: ClassVar[bool] = True


def wakeup_event(env: Environment) -> Event:
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


def post(env: Environment, tick: int, place: EventPriority, event: Any) -> None:
    """Let the callbacks of `event` be called at `tick`, in `place`."""
    heappush(env._queue, (tick, place, next(env._eid), event))


def reserve_sequence(env: Environment) -> int:
    """A place in the order of what is put on the clock, to be taken later."""
    return next(env._eid)


def post_reserved(env: Environment, tick: int, turn: int, event: Any) -> None:
    """Let the callbacks of an effect be called at `tick`, as if it had been posted when `turn` was given."""
    heappush(env._queue, (tick, EFFECT, turn, event))


def post_again(env: Environment, event: Any) -> None:
    """Of an effect that has been posted twice keep the second posting, as if it had been posted with the first."""
    queue = env._queue
    first, second = sorted((entry for entry in queue if entry[3] is event), key=lambda entry: entry[2])
    queue[:] = [entry for entry in queue if entry[3] is not event]
    heapify(queue)
    heappush(queue, (*second[:2], first[2], event))


def is_first(env: Environment, tick: int, turn: int) -> bool:
    """Whether an effect of that tick and turn would come before all that stands in the queue."""
    queue = env._queue
    if not queue:
        return True
    first, place, number, _ = queue[0]
    return first > tick or (first == tick and (place > EFFECT or number > turn))


def run_callbacks(event: Any) -> None:
    """Call the callbacks of `event` here and now, as if its turn had come."""
    calls, event.callbacks = event.callbacks, None
    for each in calls:
        each(event)


def wake(env: Environment, event: Any) -> None:
    """Call the callbacks of `event` in this tick, among those of workers; at once when that comes next anyway."""
    queue = env._queue
    if not queue or queue[0][0] > env._now or queue[0][1] > WORKER:
        run_callbacks(event)
    else:
        heappush(queue, (env._now, WORKER, next(env._eid), event))


def at(env: Environment, tick: int, place: EventPriority, call: Callable[[Any], Any], value: Any) -> None:
    """Have `call` see an event of that `value` at `tick`, in `place`."""
    event = Event(env)
    event.callbacks = [call]
    event._ok = True
    event._value = value
    post(env, tick, place, event)
