"""A read batch: plain reads that are requested and waited for together, as one entry in the queues.

## Why a batch is its reads

The reads of a wait group arrive in one tick with sequences in a row, so under `fifo` nothing comes between them in
their pool: one place in the queue is that of all, and its key is that of the next read to be granted. Nobody looks at
one read by itself: the worker waits for all of them. So of each only G and C are kept. A read that faults from the
start, moves its bytes early, is traced, or takes turns with those of other workers is an `InFlightTransfer` instead.

Where bytes move, each read is copied at its own C, among the effects of other transfers in the order of grants. Where
none moves, only the last C is an event.

## States of a batch

| state | known by | in SimPy's queue |
|---|---|---|
| waits in its pool | `dones` is empty | no |
| partly granted | `dones` is shorter than `transfers` | at the first C still to be copied, where bytes move |
| granted | as many `dones` as `transfers`; `causes_at` is known | at the first C still to be copied, or at the last C |
| landed | `left` is 0 | no: `land_group` has informed the worker's stream |

## Runs

Of a `DescriptorRun` the first and the last read say whether all are plain, its costs are those of all equal runs, and
copies that follow each other are one copy, where no two reads have a byte of scratch in common.

## Invariants

1. `upcoming` has the C of granted reads that are not copied, in the order of grants; its C never fall. A read whose C
   is before the last one in there overtakes, with an alarm of its own.
2. Each read has taken its sequence number of the event queue at its grant, also where it is posted later: so its copy
   comes where it would have come by itself. A copy that would be next in the queue anyway is done at once, except the
   last: the worker wakes in that tick, so the clock must be there.
3. All reads are in `mapping`, which was looked up when the batch was requested, perhaps before its arrival. If mappings
   change up to the arrival, `look_up_again` finds each read's place or fault anew; ticks do not depend on it. A fault
   is met at its read's C, as by itself.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import count
from operator import le

import attrs
import numpy as np

from tessbed.sim.dma.channel_pool import FOREVER
from tessbed.sim.dma.inflight import InFlightTransfer
from tessbed.sim.dma.transfer_stream import TransferStream
from tessbed.sim.errors import DeviceFault, MemoryFault
from tessbed.sim.events import event_queue
from tessbed.sim.events.event_queue import Alarm, Calls, queue_entry
from tessbed.sim.spec.limits import PAGE_BYTES
from tessbed.sim.transfer.cost import CostTable, TransferCost
from tessbed.sim.transfer.descriptor import Descriptor
from tessbed.sim.transfer.descriptor_run import DescriptorRun
from tessbed.sim.transfer.memory import DeviceMemory, Mapping
from tessbed.sim.transfer.movement import Place, locate


@queue_entry
@attrs.define(eq=False)
class ReadBatch:
    """Reads of one stream, numbered from `seq` on among the worker's transfers and from `number` on among the stream's.

    `grants` and `dones` are G and C of those that are granted. `upcoming` has the C, turn and index of those that are
    still to be copied in the order of their grants, `left` counts all that are still to be copied. `causes_at` is when
    the end of the group can cause a request, as far as that is known. All reads are in `mapping`, unless the mappings
    change before their arrival: then `anew` has the place or the fault of each, and `fault` is one of them.
    """

    stream: TransferStream
    seq: int
    number: int
    arrival: int
    transfer_costs: Sequence[TransferCost]
    descriptors: Sequence[Descriptor]
    mapping: Mapping
    transfers: int
    left: int = attrs.field(init=False)
    grants: list[int] = attrs.field(factory=list, init=False)
    dones: list[int] = attrs.field(factory=list, init=False)
    upcoming: deque[tuple[int, int, int]] = attrs.field(factory=deque, init=False)
    callbacks: Calls | None = attrs.field(init=False)
    moved_bytes: int = attrs.field(default=0, init=False)
    causes_at: int = attrs.field(default=FOREVER, init=False)
    _last: int = attrs.field(default=-1, init=False)
    _turn: int = attrs.field(default=-1, init=False)
    anew: "Lookup | None" = attrs.field(default=None, init=False)
    fault: DeviceFault | None = attrs.field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self.left = self.transfers

    @property
    def worker(self) -> int:
        """Whose it is."""
        return self.stream.worker

    @property
    def key(self) -> tuple[int, int, int]:
        """The order of arrival of the read that is to be granted next."""
        return (self.arrival, self.stream.worker, self.seq + len(self.grants))

    def withheld_bytes(self, indices: Iterable[int]) -> int:
        """What faults keep from moving, of the reads with these indices."""
        faults = self.anew.faults if self.anew is not None else {}
        return sum(self.transfer_costs[index].payload_bytes for index in indices if index in faults)

    def look_up_again(self, memory: DeviceMemory) -> None:
        """The mappings have changed before the reads arrive: find the place of each anew."""
        self.anew = lookup = look_up_mapping(memory, self.descriptors, self.stream.wait_state.scratch)
        self.fault = next(iter(lookup.faults.values()), None)
        self._expect_faults(lookup, 0)

    def waiting(self) -> list[InFlightTransfer]:
        """The reads that have no grant."""
        rest = range(len(self.grants), len(self.transfer_costs))
        stream, number = self.stream, self.number
        return [
            InFlightTransfer(
                stream, self.seq + i, number + i, self.arrival, self.transfer_costs[i], (self.descriptors[i],)
            )
            for i in rest
        ]

    def over_by(self, tick: int) -> bool:
        """Whether it is known that all will be done by `tick`."""
        return len(self.dones) == self.transfers and self._last <= tick

    def landed(self, now: int) -> list[int]:
        """The indices of the reads that are done."""
        return [index for index, done in enumerate(self.dones) if done <= now]

    def in_flight(self, now: int) -> int:
        """How many reads are not done."""
        return len(self.transfer_costs) - len(self.landed(now))

    def granted(self, first: int, issue_ticks: int) -> None:
        """All from index `first` on have just been granted: put what that causes on the clock."""
        dones, moves = self.dones, self.stream.moves
        last = max(dones[first:] if first else dones)
        if moves:
            self._expect(first)
        elif last >= self._last:
            self._turn = event_queue.reserve_sequence(self.stream.env)
        if last > self._last:
            self._last = last
        if self.anew is not None:
            self._expect_faults(self.anew, first)
        if len(dones) == self.transfers:
            self.causes_at = self._last + issue_ticks
            if not moves:
                self._post_next(self._last, self._turn)

    def fall_due(self) -> None:
        """It is the C of one read, or of the last."""
        if self.stream.halted:
            return
        if self.stream.moves:
            self._copy_upcoming()
        else:
            self.left = 0
        if not self.left:
            self.stream.land_group(self)

    def _expect(self, first: int) -> None:
        env, upcoming, posted = self.stream.env, self.upcoming, bool(self.upcoming)
        dones, before = self.dones[first:] if first else self.dones, upcoming[-1][0] if posted else 0
        turns = event_queue.reserve_sequences(env, len(dones))
        if all(map(le, (before, *dones), dones)):
            upcoming.extend(zip(dones, turns, count(first), strict=False))
        else:
            for index, (done, turn) in enumerate(zip(dones, turns, strict=True), first):
                if upcoming and done < upcoming[-1][0]:
                    event_queue.post_reserved(env, done, turn, Alarm((lambda _, index=index: self._overtake(index),)))
                else:
                    upcoming.append((done, turn, index))
        if not posted:
            self._post_next(*upcoming[0][:2])

    def _expect_faults(self, lookup: "Lookup", first: int) -> None:
        """Those from index `first` on may have just been granted.

        Where no byte moves, each fault is met on the clock; else when its copy is due.
        """
        dones = self.dones
        for index in () if self.stream.moves else lookup.faults:
            if first <= index < len(dones):
                alarm = Alarm((lambda _, index=index: self._meet_fault(index),))
                event_queue.post(self.stream.env, dones[index], event_queue.EFFECT, alarm)

    def _meet_fault(self, index: int) -> None:
        """A read is done that perhaps has a fault."""
        wait_state = self.stream.wait_state
        if self.anew is not None and wait_state.fault is None and not self.stream.halted:
            wait_state.fault = self.anew.faults.get(index)

    def _post_next(self, tick: int, turn: int) -> None:
        self.callbacks = FALL_DUE
        event_queue.post_reserved(self.stream.env, tick, turn, self)

    def _copy_upcoming(self) -> None:
        """Copy what is due, and what would be next to happen anyhow but for the last: its tick is the worker's."""
        upcoming, wait_state = self.upcoming, self.stream.wait_state
        number = min(bisect_left(upcoming, event_queue.before_all(self.stream.env)), self.left - 1) or 1
        due = [upcoming.popleft() for _ in range(number)]
        (first_done, _, first), (last_done, _, last) = due[0], due[-1]
        if wait_state.packing:
            wait_state.pack_before(first_done)
        alone = not wait_state.packing or wait_state.packing[0][0] >= last_done
        if not (alone and last - first == number - 1 and self._copy_together(first, number)):
            for done, _, index in due:
                if wait_state.packing:
                    wait_state.pack_before(done)
                self._copy(index)
        self.left -= number
        if upcoming:
            self._post_next(*upcoming[0][:2])

    def _overtake(self, index: int) -> None:
        """A read is done before one that was granted before it."""
        if self.stream.halted:
            return
        self.stream.wait_state.pack_before(self.dones[index])
        self._copy(index)
        self.left -= 1
        if not self.left:
            self.stream.land_group(self)

    def _copy(self, index: int) -> None:
        if self.anew is not None:
            self._copy_from(self.anew.places.get(index), index)
            return
        address, low, rows, row_bytes, pitch, scratch_pitch = self.descriptors[index]
        mapping, stream = self.mapping, self.stream
        offset = address - mapping.address
        size = rows * row_bytes
        self.moved_bytes += size
        if rows == 1 or pitch == row_bytes == scratch_pitch:
            stream.wait_state.view[low : low + size] = mapping.view[offset : offset + size]
        else:
            shape = rows, row_bytes
            source = np.ndarray(shape, np.uint8, mapping.array, offset, (pitch, 1))
            np.ndarray(shape, np.uint8, stream.wait_state.scratch, low, (scratch_pitch, 1))[...] = source

    def _copy_together(self, first: int, number: int) -> bool:
        """Copy so many reads from index `first` on as one, if they are a run without a common byte of scratch."""
        run, stream = self.descriptors, self.stream
        if type(run) is not DescriptorRun or self.anew is not None or not run.ascends:
            return False
        address, low, rows, row_bytes, pitch, scratch_pitch = run.first
        offset, low = address + first * run.address_step - self.mapping.address, low + first * run.scratch_step
        size = run.dense_bytes
        if size:
            size *= number
            stream.wait_state.view[low : low + size] = self.mapping.view[offset : offset + size]
        else:
            shape, size = (number, rows, row_bytes), number * rows * row_bytes
            source = np.ndarray(shape, np.uint8, self.mapping.array, offset, (run.address_step, pitch, 1))
            target = np.ndarray(shape, np.uint8, stream.wait_state.scratch, low, (run.scratch_step, scratch_pitch, 1))
            target[...] = source
        self.moved_bytes += size
        return True

    def _copy_from(self, place: Place | None, index: int) -> None:
        """Copy a read that was looked up again; without a place it has a fault."""
        if place is None:
            self._meet_fault(index)
            return
        _, low, rows, row_bytes, pitch, scratch_pitch = self.descriptors[index]
        source = np.ndarray((rows, row_bytes), np.uint8, *place, (pitch, 1))
        np.ndarray((rows, row_bytes), np.uint8, self.stream.wait_state.scratch, low, (scratch_pitch, 1))[...] = source
        self.moved_bytes += rows * row_bytes


FALL_DUE: Calls = (ReadBatch.fall_due,)


@attrs.frozen
class Lookup:
    """The places and the faults of reads, by their indices."""

    places: dict[int, Place]
    faults: dict[int, DeviceFault]


def look_up_mapping(memory: DeviceMemory, descriptors: Sequence[Descriptor], scratch: np.ndarray) -> Lookup:
    """The place of each read, or its fault."""
    lookup = Lookup({}, {})
    for index, descriptor in enumerate(descriptors):
        try:
            lookup.places[index] = locate(memory, descriptor, scratch, False)
        except MemoryFault as fault:
            lookup.faults[index] = DeviceFault(fault.code, fault.address)
    return lookup


def batch_of(
    stream: TransferStream,
    seq: int,
    arrival: int,
    descriptors: Sequence[Descriptor],
    costs: CostTable,
    mapping: Mapping,
) -> ReadBatch | None:
    """The group of these reads; None where one of them is not plain: it leaves the mapping or misuses the scratch."""
    if type(descriptors) is DescriptorRun:
        return _batch_of_run(stream, seq, arrival, descriptors, costs, mapping)
    known, capacity, transfer_costs = costs.reads, stream.wait_state.scratch.size, []
    base, end = mapping.address, mapping.end
    for descriptor in descriptors:
        address, low, rows, row_bytes, pitch, scratch_pitch = descriptor
        cost = known.get((address % PAGE_BYTES, rows, row_bytes, pitch, scratch_pitch))
        transfer_costs.append(costs.read(descriptor) if cost is None else cost)
        steps = rows - 1
        if address < base or address + steps * pitch + row_bytes > end:
            return None
        if low < 0 or low + steps * scratch_pitch + row_bytes > capacity or (steps and scratch_pitch < row_bytes):
            return None
    return ReadBatch(
        stream, seq, stream.requests + 1, arrival, transfer_costs, descriptors, mapping, len(transfer_costs)
    )


def _batch_of_run(
    stream: TransferStream, seq: int, arrival: int, run: DescriptorRun, costs: CostTable, mapping: Mapping
) -> ReadBatch | None:
    """The group of the reads of a run, of which the first and the last say whether all are plain."""
    transfer_costs = costs.read_run(run)
    (low, end), (scratch_low, scratch_end) = run.memory_reach, run.reach
    _, _, rows, row_bytes, _, scratch_pitch = run.first
    if low < mapping.address or end > mapping.end:
        return None
    if scratch_low < 0 or scratch_end > stream.wait_state.scratch.size or (rows > 1 and scratch_pitch < row_bytes):
        return None
    return ReadBatch(stream, seq, stream.requests + 1, arrival, transfer_costs, run, mapping, run.length)
