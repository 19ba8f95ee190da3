"""The movement of one transfer's bytes: sampled at one moment, delivered at another, granules merged between.

A gather samples memory and delivers to scratch. A drain samples its slot and delivers full granules; a partial
granule is different: its background is read at the segment's data start and it is written whole at the
segment's data end, with payload sampled by then, in every policy. One vectorised copy for each descriptor.
"""

from collections.abc import Iterator, Sequence

import attrs
import numpy as np

from tessbed.sim.errors import HazardError, MemoryFault
from tessbed.sim.granule import GridSplit, RunSplit, split_rows
from tessbed.sim.memory import DeviceMemory
from tessbed.sim.transfer import Descriptor, Fold


@attrs.define(eq=False)
class Movement:
    """Bytes under way: `places` are (storage, offset) of the descriptors that may move; `moved_bytes` counts."""

    kind: str
    descriptors: Sequence[Descriptor]
    fold: Fold
    scratch: np.ndarray
    granule: int
    places: list[tuple[np.ndarray, int]] = attrs.field(factory=list, init=False)
    samples: list[np.ndarray] | None = attrs.field(default=None, init=False)
    backgrounds: dict[int, np.ndarray] = attrs.field(factory=dict, init=False)
    moved_bytes: int = attrs.field(default=0, init=False)

    def resolve(self, memory: DeviceMemory) -> MemoryFault | None:
        """Find the storage of each descriptor, up to the first that faults; returns that fault."""
        write, locate, found = self.kind == "write", memory.locate, self.places.append
        reach = self.scratch.size
        for address, low, rows, row_bytes, pitch, scratch_pitch in self.descriptors:
            steps = rows - 1
            if low < 0 or low + steps * scratch_pitch + row_bytes > reach:
                raise HazardError(f"a transfer of {rows} x {row_bytes} bytes leaves the scratch at {low}")
            if steps and not write and scratch_pitch < row_bytes:
                raise HazardError(f"a gather of {row_bytes}-byte rows overlaps itself at {scratch_pitch}")
            try:
                found(locate(address, steps * pitch + row_bytes, write))
            except MemoryFault as fault:
                return fault
        return None

    def sample(self) -> None:
        """Take the source bytes now; `deliver` will use these."""
        if self.kind == "write":
            self.samples = [self._slot(descriptor) for descriptor, _ in self._moving()]
        else:
            self.samples = [_rows(*place, *d[2:5]).copy() for d, place in self._moving()]

    def deliver(self) -> None:
        """Put the bytes (sampled, or as the source is now) where they belong, partial granules apart."""
        if self.kind == "read":
            self._fill_scratch()
        elif self.fold.partial_granules:
            self._publish()
        else:
            self._fill_memory()

    def is_partial(self, index: int) -> bool:
        """Whether the segment has partial granules that may move."""
        return index < len(self.places) and self.fold.segments[index].partial_granules > 0

    def read_background(self, index: int) -> None:
        """The segment's data starts: read its partial granules."""
        storage, offset = self.places[index]
        self.backgrounds[index] = self._split(index).read(storage, offset)

    def write_partial(self, index: int) -> None:
        """The segment's data ends: write its partial granules whole."""
        storage, offset = self.places[index]
        background, payload = self.backgrounds.pop(index), self._payload(index)
        self.moved_bytes += self._split(index).merge(storage, offset, background, payload)

    def _moving(self) -> Iterator[tuple[Descriptor, tuple[np.ndarray, int]]]:
        return zip(self.descriptors, self.places, strict=False)

    def _slot(self, d: Descriptor) -> np.ndarray:
        """A copy of the descriptor's payload, its rows one after the other."""
        if d.rows == 1:
            return self.scratch[d.scratch : d.scratch + d.row_bytes].copy()
        return _rows(self.scratch, d.scratch, d.rows, d.row_bytes, d.scratch_pitch).copy().reshape(-1)

    def _payload(self, index: int) -> np.ndarray:
        return self._slot(self.descriptors[index]) if self.samples is None else self.samples[index]

    def _split(self, index: int) -> RunSplit | GridSplit:
        _, _, rows, row_bytes, pitch, _ = self.descriptors[index]
        phase = self.places[index][1] % self.granule
        return split_rows(phase, rows, row_bytes, pitch, self.granule)

    def _fill_scratch(self) -> None:
        for index, (d, (storage, offset)) in enumerate(self._moving()):
            target = _rows(self.scratch, d.scratch, d.rows, d.row_bytes, d.scratch_pitch)
            if self.samples is None:
                target[...] = _rows(storage, offset, d.rows, d.row_bytes, d.pitch)
            else:
                target[...] = self.samples[index]
            self.moved_bytes += target.size

    def _fill_memory(self) -> None:
        scratch, samples, moved = self.scratch, self.samples, 0
        for index, (d, (storage, offset)) in enumerate(self._moving()):
            _, low, rows, row_bytes, pitch, scratch_pitch = d
            moved += rows * row_bytes
            if samples is not None:
                _rows(storage, offset, rows, row_bytes, pitch)[...] = samples[index].reshape(rows, row_bytes)
            elif rows == 1:
                storage[offset : offset + row_bytes] = scratch[low : low + row_bytes]
            else:
                source = _rows(scratch, low, rows, row_bytes, scratch_pitch)
                _rows(storage, offset, rows, row_bytes, pitch)[...] = source
        self.moved_bytes += moved

    def _publish(self) -> None:
        for index, (storage, offset) in enumerate(self.places):
            self.moved_bytes += self._split(index).publish(storage, offset, self._payload(index))


def _rows(array: np.ndarray, offset: int, rows: int, row_bytes: int, pitch: int) -> np.ndarray:
    """Rows of `array` in place, shape (rows, row_bytes)."""
    return np.ndarray((rows, row_bytes), np.uint8, array, offset, (pitch, 1))
