"""A transfer in flight: its requester, its timestamps, and when its data moves.

Arrival a, grant G, data start P, data end E, done C. The data of a gather, and of a drain's full granules, is
sampled at t1 and delivered at t2, a <= t1 <= t2 <= C, by the policy `data_movement`. Between arrival and grant
nothing can move, so the `seeded` policy picks a itself or ticks of [G, C].
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import attrs

from tessbed.sim.dma.transfer_stream import TransferStream
from tessbed.sim.errors import DeviceFault
from tessbed.sim.events.event_queue import Calls, queue_entry
from tessbed.sim.hash_random import draw
from tessbed.sim.stats import TransferRecord
from tessbed.sim.transfer.cost import TransferCost
from tessbed.sim.transfer.descriptor import Descriptor
from tessbed.sim.transfer.memory import Mapping
from tessbed.sim.transfer.movement import Movement

AT_ARRIVAL, AT_DONE = -1, -2  # ticks of moves that are named before they are known
TransferTicks = tuple[int, int]
ENDPOINTS: tuple[TransferTicks, ...] = ((AT_ARRIVAL, AT_ARRIVAL), (AT_ARRIVAL, AT_DONE), (AT_DONE, AT_DONE))
AT_ISSUE, _, AT_COMPLETION = ENDPOINTS
FIXED: dict[str, TransferTicks] = {"at_issue": AT_ISSUE, "at_completion": AT_COMPLETION}
"""(t1, t2) by policy; the policy "seeded" is not here."""


@queue_entry
@attrs.define(eq=False)
class InFlightTransfer:
    """One transfer's run state; ticks are absolute, -1 until known. It is an event of the clock: its next step.

    `seq` counts all transfers of the worker from 0, `number` those of the direction from 1. Where one copy at C is all
    there is to do, all descriptors are in `mapping`, or `places` has a copy for each that may move. Else `places` has
    the place of each that may move, and `movement` moves the bytes.
    """

    stream: TransferStream
    seq: int
    number: int
    arrival: int
    cost: TransferCost
    descriptors: tuple[Descriptor, ...]
    mapping: Mapping | None = attrs.field(default=None, init=False)
    places: Sequence[Any] = attrs.field(default=(), init=False)
    fault: DeviceFault | None = attrs.field(default=None, init=False)
    movement: Movement | None = attrs.field(default=None, init=False)
    grant: int = attrs.field(default=-1, init=False)
    channel: int = attrs.field(init=False)
    start: int = attrs.field(init=False)
    end: int = attrs.field(init=False)
    done: int = attrs.field(init=False)
    callbacks: Calls | None = attrs.field(init=False)
    moved_bytes: ClassVar[int] = 0
    transfers: ClassVar[int] = 1

    @property
    def worker(self) -> int:
        """Whose it is."""
        return self.stream.worker

    @property
    def key(self) -> tuple[int, int, int]:
        """The order of arrival."""
        return (self.arrival, self.stream.worker, self.seq)

    def over_by(self, tick: int) -> bool:
        """Whether it is known that it will be done by `tick`."""
        return self.grant >= 0 and self.done <= tick

    def landed(self, now: int) -> list[int]:
        """Nothing of it; see `ReadBatch`."""
        return []

    def in_flight(self, now: int) -> int:
        """One transfer, unless it has ended quietly."""
        return 0 if self.over_by(now) else 1

    def waiting(self) -> list["InFlightTransfer"]:
        """Itself; see `ReadBatch`."""
        return [self]

    @property
    def withheld_bytes(self) -> int:
        """What a fault keeps from moving: everything from the faulting descriptor on."""
        return sum(segment.payload_bytes for segment in self.cost.segments[len(self.places) :])


def early(seed: int, worker: int, seq: int) -> TransferTicks | None:
    """(t1, t2) by chance, when both are endpoints, as AT_ARRIVAL or AT_DONE; None when they lie between G and C."""
    chance = draw(seed, worker, seq)
    return ENDPOINTS[(chance >> 1) % len(ENDPOINTS)] if chance & 1 else None


def between(seed: int, inflight: InFlightTransfer) -> TransferTicks:
    """(t1, t2) drawn from the ticks of [G, C]."""
    span = inflight.done - inflight.grant + 1
    ticks = [inflight.grant + draw(seed, inflight.worker, inflight.seq, n) % span for n in (1, 2)]
    return min(ticks), max(ticks)


def record_of(inflight: InFlightTransfer, zero: int) -> TransferRecord:
    """A finished transfer for the trace; `zero` is the tick of the launch."""
    return TransferRecord(
        worker=inflight.worker,
        seq=inflight.seq,
        kind=inflight.cost.d,
        arrival=inflight.arrival - zero,
        channel=inflight.channel,
        pool=inflight.stream.pool.name,
        grant=inflight.grant - zero,
        start=inflight.start - zero,
        end=inflight.end - zero,
        done=inflight.done - zero,
        payload_bytes=inflight.cost.payload_bytes,
    )
