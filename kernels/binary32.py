"""Binary32 words of numbers, by integers: no floating-point operation, so no rounding mode or flush has a say."""

INFINITY = 0x7F800000
_SIGNIFICAND_BITS = 24
_LOWEST_EXPONENT = -149


def word_of(number: float) -> int:
    """The bits of the binary32 number nearest to a nonnegative finite one, ties to even; INFINITY from 2**128 on."""
    numerator, denominator = number.as_integer_ratio()
    if numerator == 0:
        return 0
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


def _nearest(numerator: int, denominator: int, exponent: int) -> int:
    """numerator / denominator / 2**exponent to the nearest integer, ties to even."""
    if exponent > 0:
        denominator <<= exponent
    else:
        numerator <<= -exponent
    quotient, rest = divmod(numerator, denominator)
    return quotient + (2 * rest > denominator or (2 * rest == denominator and quotient % 2 == 1))
