"""The clock: put a call at a tick, in its place inside the tick.

Three places, in order: the data effects and completions of transfers, then workers (SimPy's own normal
priority), then arbitration. Nothing but the arbiter may use the last.
"""

from collections.abc import Callable
from typing import Any

from simpy import Environment, Event
from simpy.events import NORMAL, URGENT, EventPriority

EFFECT = URGENT
WORKER = NORMAL
ARBITRATION = EventPriority(2)


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
