"""The scenario oracle's values against the literal oracle of values: two arithmetics that share nothing."""

from random import Random

import numpy as np
import pytest

from tessbed.scenarios.oracle import values as oracle_values
from tests import value_oracle
from tests.geometries import ROUNDINGS, SCALES
from tests.words import covering_words, telling_words


def lanes(words: list[int], count: int = 4) -> list[np.ndarray]:
    """The byte lanes of words."""
    return oracle_values.bytes_of(np.array(words, np.int64), count)


def test_narrowing() -> None:
    """Every exponent, every tie and all NaN classes."""
    words = covering_words()
    low, high = oracle_values.narrowing(lanes(words), {})
    got = low.astype(int) | high.astype(int) << 8
    assert got.tolist() == [value_oracle.narrowed(word) for word in words]


@pytest.mark.parametrize("scale_bits", SCALES, ids=hex)
def test_quantizing(scale_bits: int) -> None:
    """Words near every tie, of any kind and special ones, in all four roundings."""
    for number, rounding in enumerate(value_oracle.ROUNDINGS):
        for zero_point in (-128, 3):
            words = telling_words(400, scale_bits, rounding)
            parameters = {"scale": scale_bits, "zero_point": zero_point & 0xFF, "rounding": number}
            (codes,) = oracle_values.quantizing(lanes(words), parameters)
            wanted = [value_oracle.quantized(word, scale_bits, zero_point, rounding) for word in words]
            assert codes.view(np.int8).tolist() == wanted
    assert set(ROUNDINGS) == set(value_oracle.ROUNDINGS)


def test_dequantizing() -> None:
    """All 256 codes with 40 scales and zero points."""
    random = Random(40)
    for scale_bits in (*SCALES, *(random.randint(1, 0x7F7FFFFF) for _ in range(33))):
        zero_point = random.randint(-128, 127)
        parameters = {"scale": scale_bits, "zero_point": zero_point & 0xFF}
        made = oracle_values.spelled_words(oracle_values.dequantizing([np.arange(256, dtype=np.uint8)], parameters))
        codes = [byte - 256 if byte > 127 else byte for byte in range(256)]
        assert made.tolist() == [value_oracle.dequantized(code, scale_bits, zero_point) for code in codes]
