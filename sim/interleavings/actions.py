"""Threads: sequences of actions without ticks, and the bytes that each action touches.

A core is a thread, and so are the two halves of a transfer: its data (sampled, then delivered) and its partial granules
(each read, then written whole). Actions of different threads may come in any order; two that touch no common byte, or
only read them, may change places without anybody noticing.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import attrs

from tessbed.sim.checkers.granule_races import Write, granules_of, merged
from tessbed.sim.checkers.scratch_hazards import span
from tessbed.sim.spec.device_spec import DeviceSpec
from tessbed.sim.transfer.descriptor import Descriptor
from tessbed.sim.transfer.movement import Movement

MEMORY = -1
EVERYTHING = (0, 1 << 62)
Name = tuple[int, int, int]
"""A thread's name: core or worker; 0 or 1 + the transfer's sequence; the half."""
HOST: Name = (1 << 30, 0, 0)


class ByteAccess(NamedTuple):
    """Bytes in MEMORY, or in the scratch of a core."""

    space: int
    low: int
    high: int
    write: bool


ByteAccesses = tuple[ByteAccess, ...]


@attrs.define(eq=False)
class Transfer:
    """A transfer under way: its halves that are not over, and the numbers of the actions that ended the others."""

    seq: int
    halves: int = 0
    ended: list[int] = attrs.field(factory=list, init=False)


class Action(NamedTuple):
    """Something that happens at once: what it touches, what it does, the transfers that must be over before it."""

    touches: ByteAccesses
    happen: Callable[[], None]
    after: Sequence[Transfer] = ()


@attrs.define(eq=False)
class Thread:
    """Actions still to come; `causes` are the numbers of actions that the next one follows."""

    name: Name
    actions: Iterator[Action]
    causes: list[int] = attrs.field(factory=list)
    next: Action | None = attrs.field(default=None, init=False)


def actions_conflict(some: ByteAccesses, others: ByteAccesses) -> bool:
    """Whether two actions touch a common byte and one of them writes."""
    return any(
        a.space == b.space and a.low < b.high and b.low < a.high and (a.write or b.write) for a in some for b in others
    )


@attrs.frozen(eq=False)
class Halves:
    """The actions of one transfer's two halves. Touches are worked out only where they are `wanted`."""

    movement: Movement
    core: int
    spec: DeviceSpec
    wanted: bool

    def data(self, tick: Callable[[], int]) -> Iterator[Action]:
        """The source is sampled, then the bytes that fill whole granules are delivered."""
        source, target = self._sides() if self.wanted else ((), ())
        yield Action(source, lambda: self.movement.sample(tick()))
        yield Action(target, lambda: self.movement.deliver(tick()))

    def partials(self) -> Iterator[Action]:
        """Segment by segment, partial granules are read, then written whole."""
        movement = self.movement
        source = self._sides()[0] if self.wanted else ()
        for index, partial in enumerate(movement.partial):
            if partial:
                movement.segment = index
                granules = self._granules(movement.descriptors[index : index + 1]) if self.wanted else ()
                yield Action(tuple(touch._replace(write=False) for touch in granules), movement.read_background)
                yield Action((*source, *granules), movement.write_partial)

    def _sides(self) -> tuple[ByteAccesses, ByteAccesses]:
        """What sampling and what delivering touches."""
        moved = self.movement.descriptors
        inside = tuple(ByteAccess(self.core, *span(d), self.movement.kind == "read") for d in moved)
        if self.movement.kind == "write":
            return inside, self._granules(moved)
        reach = [(d.address, d.address + (d.rows - 1) * d.pitch + d.row_bytes) for d in moved]
        return tuple(ByteAccess(MEMORY, *where, False) for where in reach), inside

    def _granules(self, descriptors: Sequence[Descriptor]) -> ByteAccesses:
        size = self.spec.write_unit_bytes
        low, high, _ = merged(granules_of([Write(0, 0, 0, 0, descriptors, 0)], size))
        ranges = zip(low.tolist(), high.tolist(), strict=True)
        return tuple(ByteAccess(MEMORY, first * size, (last + 1) * size, True) for first, last in ranges)
