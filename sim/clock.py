"""The clock: put a call at a tick, in its place inside the tick.

Three places, in order: the data effects and completions of transfers, then workers (SimPy's own normal
priority), then arbitration. Nothing but the arbiter may use the last.
"""

from collections.abc import Callable
from typing import Any

from simpy import Environment, Event, Process
from simpy.events import NORMAL, URGENT, EventPriority

EFFECT = URGENT
WORKER = NORMAL
ARBITRATION = EventPriority(2)


def abandon(process: Process) -> None:
    """Never resume `process`, whatever it waits for."""
    target = process.target if process.is_alive else None
    if target is not None and target.callbacks is not None:
        target.callbacks.remove(process._resume)


def now(env: Environment) -> int:
    """The tick it is."""
    return int(env.now)


def at(env: Environment, tick: int, place: EventPriority, call: Callable[[Any], Any], value: Any) -> None:
    """Have `call` see an event of that `value` at `tick`, in `place`."""
    event = Event(env)
    event.callbacks = [call]
    event._ok = True
    event._value = value
    env.schedule(event, place, tick - env.now)
