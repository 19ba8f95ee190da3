"""A transfer stream: one worker's transfers of one direction: their queue, and the statistics of those completed.

Times are summed in batches, and so is what the transfer costs count, once for all transfers of one transfer cost.

A drain whose bytes have all moved before its C, and for which nobody waits, ends *quietly*: nothing happens at C, so
nothing is in SimPy's queue for it. It is over when its C has passed (`over_by`), and is accounted for when the stream
is next looked at. Should its worker come to wait for it, it gets its event, in the place that was reserved for it.
"""

from collections import Counter, deque
from collections.abc import Sequence
from operator import mul
from typing import Any, TypeVar

import attrs
from simpy import Environment

from tessbed.sim.dma.channel_pool import Pool
from tessbed.sim.dma.wait_state import WaitState
from tessbed.sim.errors import HazardError
from tessbed.sim.events import event_queue
from tessbed.sim.stats import WORD, Digest, Traffic
from tessbed.sim.transfer.cost import TransferCost

T = TypeVar("T")
BATCH = 1024
FIELDS = 4
"""What is kept of each transfer until it is accounted for: number, G, C, cost."""


@attrs.define(eq=False)
class MemoryPort:
    """A memory port, reserved until `free`; busy while reserved."""

    name: str
    free: int = 0
    busy_ticks: int = 0


@attrs.define(eq=False)
class TransferStream:
    """`latency` is from data end to done, the same for all. `moves` is False where ticks are counted and no byte moves.

    `zero` is the tick of the launch; the sums are of absolute ticks. `halted` stops every further effect for good.
    `unfinished` and `awaited` are the wait state's own, which never takes others: each transfer looks at them. `quiet`
    has what ends without an event, by the sequence in the event queue that it would have.
    """

    env: Environment
    wait_state: WaitState
    kind: str
    pool: Pool
    port: MemoryPort
    latency: int
    zero: int
    moves: bool
    worker: int = attrs.field(init=False)
    unfinished: dict[int, Any] = attrs.field(init=False)
    awaited: set[int] = attrs.field(init=False)
    write: bool = attrs.field(init=False)
    halted: bool = attrs.field(default=False, init=False)
    requests: int = attrs.field(default=0, init=False)
    landed: int = attrs.field(default=0, init=False)
    traffic: Traffic = attrs.field(factory=Traffic, init=False)
    quiet: deque[tuple[int, Any]] = attrs.field(factory=deque, init=False)
    _sum_grant: int = attrs.field(default=0, init=False)
    _sum_done: int = attrs.field(default=0, init=False)
    _weighted_done: int = attrs.field(default=0, init=False)
    _single: list[Any] = attrs.field(factory=list, init=False)
    _transfer_costs: list[TransferCost] = attrs.field(factory=list, init=False)
    _shared: list[tuple[TransferCost, ...]] = attrs.field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self.worker, self.write = self.wait_state.worker, self.kind == "write"
        self.unfinished, self.awaited = self.wait_state.unfinished, self.wait_state.awaited

    def land(self, inflight: Any) -> None:
        """A transfer is done."""
        seq, grant, done, fault = inflight.seq, inflight.grant, inflight.done, inflight.fault
        if not inflight.arrival <= grant <= inflight.start < inflight.end <= done:
            raise HazardError(f"transfer {inflight.key}: an effect precedes its cause")
        del self.unfinished[seq]
        self._single += inflight.number, grant, done, inflight.cost
        if fault is not None and self.moves:
            self.traffic.due_bytes -= inflight.withheld_bytes
        if len(self._single) >= FIELDS * BATCH:
            self.book()
        if fault is not None or seq in self.awaited:
            self.wait_state.landed(inflight)

    def land_quietly(self, inflight: Any) -> None:
        """All bytes of a drain have moved, and nobody waits for its end: it needs no event."""
        self.quiet.append((event_queue.reserve_sequence(self.env), inflight))

    def land_over(self, now: int) -> None:
        """Land those that have ended quietly by `now`, as far as those before them have."""
        quiet = self.quiet
        while quiet and quiet[0][1].done <= now:
            _, inflight = quiet.popleft()
            self.traffic.moved_bytes += inflight.movement.moved_bytes
            self.land(inflight)

    def expect(self, awaited: Sequence[int]) -> None:
        """The worker waits for these: none of them ends quietly."""
        for entry in [entry for entry in self.quiet if entry[1].seq in awaited]:
            self.quiet.remove(entry)
            turn, inflight = entry
            event_queue.post_reserved(self.env, inflight.done, turn, inflight)

    def land_group(self, group: Any) -> None:
        """A group is done as a whole."""
        del self.unfinished[group.seq]
        numbers = range(group.number, group.number + group.transfers)
        self._add(numbers, group.grants, group.dones, group.transfer_costs)
        self.traffic.moved_bytes += group.moved_bytes
        if group.fault is not None and self.moves:
            self.traffic.due_bytes -= group.withheld_bytes(range(group.transfers))
        self.wait_state.landed(group)

    def settle(self, now: int) -> None:
        """The job ends at `now`: account for what is done, also of a group that is still under way."""
        self.quiet = deque(sorted(self.quiet, key=lambda entry: entry[1].done))
        self.land_over(now)
        for group in self.unfinished.values():
            if group.stream is self:
                landed = group.landed(now)
                for i in landed:
                    self._add([group.number + i], [group.grants[i]], [group.dones[i]], [group.transfer_costs[i]])
                if landed and self.moves:
                    self.traffic.due_bytes -= group.withheld_bytes(landed)
                self.traffic.moved_bytes += group.moved_bytes
        self.book()

    def book(self) -> None:
        """Bring the sums, `traffic` and the port up to date."""
        if self._single:
            numbers, grants, dones, transfer_costs = (self._single[field::FIELDS] for field in range(FIELDS))
            self._single.clear()
            self._add(numbers, grants, dones, transfer_costs)
        traffic, shared = self.traffic, _times(self._shared)
        for cost, transfers in _times(self._transfer_costs) + [(cost, n) for costs, n in shared for cost in costs]:
            self.port.busy_ticks += transfers * cost.m
            traffic.transfers += transfers
            traffic.descriptors += transfers * len(cost.segments)
            traffic.payload_bytes += transfers * cost.payload_bytes
            traffic.port_bytes += transfers * cost.port_bytes
            traffic.bursts += transfers * cost.bursts
            traffic.pages += transfers * cost.pages
            traffic.rmw_granules += transfers * cost.partial_granules
            traffic.due_bytes += transfers * cost.payload_bytes if self.moves else 0
        self._transfer_costs.clear()
        self._shared.clear()

    def _add(
        self,
        numbers: Sequence[int],
        grants: Sequence[int],
        dones: Sequence[int],
        transfer_costs: Sequence[TransferCost],
    ) -> None:
        """Account for transfers that are done; costs in a tuple are shared by many groups."""
        self.landed += len(numbers)
        self._sum_grant += sum(grants)
        self._sum_done += sum(dones)
        self._weighted_done += sum(map(mul, numbers, dones)) - self.zero * sum(numbers)
        if type(transfer_costs) is tuple:
            self._shared.append(transfer_costs)
        else:
            self._transfer_costs += transfer_costs
        if len(self._transfer_costs) + len(self._shared) >= BATCH:
            self.book()

    @property
    def busy_ticks(self) -> int:
        """Channel ticks, from grant to data end."""
        return self._sum_done - self.latency * self.landed - self._sum_grant

    @property
    def digest(self) -> Digest:
        """The times of the landed, from the launch."""
        start, done = self.zero * self.landed, self._sum_done - self.zero * self.landed
        sums = (self._sum_grant - start, done - self.latency * self.landed, done)
        return Digest(self.landed, *sums, self._weighted_done & WORD)


def _times(some: Sequence[T]) -> list[tuple[T, int]]:
    """Each of them, as an object, once, and how often it is there."""
    numbers = [*map(id, some)]
    objects = dict(zip(numbers, some, strict=True))
    return [(objects[number], times) for number, times in Counter(numbers).items()]
