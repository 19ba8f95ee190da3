"""Binary32 words of numbers, by integers: no floating-point operation, so no mode has a say and no flag is raised."""

from struct import Struct

INFINITY = 0x7F800000
_SIGNIFICAND_BITS = 24
_LOWEST_EXPONENT = -149
_SINGLE, _DOUBLE, _DOUBLE_BITS = Struct("<f"), Struct("<d"), Struct("<q")
_FRACTION_BITS = 52
_DOUBLE_INFINITY = 0x7FF << _FRACTION_BITS


def word_of(number: float) -> int:
    """The bits of the binary32 number nearest to a positive one, ties to even; INFINITY from 2**128 on and for a NaN.

    0 for what is not positive.
    """
    (bits,) = _DOUBLE_BITS.unpack(_DOUBLE.pack(number))
    if bits >= _DOUBLE_INFINITY:
        return INFINITY
    if bits <= 0:
        return 0
    numerator, denominator = _ratio(bits)
    exponent = max(numerator.bit_length() - denominator.bit_length() - _SIGNIFICAND_BITS, _LOWEST_EXPONENT)
    units = _nearest(numerator, denominator, exponent)
    if units.bit_length() > _SIGNIFICAND_BITS:
        exponent += 1
        units = _nearest(numerator, denominator, exponent)
    carried = units >> _SIGNIFICAND_BITS
    units, exponent = units >> carried, exponent + carried
    if units < 1 << (_SIGNIFICAND_BITS - 1):
        return units
    return min(((exponent + 150) << 23) + units - (1 << 23), INFINITY)


def text_of(bits: int) -> str:
    """The fewest decimal digits that name a positive finite number among all of binary32."""
    (number,) = _SINGLE.unpack(bits.to_bytes(4, "little"))
    return next(text for digits in range(1, 10) if word_of(float(text := f"{number:.{digits}g}")) == bits)


def _ratio(bits: int) -> tuple[int, int]:
    """Numerator and denominator of a double. `float.as_integer_ratio` raises the inexact flag."""
    exponent, fraction = bits >> _FRACTION_BITS, bits & ((1 << _FRACTION_BITS) - 1)
    significand = fraction | (1 << _FRACTION_BITS if exponent else 0)
    power = max(exponent, 1) - 1023 - _FRACTION_BITS
    return significand << max(power, 0), 1 << max(-power, 0)


def _nearest(numerator: int, denominator: int, exponent: int) -> int:
    """numerator / denominator / 2**exponent to the nearest integer, ties to even."""
    if exponent > 0:
        denominator <<= exponent
    else:
        numerator <<= -exponent
    quotient, rest = divmod(numerator, denominator)
    return quotient + (2 * rest > denominator or (2 * rest == denominator and quotient % 2 == 1))
