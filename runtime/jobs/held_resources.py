"""Held resources: what a job keeps alive until its retirement is confirmed, role by role.

The device reads the packet while it decodes, the input while it gathers and the output's own granules while it drains;
the host needs the prepared metadata to make sense of the record. So none of them may go before the device has
confirmed the end, however early their holder closes them.
"""

from collections.abc import Iterable
from typing import Protocol

import attrs


class OwnedResource(Protocol):
    """Anything with counted references: an allocation, a control block, prepared metadata."""

    def hold(self, holder: str) -> None: ...

    def drop(self, holder: str) -> None: ...


@attrs.define(eq=False, repr=False)
class Owners:
    """The references of one job with their roles. `holder` names it in leak reports, `acquired` counts all it took."""

    holder: str
    held: list[tuple[str, OwnedResource]] = attrs.field(factory=list, init=False)
    acquired: int = attrs.field(default=0, init=False)

    def hold(self, role: str, things: Iterable[OwnedResource]) -> None:
        """Take one reference on each."""
        for thing in things:
            thing.hold(f"{self.holder} ({role})")
            self.held.append((role, thing))
            self.acquired += 1

    def release(self) -> None:
        """Drop every reference, the latest first; a second call drops nothing."""
        while self.held:
            role, thing = self.held.pop()
            thing.drop(f"{self.holder} ({role})")
