"""Planned bands: bands as arrays, to be planned and not to be run: they have no steps, and no place in the scratch.

A band may read from thousands of tiles. As arrays its descriptors take a few calls, however many they are.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from tessbed.firmware_models.band import DrainFootprint
from tessbed.firmware_models.descriptors import BoxDescriptors
from tessbed.sim.transfer.descriptor import Descriptor

Array = Any
Shape = tuple[int, int, int, int]
"""Of a descriptor: rows, row_bytes, pitch, scratch_pitch."""


@attrs.frozen(eq=False)
class DescriptorArray:
    """Descriptors in one direction: the address of each, and which of `shapes` it has."""

    addresses: Array
    kinds: Array
    shapes: tuple[Shape, ...]

    @classmethod
    def of(cls, descriptors: Sequence[Descriptor]) -> "DescriptorArray":
        """The same descriptors."""
        known: dict[Shape, int] = {}
        kinds = [known.setdefault(each[2:], len(known)) for each in descriptors]
        return cls(np.asarray([each.address for each in descriptors], np.int64), np.asarray(kinds, np.int64), (*known,))

    @classmethod
    def of_boxes(cls, boxes: Sequence[BoxDescriptors]) -> "DescriptorArray":
        """Those of some boxes, one after the other."""
        known: dict[Shape, int] = {}
        addresses: list[Array] = [np.zeros(0, np.int64)]
        kinds: list[Array] = [np.zeros(0, np.int64)]
        for box in boxes:
            turns = np.full(1, box.address)
            for extent, stride, _ in box.loops:
                turns = (turns[:, None] + stride * np.arange(extent)).reshape(-1)
            addresses.append((turns[:, None] + [piece.address for piece in box.pieces]).reshape(-1))
            kinds.append(np.tile([known.setdefault(piece[2:], len(known)) for piece in box.pieces], len(turns)))
        return cls(np.concatenate(addresses), np.concatenate(kinds), (*known,))

    def __len__(self) -> int:
        return len(self.addresses)

    def chosen(self, which: Array) -> "DescriptorArray":
        """Some of them."""
        return DescriptorArray(self.addresses[which], self.kinds[which], self.shapes)

    def alike(self, other: "DescriptorArray") -> bool:
        """Whether they differ by nothing but addresses."""
        return self.shapes == other.shapes and np.array_equal(self.kinds, other.kinds)


@attrs.frozen(eq=False)
class PlannedBand:
    """One band: its reads (`oversized` if a pitch among them is), its cost, its drain.

    Reads whose `moves_with` is equal move alike in every loop. Of a band that reads tiles, `tile_steps` are what one
    tile further along C, D, H, W adds to all reads, or to those of each such number their own; `pixel_steps` what one
    pixel further along D, H, W does inside their tiles.
    """

    reads: DescriptorArray
    chain: DescriptorArray
    ticks: int
    footprint: DrainFootprint
    oversized: bool
    counts: Mapping[str, int]
    moves_with: Array
    tile_steps: tuple[int | tuple[int, ...], ...] = ()
    pixel_steps: tuple[int | tuple[int, ...], ...] = ()
