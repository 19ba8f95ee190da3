"""What the oracle knows of values: FP32 to BF16, FP32 to INT8 codes and back, by whole numbers and fractions alone.

Rounding is monotonic, so a quantization is at most 255 thresholds among the binary32 words in their order: each is
found by bisection with exact fractions, and whole arrays are then looked up. Dequantization has 256 results, each
an exact quotient rounded once. Nothing here multiplies or divides in floating point.
Source: IEEE 754-2019, 4.3; docs/operations.md, "Numerics".
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache

import numpy as np

NAN_ABOVE = 0x7F800000
SIGN = 1 << 31
LOWEST, HIGHEST = -128, 127

Lanes = Sequence[np.ndarray]


def spelled_words(lanes: Lanes) -> np.ndarray:
    """The 32-bit words that four byte lanes spell, as int64."""
    words = np.zeros(lanes[0].shape, np.int64)
    for place, lane in enumerate(lanes):
        words += lane.astype(np.int64) << (8 * place)
    return words


def bytes_of(words: np.ndarray, count: int) -> Lanes:
    """The lowest `count` bytes of words, low byte first."""
    return [(words >> (8 * place) & 0xFF).astype(np.uint8) for place in range(count)]


def narrowing(lanes: Lanes, parameters: Mapping[str, int]) -> Lanes:
    """FP32 to BF16: what the lower half weighs against a half decides, a tie goes to the even word; NaNs stay NaNs."""
    words = spelled_words(lanes)
    upper, rest = words >> 16, words & 0xFFFF
    rounded = upper + ((rest > 0x8000) | ((rest == 0x8000) & (upper % 2 == 1)))
    return bytes_of(np.where(words % SIGN > NAN_ABOVE, upper | 0x40, rounded), 2)


def quantizing(lanes: Lanes, parameters: Mapping[str, int]) -> Lanes:
    """FP32 to INT8 codes: how many thresholds a word has reached, from the lowest code; a NaN is the number 0."""
    words = spelled_words(lanes)
    zero_point = _signed(parameters["zero_point"])
    thresholds = _thresholds(parameters["scale"], zero_point, parameters["rounding"])
    reached = np.searchsorted(thresholds, _rank(words), "right")
    codes = np.where(words % SIGN > NAN_ABOVE, zero_point, reached + LOWEST)
    return bytes_of(codes, 1)


def dequantizing(lanes: Lanes, parameters: Mapping[str, int]) -> Lanes:
    """INT8 codes to FP32: (code - zero point) / scale, rounded once."""
    return bytes_of(_values(parameters["scale"], _signed(parameters["zero_point"]))[lanes[0]], 4)


def _signed(byte: int) -> int:
    return byte - 256 if byte > 127 else byte


def _rank(words: np.ndarray) -> np.ndarray:
    """Words in the order of their values: negative ones fall as their bits rise."""
    return np.where(words >= SIGN, SIGN - 1 - words % SIGN, words + SIGN)


def _word_at(rank: int) -> int:
    return rank - SIGN if rank >= SIGN else SIGN + (SIGN - 1 - rank)


@cache
def _thresholds(scale: int, zero_point: int, rounding: int) -> np.ndarray:
    """The ranks from which on a word has at least the code -127, -126, ... 127; behind +infinity where none has."""
    first, behind = SIGN - 1 - NAN_ABOVE, SIGN + NAN_ABOVE + 1
    ranks = []
    for code in range(LOWEST + 1, HIGHEST + 1):
        low, high = ranks[-1] if ranks else first, behind
        while low < high:
            middle = (low + high) // 2
            if _code(_word_at(middle), scale, zero_point, rounding) >= code:
                high = middle
            else:
                low = middle + 1
        ranks.append(low)
    return np.array(ranks, np.int64)


def _code(word: int, scale: int, zero_point: int, rounding: int) -> int:
    """The code of one word that is no NaN."""
    if word % SIGN == NAN_ABOVE:
        return HIGHEST if word < SIGN else LOWEST
    product = _magnitude(word) * _magnitude(scale)
    whole = _whole(_rounded(product), rounding, word >= SIGN)
    return max(LOWEST, min(HIGHEST, (whole if word < SIGN else -whole) + zero_point))


def _magnitude(word: int) -> Fraction:
    """The value of a finite word without its sign."""
    exponent, significand = word >> 23 & 0xFF, word & 0x7FFFFF
    scaled = significand if exponent == 0 else significand + (1 << 23)
    return Fraction(scaled << max(exponent, 1), 1 << 150)


def _rounded(value: Fraction) -> Fraction:
    """A nonnegative value with binary32's precision, ties to even; no upper limit, which saturation replaces."""
    unit = _unit(value)
    return round(value / unit) * unit


def _unit(value: Fraction) -> Fraction:
    """The distance of binary32 numbers around a value."""
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    if value < Fraction(2) ** exponent:
        exponent -= 1
    return Fraction(2) ** max(exponent - 23, -149)


def _whole(magnitude: Fraction, rounding: int, negative: bool) -> int:
    """A magnitude as an integer: 0 toward zero, 1 nearest even, 2 up, 3 down."""
    if rounding == 1:
        return round(magnitude)
    away = rounding == (3 if negative else 2)
    return -(-magnitude.numerator // magnitude.denominator) if away else magnitude.numerator // magnitude.denominator


@cache
def _values(scale: int, zero_point: int) -> np.ndarray:
    """The FP32 words of all codes, by their bytes."""
    return np.array([_quotient(_signed(byte) - zero_point, scale) for byte in range(256)], np.int64)


def _quotient(number: int, scale: int) -> int:
    """The word of number / scale: positive zero for 0, an infinity beyond the largest."""
    if number == 0:
        return 0
    value = _rounded(abs(number) / _magnitude(scale))
    sign, unit = (SIGN if number < 0 else 0), _unit(value)
    exponent = unit.numerator.bit_length() - unit.denominator.bit_length()  # a power of two
    units = int(value / unit)
    word = units if units < 1 << 23 else ((exponent + 150) << 23) + units - (1 << 23)
    return sign + min(word, NAN_ABOVE)
