"""Vector operations: the vector unit's moves between two layouts in scratch.

A move takes a box of scalars byte lane by byte lane: INT8 has one lane, BF16 a low and a high one, FP32 four, wherever
the two layouts keep them. What it makes of them is its conversion's entry in CONVERSIONS. Widening BF16 to FP32 puts
the word into the upper two bytes and zero into the lower two: integer work only, so every bit pattern survives. Values
are made by the integer arithmetic of `binary32`. One vectorised step per lane, never a loop over pixels.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import mul
from typing import Any, Protocol

import attrs
import numpy as np

import tessbed.firmware_models.binary32 as binary32

MOST_KEPT_STEPS = 4096
"""A worker keeps the packers of so many steps."""

Strides = tuple[int, ...]
Span = tuple[int, int]  # bytes of scratch, the end exclusive
Lane = np.ndarray | int
Convert = Callable[[Sequence[np.ndarray], Mapping[str, int]], Sequence[Lane]]
"""The target's byte lanes (uint8 arrays of one shape, or one value for all), low byte first, from those of the source
and the conversion's parameters by packet field."""
Move = Callable[[], None]
"""A step on a certain scratch, whose views are made."""


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

    def on(self, scratch: np.ndarray) -> Move:
        """The move on that scratch, to be made as often as wanted."""
        shape, source_strides, target_strides = folded(self.shape, self.source_strides, self.target_strides)
        sources = _views(scratch, shape, self.source, source_strides, self.source_lanes)
        targets = _views(scratch, shape, self.target, target_strides, self.target_lanes)
        convert = CONVERSIONS[self.conversion]
        if convert is _same:
            return partial(_copy, tuple(map(_runs, targets, sources)))
        return partial(_convert, convert, targets, sources, dict(self.parameters))


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

    def on(self, scratch: np.ndarray) -> Move:
        """The fill on that scratch, to be made as often as wanted."""
        shape, strides, _ = folded(self.shape, self.target_strides, self.target_strides)
        return partial(_views(scratch, shape, self.target, strides, (0,))[0].fill, self.value)


class PackStep(Protocol):
    """What a packer performs: a move, a fill, or a function of the user's."""

    def on(self, scratch: np.ndarray) -> Move:
        """What moves the bytes on that scratch, each time that it is called."""
        ...

    def spans(self) -> tuple[list[Span], list[Span]]:
        """The spans of scratch that it reads, and that it writes."""
        ...


@attrs.define(eq=False)
class Packer:
    """One action that performs `steps` in order on a worker's scratch, each time that it is called.

    What it needs for that, and what it touches, is found out the first time: bands that are alike share their packer.
    """

    scratch: np.ndarray
    steps: Sequence[PackStep]
    _moves: list[Move] | None = attrs.field(default=None, init=False)
    _touches: tuple[list[Span], list[Span]] | None = attrs.field(default=None, init=False)

    def __call__(self) -> None:
        if self._moves is None:
            self._moves = [step.on(self.scratch) for step in self.steps]
        for move in self._moves:
            move()

    def touches(self) -> tuple[list[Span], list[Span]]:
        """Spans of scratch that are read, and that are written, as the device's checker wants them."""
        if self._touches is None:
            spans = [step.spans() for step in self.steps]
            self._touches = [s for read, _ in spans for s in read], [s for _, written in spans for s in written]
        return self._touches


@attrs.define(eq=False)
class Packers:
    """The packers of one worker: bands of equal work items have the same steps, the very same, and share a packer."""

    scratch: np.ndarray
    _known: dict[int, Packer] = attrs.field(factory=dict, init=False)
    _steps: int = attrs.field(default=0, init=False)

    def of(self, steps: Sequence[PackStep]) -> Packer:
        """The packer of these steps, which are never changed."""
        known = self._known.get(id(steps))  # a packer keeps its steps, so no others have their id
        return self._new(steps) if known is None else known

    def _new(self, steps: Sequence[PackStep]) -> Packer:
        if self._steps + len(steps) > MOST_KEPT_STEPS:
            self._known.clear()
            self._steps = 0
        self._steps += len(steps)
        packer = self._known[id(steps)] = Packer(self.scratch, steps)
        return packer


def folded(shape: Strides, source: Strides, target: Strides) -> tuple[Strides, Strides, Strides]:
    """The same box with as few axes as possible, the largest source stride first: the fewer, the quicker the move.

    One axis stays: numpy's arithmetic makes plain numbers of arrays without any.
    """
    axes: list[tuple[int, int, int]] = []
    for inner in sorted(zip(source, target, shape, strict=True), reverse=True):
        source_stride, target_stride, extent = inner
        if axes and axes[-1][:2] == (extent * source_stride, extent * target_stride):
            axes[-1] = source_stride, target_stride, axes[-1][2] * extent
        elif extent != 1:
            axes.append(inner)
    sources, targets, extents = zip(*(axes or [(1, 1, 1)]), strict=True)
    return extents, sources, targets


def _views(scratch: np.ndarray, shape: Strides, first: int, strides: Strides, lanes: Sequence[int]) -> list[np.ndarray]:
    """A view for each byte lane of a box."""
    return [np.ndarray(shape, np.uint8, scratch, first + lane, strides) for lane in lanes]


def _runs(target: np.ndarray, source: np.ndarray) -> tuple[Any, Any]:
    """The two as memoryviews, which copy short runs in half the time, where both are runs of bytes."""
    if all(lane.ndim == 1 and lane.flags.c_contiguous for lane in (target, source)):
        return target.data, source.data
    return target, source


def _copy(lanes: Sequence[tuple[Any, Any]]) -> None:
    for target, source in lanes:
        target[:] = source


def _convert(
    convert: Convert, targets: Sequence[np.ndarray], sources: Sequence[np.ndarray], parameters: Mapping[str, int]
) -> None:
    for target, values in zip(targets, convert(sources, parameters), strict=True):
        target[...] = values


def _span(first: int, shape: tuple[int, ...], strides: Strides, lanes: tuple[int, ...]) -> Span:
    """From the first byte of a box to behind its last."""
    reach = sum(map(mul, shape, strides)) - sum(strides)
    return first + min(lanes), first + max(lanes) + reach + 1
