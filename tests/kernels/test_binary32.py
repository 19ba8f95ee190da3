"""Words of numbers against the machine's own conversion, where it has one, and by hand at the ends."""

from math import inf, nan, nextafter
from random import Random
from struct import pack, unpack

import pytest

from tessbed.kernels.binary32 import INFINITY, text_of, word_of

LARGEST = 2.0**128 - 2.0**104
HALF_ABOVE = 2.0**128 - 2.0**103
SMALLEST = 2.0**-149


@pytest.mark.parametrize(
    ("number", "word"),
    [
        (1.0, 0x3F800000),
        (0.1, 0x3DCCCCCD),
        (1 + 2**-24, 0x3F800000),
        (1 + 3 * 2**-24, 0x3F800002),
        (2 - 2**-25, 0x40000000),
        (LARGEST, 0x7F7FFFFF),
        (nextafter(HALF_ABOVE, 0), 0x7F7FFFFF),
        (HALF_ABOVE, INFINITY),
        (inf, INFINITY),
        (nan, INFINITY),
        (2.0**-126, 0x00800000),
        (2.0**-126 - 2.0**-150, 0x00800000),
        (SMALLEST, 1),
        (SMALLEST / 2, 0),
        (nextafter(SMALLEST / 2, 1), 1),
        (5e-324, 0),
        (0.0, 0),
        (-0.0, 0),
        (-1.0, 0),
        (-inf, 0),
    ],
)
def test_word(number: float, word: int) -> None:
    """Ties to even, carries into the exponent, subnormal numbers, and what is not positive."""
    assert word_of(number) == word


def test_any_number() -> None:
    """The nearest binary32 number is the one that the machine rounds to."""
    random = Random(32)
    for _ in range(20_000):
        number = abs(unpack("<d", random.randbytes(8))[0])
        number = number if 2.0**-160 < number < LARGEST else random.random() * 2.0 ** random.randint(-150, 127)
        assert word_of(number) == unpack("<I", pack("<f", number))[0], number


@pytest.mark.parametrize(
    ("word", "text"), [(0x3DCCCCCD, "0.1"), (0x437F0000, "255"), (0x7F7FFFFF, "3.4028235e+38"), (1, "1e-45")]
)
def test_text(word: int, text: str) -> None:
    """As few digits as name the word."""
    assert text_of(word) == text
