"""Binary32 words that reach every corner of a conversion: every exponent, ties at every place, all classes of NaN."""

import struct
from random import Random

from tests.geometries import name_of
from tests.oracle import Geometry, input_bytes

SPECIAL = (
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x807FFFFF, 0x00800000, 0x7F7FFFFF, 0xFF7FFFFF,
    0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000, 0x7F800001, 0xFF800001, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FBFFFFF,
    0x7F80FFFF, 0x7F810000, 0x7FC01234, 0xFFA5A5A5, 0x7F7F8000, 0x7F7F7FFF, 0x00008000, 0x00018000, 0x00007FFF,
)  # fmt: skip
"""Zeros, the ends of subnormal and normal numbers, infinities, quiet and signalling NaNs, the last ones to round up."""


def covering_words() -> list[int]:
    """Every exponent with significands around the halves of a BF16 word, of both parities, and all SPECIAL words."""
    lower = (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)
    words = [
        sign << 31 | exponent << 23 | upper << 16 | low
        for sign in (0, 1)
        for exponent in range(256)
        for upper in (0, 1, 0x3F, 0x40, 0x7E, 0x7F)
        for low in lower
    ]
    return list(dict.fromkeys((*SPECIAL, *words)))


def around_ties(scale: float, count: int, random: Random) -> list[int]:
    """Words that a scale brings near to integers and halves from -140 to 140, and their neighbours."""
    words = []
    while len(words) < count:
        word = nearest_word(random.randint(-280, 280) / 2 / scale)
        words += [max(0, min(0xFFFFFFFF, word + step)) for step in (-1, 0, 1)]
    return words[:count]


def nearest_word(value: float) -> int:
    """The binary32 word of a value, by the standard library."""
    try:
        return int.from_bytes(struct.pack("<f", value), "little")
    except OverflowError:
        return 0x7F800000 if value > 0 else 0xFF800000


def telling_words(count: int, scale_bits: int, seed: object = 0) -> list[int]:
    """`count` words of all kinds: special ones, any, and those that the scale brings near to a tie."""
    random = Random(f"{seed}/{scale_bits}")
    scale = struct.unpack("<f", scale_bits.to_bytes(4, "little"))[0]
    ties = around_ties(scale, -(-count // 2), random)
    others = [random.choice((random.choice(SPECIAL), random.getrandbits(32))) for _ in range(count - len(ties))]
    words = ties + others
    random.shuffle(words)
    return words


def as_bytes(words: list[int]) -> bytes:
    """The words in memory."""
    return b"".join(word.to_bytes(4, "little") for word in words)


def source_of(geometry: Geometry) -> bytes:
    """Bytes of all kinds for a geometry's input: words near ties where it scales."""
    count = input_bytes(geometry)
    if geometry.to == "fp32" and geometry.op != "detessdequant":
        return as_bytes(telling_words(count // 4, geometry.scale_bits, name_of(geometry)))
    return Random(name_of(geometry)).randbytes(count)
