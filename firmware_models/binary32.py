"""Binary32 arithmetic in integers: how the vision processor's vector unit narrows, quantizes and dequantizes.

A finite word is m * 2**e with an integer m below 2**24; a product of two is then exact in 48 bits, and rounding it is a
matter of shifts: the bits that fall off decide. No inexact floating-point operation occurs, so neither the host's
rounding mode nor its flush-to-zero can reach the result.
Sources: IEEE 754-2019, 4.3; docs/operations.md, "Numerics".
"""

from functools import lru_cache

import numpy as np

TOWARD_ZERO, NEAREST_EVEN, UP, DOWN = range(4)
"""Rounding modes by the codes of a packet."""

QUIET_BIT = 0x0040
EXPONENT_BITS = 0x7F800000
MAGNITUDE_BITS = 0x7FFFFFFF
LOWEST_EXPONENT = -149
SATURATED = 1 << 12
"""A magnitude that saturates whatever the zero point is; larger ones are cut to it."""


def narrow(words: np.ndarray) -> np.ndarray:
    """BF16 words (uint16) of binary32 words (uint32): nearest even; a NaN keeps its upper half and is quiet."""
    upper = words >> np.uint32(16)
    rounded = (words + np.uint32(0x7FFF) + (upper & np.uint32(1))) >> np.uint32(16)
    is_nan = (words & np.uint32(MAGNITUDE_BITS)) > np.uint32(EXPONENT_BITS)
    return np.where(is_nan, upper | np.uint32(QUIET_BIT), rounded).astype(np.uint16)


def quantize(words: np.ndarray, scale_bits: int, zero_point: int, rounding: int) -> np.ndarray:
    """INT8 codes of binary32 words (uint32): saturate(round(RN32(x * scale)) + zero_point); zero_point of a NaN."""
    magnitude = words & np.uint32(MAGNITUDE_BITS)
    negative = words > np.uint32(MAGNITUDE_BITS)
    significand, exponent = _split(magnitude)
    scale_significand, scale_exponent = _split(np.uint32(scale_bits))
    product, exponent = _round_product(significand * scale_significand, exponent + scale_exponent)
    whole = _round_integer(product, exponent, negative, rounding)
    whole[magnitude == EXPONENT_BITS] = SATURATED
    codes = np.clip(np.where(negative, -whole, whole) + zero_point, -128, 127)
    codes[magnitude > EXPONENT_BITS] = zero_point
    return codes.astype(np.int8)


def signed(byte: int) -> int:
    """The value of a byte in two's complement."""
    return byte - 256 if byte > 127 else byte


@lru_cache(maxsize=64)
def dequantize_table(scale_bits: int, zero_point: int) -> np.ndarray:
    """The binary32 words (uint32) of the codes -128 to 127, in the order of their bytes 0 to 255."""
    return np.array([_quotient(signed(byte) - zero_point, scale_bits) for byte in range(256)], np.uint32)


def _split(magnitude: np.ndarray | np.uint32) -> tuple[np.ndarray, np.ndarray]:
    """(significand as int64, exponent as int64) of finite magnitudes: significand * 2**exponent."""
    wide = np.asarray(magnitude, np.int64)
    field = wide >> 23
    return (wide & 0x7FFFFF) | np.where(field > 0, 1 << 23, 0), np.maximum(field, 1) - 150


def _bit_length(values: np.ndarray) -> np.ndarray:
    """Bits of nonnegative integers below 2**53: the exponent of binary64, which holds them exactly."""
    return np.frexp(values.astype(np.float64))[1].astype(np.int64)


def _round_product(product: np.ndarray, exponent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """product * 2**exponent rounded to binary32's 24 bits or to its lowest exponent, ties to even; no upper limit."""
    shift = np.maximum(np.maximum(_bit_length(product) - 24, LOWEST_EXPONENT - exponent), 0)
    return _shifted(product, shift), exponent + shift


def _shifted(values: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """values / 2**shift to the nearest integer, ties to even; values are below 2**48."""
    shift = np.minimum(shift, 60)
    quotient = values >> shift
    rest = values - (quotient << shift)
    half = (np.int64(1) << shift) >> 1
    up = (rest > half) | ((rest == half) & (shift > 0) & (quotient & 1 == 1))
    return quotient + up


def _round_integer(value: np.ndarray, exponent: np.ndarray, negative: np.ndarray, rounding: int) -> np.ndarray:
    """|value * 2**exponent| as an integer by `rounding`, cut to SATURATED; `value` is below 2**25."""
    left = np.clip(exponent, 0, 30)
    raised = np.minimum(np.where(exponent > 30, value << 30, value << left), SATURATED)
    right = np.clip(-exponent, 0, 60)
    floor = value >> right
    inexact = (floor << right) != value
    if rounding == NEAREST_EVEN:
        lowered = _shifted(value, right)
    elif rounding == TOWARD_ZERO:
        lowered = floor
    else:
        away = ~negative if rounding == UP else negative
        lowered = floor + (inexact & away)
    return np.minimum(np.where(exponent > 0, raised, lowered), SATURATED)


def _quotient(numerator: int, scale_bits: int) -> int:
    """The binary32 word of numerator / scale, correctly rounded; positive zero for 0, infinity beyond the last."""
    sign, numerator = (1 << 31 if numerator < 0 else 0), abs(numerator)
    significand, exponent = (int(part) for part in _split(np.uint32(scale_bits)))
    if numerator == 0:
        return 0
    scaled = 32 + significand.bit_length()
    quotient, rest = divmod(numerator << scaled, significand)
    place = -scaled - exponent
    drop = max(quotient.bit_length() - 24, LOWEST_EXPONENT - place)
    kept, lost = quotient >> drop, quotient & ((1 << drop) - 1)
    half = 1 << (drop - 1)
    kept += lost > half or (lost == half and (rest > 0 or kept % 2 == 1))
    place += drop
    if kept == 1 << 24:
        kept, place = kept >> 1, place + 1
    if kept < 1 << 23:
        return sign | kept
    field = place + 150
    return sign | (EXPONENT_BITS if field >= 255 else (field << 23) | (kept & 0x7FFFFF))
