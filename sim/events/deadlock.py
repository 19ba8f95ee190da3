"""Deadlocks: run until an event; when no event is left, report who waits for what, and why it never ends."""

from collections.abc import Iterable
from typing import Any, Protocol

from simpy import Environment, Event
from simpy.core import EmptySchedule

from tessbed.sim.errors import HangError
from tessbed.sim.events.wait_graph import Waiting, diagnose


class Waits(Protocol):
    """Something that can say who waits in it."""

    def waiting(self) -> list[Waiting]:
        """Everybody who waits."""
        ...


def run_until(env: Environment, event: Event, devices: Iterable[Waits]) -> Any:
    """Run until `event` and return its value; raises HangError when the environment runs dry before."""
    step = env.step
    try:
        while event.callbacks is not None:
            step()
    except EmptySchedule:
        waiting = [line for device in devices for line in device.waiting()]
        raise HangError(waiting, diagnose(waiting)) from None
    return event.value
