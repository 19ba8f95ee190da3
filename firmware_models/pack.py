"""Pack: the vector unit's moves between two layouts in scratch, and what they cost.

A move copies a box of scalars byte lane by byte lane: INT8 has one lane, BF16 a low and a high one, wherever the two
layouts keep them. Widening BF16 to FP32 puts the word into the upper two bytes and zero into the lower two: integer
work only, so every bit pattern survives. One vectorised copy per lane, never a loop over pixels.
"""

from collections.abc import Sequence
from operator import mul

import attrs
import numpy as np

Strides = tuple[int, ...]
Span = tuple[int, int]  # bytes of scratch, the end exclusive


@attrs.frozen
class Move:
    """Copies a box of scalars. `lanes` are (source byte, target byte) offsets; `zeros` are target bytes cleared."""

    shape: tuple[int, ...]
    source: int
    source_strides: Strides
    target: int
    target_strides: Strides
    lanes: tuple[tuple[int, int], ...]
    zeros: tuple[int, ...] = ()

    def __call__(self, scratch: np.ndarray) -> None:
        for source_lane, target_lane in self.lanes:
            source = np.ndarray(self.shape, np.uint8, scratch, self.source + source_lane, self.source_strides)
            target = np.ndarray(self.shape, np.uint8, scratch, self.target + target_lane, self.target_strides)
            np.copyto(target, source)
        for lane in self.zeros:
            np.ndarray(self.shape, np.uint8, scratch, self.target + lane, self.target_strides)[...] = 0


@attrs.frozen
class Fill:
    """Stores one byte value all over a box of bytes."""

    shape: tuple[int, ...]
    target: int
    target_strides: Strides
    value: int

    def __call__(self, scratch: np.ndarray) -> None:
        np.ndarray(self.shape, np.uint8, scratch, self.target, self.target_strides)[...] = self.value


@attrs.frozen(eq=False)
class Packer:
    """One action that performs `steps` in order on a worker's scratch."""

    scratch: np.ndarray
    steps: Sequence[Move | Fill]

    def __call__(self) -> None:
        for step in self.steps:
            step(self.scratch)

    def touches(self) -> tuple[list[Span], list[Span]]:
        """Spans of scratch that are read, and that are written, as the device's checker wants them."""
        reads, writes = [], []
        for step in self.steps:
            if isinstance(step, Fill):
                writes.append(_span(step.target, step.shape, step.target_strides, (0,)))
            else:
                sources, targets = zip(*step.lanes, strict=True)
                reads.append(_span(step.source, step.shape, step.source_strides, sources))
                writes.append(_span(step.target, step.shape, step.target_strides, targets + step.zeros))
        return reads, writes


def _span(first: int, shape: tuple[int, ...], strides: Strides, lanes: tuple[int, ...]) -> Span:
    """From the first byte of a box to behind its last."""
    reach = sum(map(mul, shape, strides)) - sum(strides)
    return first + min(lanes), first + max(lanes) + reach + 1
