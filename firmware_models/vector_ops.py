"""Vector operations: the vector unit's moves between two layouts in scratch.

A move takes a box of scalars byte lane by byte lane: INT8 has one lane, BF16 a low and a high one, FP32 four, wherever
the two layouts keep them. What it makes of them is its conversion's entry in CONVERSIONS. Widening BF16 to FP32 puts
the word into the upper two bytes and zero into the lower two: integer work only, so every bit pattern survives. Values
are made by the integer arithmetic of `binary32`. One vectorised step per lane, never a loop over pixels.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import mul
from typing import Protocol

import attrs
import numpy as np

import tessbed.firmware_models.binary32 as binary32

Strides = tuple[int, ...]
Span = tuple[int, int]  # bytes of scratch, the end exclusive
Lane = np.ndarray | int
Convert = Callable[[Sequence[np.ndarray], Mapping[str, int]], Sequence[Lane]]
"""The target's byte lanes (uint8 arrays of one shape, or one value for all), low byte first, from those of the source
and the conversion's parameters by packet field."""


def _same(lanes: Sequence[np.ndarray], parameters: Mapping[str, int]) -> Sequence[Lane]:
    return lanes


def _widened(lanes: Sequence[np.ndarray], parameters: Mapping[str, int]) -> Sequence[Lane]:
    low, high = lanes
    return 0, 0, low, high


def _narrowed(lanes: Sequence[np.ndarray], parameters: Mapping[str, int]) -> Sequence[Lane]:
    words = binary32.narrow(_words(lanes))
    return words.astype(np.uint8), (words >> np.uint16(8)).astype(np.uint8)


def _quantized(lanes: Sequence[np.ndarray], parameters: Mapping[str, int]) -> Sequence[Lane]:
    zero_point = binary32.signed(parameters["zero_point"])
    codes = binary32.quantize(_words(lanes), parameters["scale"], zero_point, parameters["rounding"])
    return (codes.view(np.uint8),)


def _dequantized(lanes: Sequence[np.ndarray], parameters: Mapping[str, int]) -> Sequence[Lane]:
    table = binary32.dequantize_table(parameters["scale"], binary32.signed(parameters["zero_point"]))
    words = table[lanes[0]]
    return [(words >> np.uint32(8 * lane)).astype(np.uint8) for lane in range(4)]


def _words(lanes: Sequence[np.ndarray]) -> np.ndarray:
    """32-bit words of their four byte lanes."""
    words = lanes[0].astype(np.uint32)
    for place, lane in enumerate(lanes[1:], 1):
        words |= lane.astype(np.uint32) << np.uint32(8 * place)
    return words


CONVERSIONS: dict[str, Convert] = {
    "copy": _same,
    "split": _same,
    "join": _same,
    "widen": _widened,
    "narrow": _narrowed,
    "quantize": _quantized,
    "dequantize": _dequantized,
}
"""The vector steps: what moves the values of each conversion."""


@attrs.frozen
class VectorMove:
    """Converts a box of scalars. Lanes are the byte offsets of a scalar's bytes on each side, low byte first."""

    shape: tuple[int, ...]
    source: int
    source_strides: Strides
    target: int
    target_strides: Strides
    source_lanes: tuple[int, ...]
    target_lanes: tuple[int, ...]
    conversion: str
    parameters: tuple[tuple[str, int], ...] = ()

    def spans(self) -> tuple[list[Span], list[Span]]:
        """The spans of scratch that it reads, and that it writes."""
        read = _span(self.source, self.shape, self.source_strides, self.source_lanes)
        return [read], [_span(self.target, self.shape, self.target_strides, self.target_lanes)]

    def __call__(self, scratch: np.ndarray) -> None:
        shape, source, strides = self.shape, self.source, self.source_strides
        sources = [np.ndarray(shape, np.uint8, scratch, source + lane, strides) for lane in self.source_lanes]
        converted = CONVERSIONS[self.conversion](sources, dict(self.parameters))
        target, strides = self.target, self.target_strides
        for lane, values in zip(self.target_lanes, converted, strict=True):
            np.ndarray(shape, np.uint8, scratch, target + lane, strides)[...] = values


@attrs.frozen
class VectorFill:
    """Stores one byte value all over a box of bytes."""

    shape: tuple[int, ...]
    target: int
    target_strides: Strides
    value: int

    def spans(self) -> tuple[list[Span], list[Span]]:
        """The spans of scratch that it reads, none, and that it writes."""
        return [], [_span(self.target, self.shape, self.target_strides, (0,))]

    def __call__(self, scratch: np.ndarray) -> None:
        np.ndarray(self.shape, np.uint8, scratch, self.target, self.target_strides)[...] = self.value


class PackStep(Protocol):
    """What a packer performs: a move, a fill, or a function of the user's."""

    def __call__(self, scratch: np.ndarray) -> None:
        """Move the bytes."""
        ...

    def spans(self) -> tuple[list[Span], list[Span]]:
        """The spans of scratch that it reads, and that it writes."""
        ...


@attrs.define(eq=False)  # not frozen: one is made for each band, and that takes twice as long
class Packer:
    """One action that performs `steps` in order on a worker's scratch."""

    scratch: np.ndarray
    steps: Sequence[PackStep]

    def __call__(self) -> None:
        for step in self.steps:
            step(self.scratch)

    def touches(self) -> tuple[list[Span], list[Span]]:
        """Spans of scratch that are read, and that are written, as the device's checker wants them."""
        reads, writes = [], []
        for step in self.steps:
            read, written = step.spans()
            reads += read
            writes += written
        return reads, writes


def _span(first: int, shape: tuple[int, ...], strides: Strides, lanes: tuple[int, ...]) -> Span:
    """From the first byte of a box to behind its last."""
    reach = sum(map(mul, shape, strides)) - sum(strides)
    return first + min(lanes), first + max(lanes) + reach + 1
