"""The movement of a transfer's bytes: sampled at one tick, delivered at another, granules merged between.

A gather samples memory and delivers to scratch. A drain samples its slot and delivers full granules; a partial
granule is different: its background is read at the segment's data start and it is written whole at the
segment's data end, with payload sampled by then, in every policy. One vectorised copy for each descriptor.
Where nothing happens before C and no granule is partial, each descriptor is one copy, and no Movement is needed.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import attrs
import numpy as np

from tessbed.sim.errors import HazardError
from tessbed.sim.transfer.descriptor import Descriptor
from tessbed.sim.transfer.memory import DeviceMemory, Mapping
from tessbed.sim.transfer.write_granule import GridSplit, RunSplit, split_rows

Place = tuple[memoryview, int]
"""The storage (whole granules, uint8) that holds a descriptor's first byte, and where in it."""
Copy = tuple[Any, Any]
"""Views of the bytes that one descriptor moves, where they go to and where they come from."""


class ScratchOwner(Protocol):
    """A worker, as far as its scratch goes: the array, and a view of it for quick copies."""

    scratch: np.ndarray
    view: memoryview


def locate(memory: DeviceMemory, descriptor: Descriptor, scratch: np.ndarray, write: bool) -> Place:
    """The place of a descriptor; raises MemoryFault, and HazardError where it misuses the scratch."""
    address, _, rows, row_bytes, pitch, _ = descriptor
    check_scratch(descriptor, scratch.size, write)
    return memory.locate(address, (rows - 1) * pitch + row_bytes, write)


def check_scratch(descriptor: Descriptor, scratch_bytes: int, write: bool) -> None:
    """Raise HazardError for a descriptor that leaves the scratch, or gathers two rows into one place of it."""
    _, low, rows, row_bytes, _, scratch_pitch = descriptor
    steps = rows - 1
    if low < 0 or low + steps * scratch_pitch + row_bytes > scratch_bytes:
        raise HazardError(f"a transfer of {rows} x {row_bytes} bytes leaves the scratch at {low}")
    if steps and not write and scratch_pitch < row_bytes:
        raise HazardError(f"a gather of {row_bytes}-byte rows overlaps itself at {scratch_pitch}")


def fit(mapping: Mapping, descriptors: Sequence[Descriptor], scratch_bytes: int, write: bool) -> bool:
    """Whether all descriptors have their place in that mapping and misuse no scratch."""
    base, end = mapping.address, mapping.end
    for address, low, rows, row_bytes, pitch, scratch_pitch in descriptors:
        behind, behind_scratch = address + row_bytes, low + row_bytes
        if rows > 1:
            if scratch_pitch < row_bytes and not write:
                return False
            behind += (rows - 1) * pitch
            behind_scratch += (rows - 1) * scratch_pitch
        if address < base or behind > end or low < 0 or behind_scratch > scratch_bytes:
            return False
    return mapping.writable or not write


def places_in(mapping: Mapping, descriptors: Sequence[Descriptor]) -> list[Place]:
    """The places of descriptors that all have theirs in that mapping."""
    view, base = mapping.view, mapping.address
    if len(descriptors) == 1:
        return [(view, descriptors[0][0] - base)]
    return [(view, descriptor[0] - base) for descriptor in descriptors]


def connect(mapping: Mapping, descriptor: Descriptor, owner: ScratchOwner, write: bool) -> Copy:
    """The copy that a descriptor represents, which has its place in that mapping."""
    address, low, rows, row_bytes, pitch, scratch_pitch = descriptor
    offset = address - mapping.address
    if rows == 1 or pitch == row_bytes == scratch_pitch:
        size = rows * row_bytes
        outside, inside = mapping.view[offset : offset + size], owner.view[low : low + size]
    else:
        outside = _rows(mapping.array, offset, rows, row_bytes, pitch)
        inside = _rows(owner.scratch, low, rows, row_bytes, scratch_pitch)
    return (outside, inside) if write else (inside, outside)


def copy(mapping: Mapping, descriptor: Descriptor, owner: ScratchOwner, write: bool) -> int:
    """Make the copy that a descriptor represents, which has its place in that mapping; returns how many bytes."""
    address, low, rows, row_bytes, pitch, scratch_pitch = descriptor
    offset = address - mapping.address
    size = rows * row_bytes
    if rows == 1 or pitch == row_bytes == scratch_pitch:
        if write:
            mapping.view[offset : offset + size] = owner.view[low : low + size]
        else:
            owner.view[low : low + size] = mapping.view[offset : offset + size]
    else:
        outside = _rows(mapping.array, offset, rows, row_bytes, pitch)
        inside = _rows(owner.scratch, low, rows, row_bytes, scratch_pitch)
        target, source = (outside, inside) if write else (inside, outside)
        target[...] = source
    return size


def perform(copies: Sequence[Copy]) -> int:
    """Move the bytes now; returns how many."""
    moved = 0
    for target, source in copies:
        target[:] = source
        moved += target.nbytes
    return moved


@attrs.define(eq=False)
class Movement:
    """Bytes that move in more than one step. `move_ticks` are t1 and t2 where they are known before the grant.

    `samples` are the source bytes of each descriptor, rows one after the other, once taken. `segment` is the one
    whose partial granules are under way, by `split`, with `background` read. `has_full` says whether a segment up to
    it fills a granule whole, which is written when the bytes are delivered.
    """

    kind: str
    descriptors: Sequence[Descriptor]
    places: Sequence[Place]
    scratch: memoryview
    granule: int
    partial: Sequence[bool]
    move_ticks: tuple[int, int] | None
    samples: list[np.ndarray] | None = attrs.field(default=None, init=False)
    sampled_at: int = attrs.field(default=-1, init=False)
    delivered_at: int = attrs.field(default=-1, init=False)
    segment: int = attrs.field(default=0, init=False)
    has_full: bool = attrs.field(default=False, init=False)
    split: RunSplit | GridSplit = attrs.field(init=False)
    background: Any = attrs.field(init=False)
    moved_bytes: int = attrs.field(default=0, init=False)

    def sample(self, tick: int) -> None:
        """The source bytes are taken at `tick`."""
        self.sampled_at = tick
        self.samples = [self._take(descriptor, place) for descriptor, place in self._moving()]

    def deliver(self, tick: int) -> None:
        """The bytes arrive at `tick` (sampled then if they were not before), those of partial granules apart."""
        self.delivered_at = tick
        if self.sampled_at < 0:
            self.sampled_at = tick
        if True in self.partial:
            self._publish()
        elif self.samples is not None:
            self._put(self.samples)
        else:
            self._put([self._take(d, place) for d, place in self._moving()])

    def read_background(self) -> None:
        """The segment's data starts: read its partial granules."""
        segment = self.segment
        storage, offset = self.places[segment]
        self.split = split = self._split(segment, offset)
        self.has_full = self.has_full or split.has_full
        self.background = split.read(storage, offset)

    def write_partial(self) -> None:
        """The segment's data ends: write its partial granules whole, and go to the next segment."""
        segment = self.segment
        storage, offset = self.places[segment]
        self.moved_bytes += self.split.merge(storage, offset, self.background, self._payload(segment))
        self.segment = segment + 1

    def _moving(self) -> Iterator[tuple[Descriptor, Place]]:
        return zip(self.descriptors, self.places, strict=False)

    def _take(self, d: Descriptor, place: Place) -> np.ndarray:
        """A copy of the descriptor's source bytes, its rows one after the other."""
        return self._slot(d) if self.kind == "write" else _rows(*place, *d[2:5]).copy().reshape(-1)

    def _slot(self, d: Descriptor) -> np.ndarray:
        """A copy of the descriptor's payload, its rows one after the other."""
        return _rows(self.scratch, d.scratch, d.rows, d.row_bytes, d.scratch_pitch).copy().reshape(-1)

    def _payload(self, index: int) -> memoryview:
        """The payload of a descriptor as it is now, its rows one after the other; not to be kept."""
        if self.samples is not None:
            return self.samples[index].data
        _, low, rows, row_bytes, _, scratch_pitch = self.descriptors[index]
        if rows == 1 or scratch_pitch == row_bytes:
            return self.scratch[low : low + rows * row_bytes]
        return _rows(self.scratch, low, rows, row_bytes, scratch_pitch).flatten().data

    def _split(self, index: int, offset: int) -> RunSplit | GridSplit:
        """How a descriptor whose bytes are at `offset` covers granules."""
        _, _, rows, row_bytes, pitch, _ = self.descriptors[index]
        return split_rows(offset % self.granule, rows, row_bytes, pitch, self.granule)

    def _put(self, samples: list[np.ndarray]) -> None:
        for (d, (storage, offset)), sample in zip(self._moving(), samples, strict=True):
            if self.kind == "read":
                target = _rows(self.scratch, d.scratch, d.rows, d.row_bytes, d.scratch_pitch)
            else:
                target = _rows(storage, offset, d.rows, d.row_bytes, d.pitch)
            target[...] = sample.reshape(target.shape)
            self.moved_bytes += target.size

    def _publish(self) -> None:
        for index, (storage, offset) in enumerate(self.places):
            split = self._split(index, offset)
            if split.has_full:
                self.moved_bytes += split.publish(storage, offset, self._payload(index))


def _rows(storage: Any, offset: int, rows: int, row_bytes: int, pitch: int) -> np.ndarray:
    """Rows of some storage in place, shape (rows, row_bytes)."""
    return np.ndarray((rows, row_bytes), np.uint8, storage, offset, (pitch, 1))
