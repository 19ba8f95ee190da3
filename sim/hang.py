"""Hangs: run until an event, and when nothing can happen any more say who waits for what."""

from collections.abc import Iterable
from typing import Any, Protocol

import attrs
from simpy import Environment, Event

from tessbed.sim.errors import HangError


@attrs.frozen
class Waiting:
    """`who` has waited for `what` since the tick `since`."""

    who: str
    what: str
    since: int

    def __str__(self) -> str:
        return f"{self.who} waits for {self.what} since tick {self.since}"


class Waits(Protocol):
    """Something that can say who waits in it."""

    def waiting(self) -> list[Waiting]:
        """Everybody who waits."""
        ...


def run_until(env: Environment, event: Event, devices: Iterable[Waits]) -> Any:
    """Run until `event` and return its value; raises HangError when the environment runs dry before."""
    try:
        return env.run(until=event)
    except RuntimeError as error:
        if not str(error).startswith("No scheduled events left"):
            raise
        waiting = [line for device in devices for line in device.waiting()]
    raise HangError(waiting)
