"""The literal oracle of values: what one scalar becomes when it is narrowed, quantized or dequantized.

Rational arithmetic on one value at a time, written from the definitions of IEEE 754 (binary32, bfloat16) and of the
operations; slow, standard library only, and nothing of the product. Values travel as their bits.
"""

from fractions import Fraction
from functools import lru_cache
from math import floor

ROUNDINGS = ("toward_zero", "nearest_even", "up", "down")


def unpack(bits: int) -> Fraction | str:
    """The value of a binary32 word: a rational, or "nan", "+inf", "-inf" (a zero's sign is not part of its value)."""
    sign, exponent, fraction = bits >> 31, (bits >> 23) & 0xFF, bits & 0x7FFFFF
    if exponent == 255:
        return "nan" if fraction else ("-inf" if sign else "+inf")
    magnitude = Fraction(fraction, 2**149) if exponent == 0 else Fraction(2**23 + fraction) * _power(exponent - 150)
    return -magnitude if sign else magnitude


def nearest_binary32(value: Fraction) -> Fraction | str:
    """The binary32 number nearest to `value`, ties to the even one; beyond the largest, an infinity."""
    if value < 0:
        mirrored = nearest_binary32(-value)
        return "-inf" if isinstance(mirrored, str) else -mirrored
    if value == 0:
        return Fraction(0)
    exponent = _lowest_exponent(value)
    rounded = round_integer(value / _power(exponent), "nearest_even") * _power(exponent)
    return "+inf" if rounded >= _power(128) else rounded


def round_integer(value: Fraction, rounding: str) -> int:
    """`value` as an integer, by one of ROUNDINGS."""
    below = floor(value)
    rest = value - below
    if rounding == "down" or rest == 0:
        return below
    if rounding == "up":
        return below + 1
    if rounding == "toward_zero":
        return below + (value < 0)
    up = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and below % 2 == 1)
    return below + up


@lru_cache(maxsize=1 << 17)
def quantized(bits: int, scale_bits: int, zero_point: int, rounding: str) -> int:
    """The INT8 code, -128 to 127, of the binary32 word `bits`: QuantTess."""
    value, scale = unpack(bits), unpack(scale_bits)
    assert isinstance(scale, Fraction)
    if value == "nan":
        return zero_point
    product = value if isinstance(value, str) else nearest_binary32(value * scale)
    if isinstance(product, str):
        return -128 if product == "-inf" else 127
    return max(-128, min(127, round_integer(product, rounding) + zero_point))


@lru_cache(maxsize=4096)
def dequantized(code: int, scale_bits: int, zero_point: int) -> int:
    """The binary32 word that the INT8 `code` means: DetessDequant. Zero is positive zero."""
    scale = unpack(scale_bits)
    assert isinstance(scale, Fraction)
    return pack(nearest_binary32((code - zero_point) / scale))


@lru_cache(maxsize=1 << 17)
def narrowed(bits: int) -> int:
    """The BF16 word of the binary32 word `bits`: nearest even; a NaN keeps sign and upper bits, and is quiet."""
    value = unpack(bits)
    if value == "nan":
        return (bits >> 16) | 0x0040
    sign = (bits >> 31) << 15
    if isinstance(value, str):
        return sign | 0x7F80
    lower = (bits & 0x7FFFFFFF) >> 16
    candidates = [(abs(_bf16(word) - abs(value)), word % 2, word) for word in (lower, lower + 1)]
    return sign | min(candidates)[2]


def pack(value: Fraction | str) -> int:
    """The binary32 word of a value that it can hold exactly."""
    if isinstance(value, str):
        return 0xFF800000 if value == "-inf" else 0x7F800000
    if value == 0:
        return 0
    sign, magnitude, exponent = (1 << 31 if value < 0 else 0), abs(value), _lowest_exponent(abs(value))
    units = magnitude / _power(exponent)
    assert units.denominator == 1
    return sign + (units.numerator if exponent == -149 else ((exponent + 149) << 23) + units.numerator)


def _lowest_exponent(magnitude: Fraction) -> int:
    """The lowest exponent, at least -149, with which a significand below 2**24 reaches up to `magnitude`."""
    exponent = max(-149, magnitude.numerator.bit_length() - magnitude.denominator.bit_length() - 26)
    while magnitude >= _power(exponent + 24):
        exponent += 1
    return exponent


def _bf16(word: int) -> Fraction:
    """The magnitude of a BF16 word, where the word behind the largest means 2**128 (the limit of overflow)."""
    if word >= 0x7F80:
        return _power(128)
    exponent, fraction = word >> 7, word & 0x7F
    return Fraction(fraction, 2**133) if exponent == 0 else Fraction(128 + fraction) * _power(exponent - 134)


@lru_cache(maxsize=1024)
def _power(exponent: int) -> Fraction:
    return Fraction(2) ** exponent
