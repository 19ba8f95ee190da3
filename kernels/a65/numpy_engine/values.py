"""Values of the numpy rows: how the scalars of one side become those of the other, in each conversion.

Theory. numpy casts and calculates contiguous arrays of equal types many elements at a time; anything else it takes by
single elements or through buffers. So a word is taken apart by two casts and no shift: words that begin at the second
byte of the first one are cast to the high bytes. It is put together the other way round: each plane is cast to words
of its own, the high one to words that begin a byte later, and an OR joins both.

Each function here is given scratch for the tiled scalars of a box, and returns what converts boxes of that shape, with
the views that it needs. What it returns runs in the default floating-point environment (`fp_environment`).
Source: docs/operations.md, "Numerics".
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tessbed.kernels.a65.numpy_engine.steps import BYTE, SCRATCH

Parameters = Mapping[str, int]
Change = Callable[[np.ndarray], object]
Conversion = Callable[[np.ndarray, Parameters], Change]
"""For an array of tiled scalars in scratch, gives what makes them from linear ones; of a plan that unpacks, what makes
linear ones from them."""

WORD, LONG, FLOAT, CODE = np.dtype("<u2"), np.dtype("<u4"), np.dtype("<f4"), np.dtype("i1")
SCALARS = {1: BYTE, 2: WORD, 4: LONG}
"""Scalars as integers, by their width."""
LANE, PLANE, WORDS, VALUES = 0, 4, 6, 7
"""Parts of the scratch. A lane at byte `k` of its scalars has the part LANE + k, of which the first k bytes stay zero;
bytes of a plane have the part PLANE + the plane's number."""
LINEAR, TURNED, MADE, COLUMNS = 8, 9, 10, 11
"""What comes from or goes to the linear side, scalars in the other order, linear scalars that are made of those, and
columns of pixels."""
LEAST, MOST = -128.0, 127.0
ONE, BELOW_HALF, SIXTEEN = np.array(1, LONG), np.array(0x7FFF, LONG), np.array(16, LONG)
QUIET_BIT = np.uint16(0x0040)

ROUNDINGS: tuple[Callable[..., np.ndarray], ...] = (np.trunc, np.rint, np.ceil, np.floor)
"""To an integer, by the codes of a packet."""


def planes_of(scalars: np.ndarray) -> tuple[Sequence[np.ndarray], Callable[[], None]]:
    """The byte planes of tiled scalars in scratch, low plane first, and what fills them; bytes are their own."""
    if scalars.dtype == BYTE:
        return (scalars,), _nothing
    later = np.ndarray(scalars.shape, WORD, scalars.base, 1, scalars.strides)  # pyright: ignore[reportArgumentType]
    low, high = (SCRATCH.array(PLANE + plane, scalars.shape, BYTE) for plane in range(2))

    def split() -> None:
        low[...] = scalars
        high[...] = later

    return (low, high), split


def split_words(planes: Sequence[np.ndarray], words: np.ndarray) -> None:
    """Fills planes from words that follow each other, wherever they are; no byte behind the last one is looked at."""
    low, high = planes
    low[...] = words
    lanes = words.view(BYTE)
    high[:-1] = lanes[1:-1].view(WORD)
    high[-1:] = lanes[-1:]


def _nothing() -> None:
    """What is left to do where nothing is."""


def join_planes(planes: Sequence[np.ndarray], dtype: np.dtype) -> Change:
    """What makes scalars of byte planes, which are their upper bytes; the lower ones are zero."""
    shape, lanes = planes[0].shape, range(dtype.itemsize - len(planes), dtype.itemsize)
    written = [SCRATCH.array(LANE + at, shape, dtype, at) for at in lanes]
    read = [SCRATCH.array(LANE + at, shape, dtype) for at in lanes]
    (low, high), (low_lane, high_lane), (low_word, high_word) = planes, written, read

    def join(target: np.ndarray) -> None:
        low_lane[...] = low
        high_lane[...] = high
        np.bitwise_or(low_word, high_word, target)

    return join


def narrow_words(found: np.ndarray, parameters: Parameters) -> Change:
    """BF16 words: nearest, ties to even; a NaN keeps sign and upper half, and is made quiet."""
    made = SCRATCH.array(VALUES, found.shape, LONG)
    upper = np.ndarray(made.shape, LONG, made.base, 2, made.strides)  # pyright: ignore[reportArgumentType]

    def narrow(words: np.ndarray) -> None:
        np.right_shift(words, SIXTEEN, made)
        np.bitwise_and(made, ONE, made)
        np.add(made, BELOW_HALF, made)
        np.add(made, words, made)
        found[...] = upper
        values = words.view(FLOAT)
        least = float(np.minimum.reduce(values, None))
        if least != least:  # any NaN is the least
            nan = np.isnan(values)
            found[nan] = (words[nan] >> 16).astype(WORD) | QUIET_BIT

    return narrow


def quantize_words(found: np.ndarray, parameters: Parameters) -> Change:
    """INT8 codes: saturate(round(x * scale) + zero_point), the product rounded to binary32; zero_point of a NaN."""
    zero_point, scale, rounded = _zero_point(parameters), _scale(parameters), ROUNDINGS[parameters["rounding"]]
    values, codes = SCRATCH.array(VALUES, found.shape, FLOAT), found.view(CODE)

    def quantize(words: np.ndarray) -> None:
        np.multiply(words.view(FLOAT), scale, values)
        rounded(values, values)
        np.add(values, zero_point, values)  # exact wherever the sum does not saturate
        if not (np.minimum.reduce(values, None) >= LEAST and np.maximum.reduce(values, None) <= MOST):
            values[np.isnan(values)] = zero_point
            np.clip(values, np.float32(LEAST), np.float32(MOST), values)
        codes[...] = values

    return quantize


def dequantize_codes(codes: np.ndarray, parameters: Parameters) -> Change:
    """Words of (code - zero_point) / scale."""
    zero_point, scale, signed = _zero_point(parameters), _scale(parameters), codes.view(CODE)
    values = SCRATCH.array(VALUES, codes.shape, FLOAT)

    def dequantize(target: np.ndarray) -> None:
        values[...] = signed
        np.subtract(values, zero_point, values)
        np.divide(values, scale, target.view(FLOAT))

    return dequantize


def _scale(parameters: Parameters) -> np.ndarray:
    return np.array(parameters["scale"], LONG).view(FLOAT)


def _zero_point(parameters: Parameters) -> np.ndarray:
    byte = parameters["zero_point"]
    return np.array(byte - 256 if byte > 127 else byte, FLOAT)
