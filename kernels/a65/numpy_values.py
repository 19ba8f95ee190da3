"""Values of the numpy rows: what becomes of an array of scalars in each conversion that calculates.

Each takes the arrays of one side and the conversion's parameters by packet field, and gives those of the other: words
of binary32 as uint32 on the linear side, byte lanes on the tiled one. Whoever calls these runs in the default
floating-point environment (`fp_environment`). Source: docs/operations.md, "Numerics".
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

Arrays = Sequence[np.ndarray]

QUIET_BIT = np.uint32(0x0040)
INFINITY = np.uint32(0x7F800000)
MAGNITUDE = np.uint32(0x7FFFFFFF)
FARTHEST = np.float32(300)
"""A product of this size saturates whatever the zero point is."""

ROUNDINGS: tuple[Callable[[np.ndarray], np.ndarray], ...] = (np.trunc, np.rint, np.ceil, np.floor)
"""To an integer, by the codes of a packet."""


def narrowed(sources: Arrays, parameters: Mapping[str, int]) -> Arrays:
    """The bytes of BF16 words: nearest, ties to even; a NaN keeps sign and upper half, and is made quiet."""
    (words,) = sources
    upper = words >> np.uint32(16)
    rounded = (words + (np.uint32(0x7FFF) + (upper & np.uint32(1)))) >> np.uint32(16)
    nan = (words & MAGNITUDE) > INFINITY
    made = np.where(nan, upper | QUIET_BIT, rounded)
    return made.astype(np.uint8), (made >> np.uint32(8)).astype(np.uint8)


def quantized(sources: Arrays, parameters: Mapping[str, int]) -> Arrays:
    """INT8 codes: saturate(round(x * scale) + zero_point), the product rounded to binary32; zero_point of a NaN."""
    with np.errstate(all="ignore"):
        product = sources[0].view(np.float32) * _scale(parameters)
        whole = ROUNDINGS[parameters["rounding"]](np.clip(product, -FARTHEST, FARTHEST))
        whole = np.where(np.isnan(product), np.float32(0), whole)
        codes = np.clip(whole.astype(np.int16) + _zero_point(parameters), -128, 127)
    return (codes.astype(np.uint8),)


def dequantized(sources: Arrays, parameters: Mapping[str, int]) -> Arrays:
    """Words of (code - zero_point) / scale, by a table of the 256 results."""
    codes = np.arange(256, dtype=np.uint8).view(np.int8).astype(np.int16)
    with np.errstate(all="ignore"):
        table = (codes - _zero_point(parameters)).astype(np.float32) / _scale(parameters)
    return (table.view(np.uint32).take(sources[0]),)


def _scale(parameters: Mapping[str, int]) -> np.float32:
    return np.uint32(parameters["scale"]).view(np.float32)


def _zero_point(parameters: Mapping[str, int]) -> np.int16:
    byte = parameters["zero_point"]
    return np.int16(byte - 256 if byte > 127 else byte)
