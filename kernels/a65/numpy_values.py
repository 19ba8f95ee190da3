"""Values of the numpy rows: how the arrays of one side become those of the other, in each conversion.

Words of 16 or 32 bits lie on the linear side, planes of bytes on the tiled one. Whole words are moved and taken apart
by casts and shifts, which numpy does many at a time: moving single bytes with strides takes several times as long.
Arithmetic is between contiguous arrays of equal types, since numpy takes buffers for everything else. Whoever calls
these, `copy_bytes` and `regroup_bytes` excepted, runs in the default floating-point environment (`fp_environment`).
Source: docs/operations.md, "Numerics".
"""

from collections.abc import Callable, Mapping

import numpy as np

from tessbed.kernels.a65.numpy_steps import SCRATCH, Arrays, Convert

Parameters = Mapping[str, int]

FEW_CHANNELS = 8
LEAST, MOST = np.float32(-128), np.float32(127)
QUIET_BIT = np.uint32(0x0040)

ROUNDINGS: tuple[Callable[..., np.ndarray], ...] = (np.trunc, np.rint, np.ceil, np.floor)
"""To an integer, by the codes of a packet."""


def copy_bytes(sources: Arrays, targets: Arrays, parameters: Parameters) -> None:
    """Bytes as they are."""
    assign(targets[0], sources[0])


def regroup_bytes(sources: Arrays, targets: Arrays, parameters: Parameters) -> None:
    """Bytes as they are, pixel by pixel first: then each channel's rows are as long as the linear side has them."""
    pixels = SCRATCH.array(0, sources[0].shape, np.uint8)
    assign(pixels, sources[0])
    np.copyto(targets[0], pixels)


def split_words(sources: Arrays, targets: Arrays, parameters: Parameters) -> None:
    """Words to their low and high bytes."""
    words, (low, high) = _contiguous(sources[0]), targets
    assign(low, words)
    upper = SCRATCH.array(1, words.shape, words.dtype) if words is sources[0] else words
    assign(high, np.right_shift(words, 8, out=upper))


def join_words(sources: Arrays, targets: Arrays, parameters: Parameters) -> None:
    """Low and high bytes to words."""
    np.copyto(targets[0], _words_of(*sources))


def widen_words(sources: Arrays, targets: Arrays, parameters: Parameters) -> None:
    """BF16 to binary32: the words become the upper halves."""
    words = _words_of(*sources)
    wide = SCRATCH.array(2, words.shape, np.uint32)
    np.copyto(wide, words)
    np.copyto(targets[0], np.left_shift(wide, 16, out=wide))


def narrow_words(sources: Arrays, targets: Arrays, parameters: Parameters) -> None:
    """The bytes of BF16 words: nearest, ties to even; a NaN keeps sign and upper half, and is made quiet."""
    bits = _contiguous(sources[0])
    made = np.right_shift(bits, 16, out=SCRATCH.array(2, bits.shape, np.uint32))
    made &= 1
    made += 0x7FFF
    made += bits
    made >>= 16
    nan = np.isnan(bits.view(np.float32), out=SCRATCH.array(3, bits.shape, np.bool_))
    if nan.any():
        made[nan] = bits[nan] >> 16 | QUIET_BIT
    split_words([made], targets, parameters)


def quantize_words(sources: Arrays, targets: Arrays, parameters: Parameters) -> None:
    """INT8 codes: saturate(round(x * scale) + zero_point), the product rounded to binary32; zero_point of a NaN."""
    bits, zero_point = _contiguous(sources[0]), _zero_point(parameters)
    values = SCRATCH.array(2, bits.shape, np.float32)
    with np.errstate(all="ignore"):
        np.multiply(bits.view(np.float32), _scale(parameters), out=values)
        ROUNDINGS[parameters["rounding"]](values, out=values)
        values += zero_point  # exact wherever the sum does not saturate
        nan = np.isnan(values, out=SCRATCH.array(3, bits.shape, np.bool_))
        if nan.any():
            values[nan] = zero_point
        np.clip(values, LEAST, MOST, out=values)
        assign(targets[0].view(np.int8), values)


def dequantize_codes(sources: Arrays, targets: Arrays, parameters: Parameters) -> None:
    """Words of (code - zero_point) / scale."""
    values = SCRATCH.array(0, sources[0].shape, np.float32)
    assign(values, sources[0].view(np.int8))
    with np.errstate(all="ignore"):
        values -= _zero_point(parameters)
        values /= _scale(parameters)
    np.copyto(targets[0], values.view(np.uint32))


CALCULATED: dict[str, Convert] = {
    "split": split_words,
    "join": join_words,
    "widen": widen_words,
    "narrow": narrow_words,
    "quantize": quantize_words,
    "dequantize": dequantize_codes,
}
"""The conversions that need numpy's casts or arithmetic."""


def assign(target: np.ndarray, source: np.ndarray) -> None:
    """Copies, truncating or extending integers: channel by channel where those are the fewer and longer runs."""
    if _by_channel(target, source):
        for channel in range(target.shape[-1]):
            np.copyto(target[..., channel], source[..., channel], casting="unsafe")
    else:
        np.copyto(target, source, casting="unsafe")


def _by_channel(target: np.ndarray, source: np.ndarray) -> bool:
    if target.ndim < 2 or target.shape[-1] >= min(FEW_CHANNELS, target.shape[-2]):
        return False
    return not (_dense(target) and _dense(source))


def _dense(array: np.ndarray) -> bool:
    """Whether pixels follow each other without a gap."""
    return array.strides[-2] == array.shape[-1] * array.strides[-1]


def _contiguous(array: np.ndarray) -> np.ndarray:
    """The array, or a copy of it in the order of its axes."""
    if array.flags.c_contiguous:
        return array
    made = SCRATCH.array(0, array.shape, array.dtype)
    np.copyto(made, array)
    return made


def _words_of(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    lows, words = SCRATCH.array(0, low.shape, np.uint16), SCRATCH.array(1, low.shape, np.uint16)
    assign(lows, low)
    assign(words, high)
    words <<= 8
    words |= lows
    return words


def _scale(parameters: Parameters) -> np.float32:
    return np.uint32(parameters["scale"]).view(np.float32)


def _zero_point(parameters: Parameters) -> np.float32:
    byte = parameters["zero_point"]
    return np.float32(byte - 256 if byte > 127 else byte)
