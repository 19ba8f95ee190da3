"""The event queue: put a call at a tick, in its place inside the tick; all that depends on SimPy's private queue.

## What SimPy does

An `Environment` holds a heap, `_queue`, of entries `(tick, place, sequence, event)`, a counter `_eid` that has given
every entry its sequence, and `_now`, the tick of the entry that was taken last. `step` takes the least entry, sets
`_now`, takes the event's `callbacks` away (they are None from then on: it is processed), and calls each with the event.
It raises the event's `_value` where `_ok` is false. Nothing else is asked of an event. The sequence makes the order
total: what was posted first comes first, and events are never compared.

## What we do with it, and why

SimPy's own way makes an Event for every timestamp and resumes a generator at each; a transfer has several, and a
launch up to millions of transfers. Hence these departures, all of them here:

- Places. Inside a tick there are four, in order: the data effects and completions of transfers (SimPy's URGENT), then
  workers (NORMAL, which every event of SimPy's own has), then arbitration, which is the arbiter's alone, then the
  host's timeouts: what happens in the tick of a timeout is in time. SimPy knows the first two; the heap orders any.
- Entries that are no events. A transfer, a read batch or an Alarm is in the queue itself, again and again, with
  other `callbacks` each time. `queue_entry` gives a class the `_ok` that `step` looks at.
- Reserved sequences. `reserve_sequence` takes a number now for what is posted later: so an entry comes where it would
  have come had it been posted at once. A read batch keeps only its first copy in the queue, and so knows by
  `before_all` which of the next would be taken next anyway, and may be done at once.
- Wake-ups. `wake` calls the callbacks at once where nothing that is in the queue can come before: no entry of this tick
  at or before the place of workers. Else it posts. Both have the same order of effects.
- Looking ahead. `earliest_cause` goes through the heap in place for the first tick at which an entry can cause
  anything; the arbiter grants up to there without waiting for the clock.

## What must stay true

1. An entry is never changed in its first three members, and the heap is only written by heapq: `post_again`, which
   takes entries out, makes a heap of the rest.
2. `tick` is never less than `_now`. SimPy does not check that: time would run backwards.
3. No sequence is given twice, except that `post_again` reuses one whose own entry it has taken out.
4. Whoever is in the queue twice has its `callbacks` set again before the second time: `step` takes them away.

None of these names is promised by SimPy: `check_version` refuses a version that nothing has tried. To admit another,
read its `core.Environment.step` and `events.Process._resume`, run the suite, and change SIMPY and pyproject.toml.
"""

from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush
from itertools import islice
from math import inf
from operator import attrgetter
from typing import Any, TypeVar

import attrs
import simpy
from simpy import Environment, Event, Process
from simpy.events import NORMAL, URGENT, EventPriority

from tessbed.sim.errors import EngineError

SIMPY = (4, 1)
"""The version of SimPy, major and minor, whose queue this module knows."""
EFFECT = URGENT
WORKER = NORMAL
ARBITRATION = EventPriority(2)
TIMEOUT = EventPriority(3)
now: Callable[[Environment], int] = attrgetter("_now")
"""The tick it is."""
Calls = Sequence[Callable[[Any], Any]]
T = TypeVar("T")


def check_version(version: str) -> None:
    """Raise EngineError for a version of SimPy whose queue this module does not know."""
    wanted = ".".join(map(str, SIMPY))
    if version.split(".")[: len(SIMPY)] != wanted.split("."):
        raise EngineError(
            f"simpy: got version {version}, wanted {wanted}: the event engine uses SimPy's private queue, which"
            f" another version may have changed; install one with pip install 'simpy=={wanted}.*'"
        )


check_version(simpy.__version__)


def queue_entry(kind: type[T]) -> type[T]:
    """Make a class with `callbacks` one whose instances may be in the queue; a decorator."""
    kind._ok = True  # pyright: ignore[reportAttributeAccessIssue]
    return kind


@queue_entry
@attrs.define(eq=False)
class Alarm:
    """The least that may be in the queue: SimPy takes the `callbacks` away and calls each with the alarm itself."""

    callbacks: Calls | None = None


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


def post(env: Environment, tick: int, place: EventPriority, event: Any) -> None:
    """Let the callbacks of `event` be called at `tick`, in `place`."""
    heappush(env._queue, (tick, place, next(env._eid), event))


def reserve_sequence(env: Environment) -> int:
    """A place in the order of what is put on the clock, to be taken later."""
    return next(env._eid)


def reserve_sequences(env: Environment, number: int) -> list[int]:
    """So many places in a row."""
    return list(islice(env._eid, number))


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


def before_all(env: Environment) -> tuple[int | float, int | float]:
    """Effects whose (tick, turn) is less than this would come before all that is in the queue."""
    queue = env._queue
    if not queue:
        return inf, 0
    first, place, number, _ = queue[0]
    return first, inf if place > EFFECT else number


def earliest_cause(env: Environment, causes_at: Callable[[int, Any], int], never: int) -> int:
    """The least of `causes_at(tick, event)` over all that is in the queue, `never` where there is none.

    `causes_at` must not be less than the `tick` at which the event is: nothing causes what lies before it. So only
    entries before the least that is known are asked; the heap has the early ones in front.
    """
    earliest = never
    queue: list[Any] = env._queue
    for tick, _, _, event in queue:
        if tick < earliest:
            found = causes_at(tick, event)
            if found < earliest:
                earliest = found
    return earliest


def run_callbacks(event: Any) -> None:
    """Call the callbacks of `event` here and now, as if its turn had come."""
    calls, event.callbacks = event.callbacks, None
    for each in calls:
        each(event)


def run_until_any(env: Environment, over: Sequence[Any]) -> None:
    """Let one event after the other happen until there is something in `over`; raises EmptySchedule when none is left.

    It is `Environment.step` in a loop of its own, but for failures, and for an environment that steps in another way.
    """
    queue, step, own = env._queue, env.step, type(env).step is not Environment.step
    while not over:
        if own or not queue or not queue[0][3]._ok:
            step()
            continue
        env._now, _, _, event = heappop(queue)
        calls, event.callbacks = event.callbacks, None  # pyright: ignore[reportAttributeAccessIssue]
        for call in calls:
            call(event)


def wake(env: Environment, event: Any) -> None:
    """Call the callbacks of `event` in this tick, among those of workers; at once when that comes next anyway."""
    queue = env._queue
    if not queue or queue[0][0] > env._now or queue[0][1] > WORKER:
        calls, event.callbacks = event.callbacks, None
        for call in calls:
            call(event)
    else:
        heappush(queue, (env._now, WORKER, next(env._eid), event))


def at(env: Environment, tick: int, place: EventPriority, call: Callable[[Any], Any], value: Any) -> None:
    """Have `call` see an event of that `value` at `tick`, in `place`."""
    event = Event(env)
    event.callbacks = [call]
    event._ok = True
    event._value = value
    post(env, tick, place, event)
