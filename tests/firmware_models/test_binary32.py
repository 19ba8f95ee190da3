"""The vision processor's arithmetic against the literal oracle of values: all kinds of words, codes and scales."""

from random import Random

import numpy as np
import pytest

from tessbed.firmware_models import binary32
from tests import value_oracle
from tests.geometries import SCALES
from tests.words import covering_words, telling_words


def test_narrowing() -> None:
    """Every exponent, every tie and all NaN classes."""
    words = covering_words()
    assert binary32.narrow(np.array(words, np.uint32)).tolist() == [value_oracle.narrowed(word) for word in words]


@pytest.mark.parametrize("scale_bits", SCALES, ids=hex)
def test_quantizing(scale_bits: int) -> None:
    """Words near every tie, special ones and any, in all four roundings, with any zero point."""
    for number, rounding in enumerate(value_oracle.ROUNDINGS):
        for zero_point in (-128, 3, 127):
            words = telling_words(300, scale_bits, rounding)
            codes = binary32.quantize(np.array(words, np.uint32), scale_bits, zero_point, number)
            wanted = [value_oracle.quantized(word, scale_bits, zero_point, rounding) for word in words]
            assert codes.tolist() == wanted


def test_dequantizing() -> None:
    """All 256 codes with 40 scales and zero points."""
    random = Random(41)
    for scale_bits in (*SCALES, *(random.randint(1, 0x7F7FFFFF) for _ in range(33))):
        zero_point = random.randint(-128, 127)
        codes = [byte - 256 if byte > 127 else byte for byte in range(256)]
        wanted = [value_oracle.dequantized(code, scale_bits, zero_point) for code in codes]
        assert binary32.dequantize_table(scale_bits, zero_point).tolist() == wanted
