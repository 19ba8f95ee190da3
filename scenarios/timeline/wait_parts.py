"""Wait parts: what a transfer that is waited for was doing meanwhile, and what it lacked while it queued."""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import attrs

from tessbed.sim.transfer.cost import TransferCost


class Timestamps(Protocol):
    """A transfer's arrival, grant, start and end of data, and the tick at which it is done."""

    @property
    def arrival(self) -> int: ...
    @property
    def grant(self) -> int: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def done(self) -> int: ...


def transfer_parts(times: Timestamps, cost: TransferCost, lack: str) -> Iterator[tuple[str, int, int]]:
    """(resource, begin, end) of what a transfer does from its arrival to its completion; they touch.

    `lack` is what it queued for: "channel" or "credit".
    """
    set_up = times.grant + cost.s
    data = "memory port: data" if cost.c == cost.m else f"{cost.d} channel: data"
    yield f"{cost.d} {lack}: queue", times.arrival, times.grant
    yield f"{cost.d} channel: set-up", times.grant, set_up
    yield "memory port: queue", set_up, times.start
    yield data, times.start, times.end
    yield f"{cost.d} latency", times.end, times.done


def clipped(parts: Iterable[tuple[str, int, int]], low: int, high: int) -> Iterator[tuple[str, int, int]]:
    """What of the parts lies in [low, high); none of it is empty."""
    for resource, begin, end in parts:
        begin, end = max(begin, low), min(end, high)
        if begin < end:
            yield resource, begin, end


@attrs.frozen(eq=False)
class Credits:
    """When transfers of a pool took and gave back a credit, to distinguish a lack of credits from one of channels."""

    limit: int
    taken: Sequence[int]
    given: Sequence[int]

    @classmethod
    def of(cls, limit: int, transfers: Sequence[Timestamps]) -> "Credits":
        """Those of all transfers of a job in that pool."""
        return cls(limit, sorted(one.grant for one in transfers), sorted(one.done for one in transfers))

    def lack(self, grant: int) -> str:
        """What a transfer with this grant queued for, just before it."""
        held = bisect_right(self.taken, grant - 1) - bisect_right(self.given, grant - 1)
        return "credit" if held >= self.limit else "channel"


@attrs.define(eq=False)
class RecentCredits:
    """The same while transfers land one by one: it remembers those that can matter to one that has not landed."""

    limit: int
    _held: deque[tuple[int, int]] = attrs.field(factory=deque, init=False)

    def learn(self, transfer: Timestamps) -> None:
        """A transfer has landed."""
        self._held.append((transfer.grant, transfer.done))

    def forget(self, before: int) -> None:
        """No transfer that has not landed has its grant before that tick."""
        while self._held and self._held[0][1] < before:
            self._held.popleft()

    def lack(self, grant: int, unlanded: int) -> str:
        """What a transfer with this grant queued for; `unlanded` transfers with an earlier one have not landed."""
        held = unlanded
        for taken, done in reversed(self._held):  # they landed in the order of their ends
            if done < grant:
                break
            held += taken < grant
        return "credit" if held >= self.limit else "channel"
