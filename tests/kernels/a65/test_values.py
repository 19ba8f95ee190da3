"""Conversions of values on every row engine: every kind of word, every code, by the literal oracle of values."""

from random import Random

import numpy as np
import pytest

from tests.geometries import FAMILY, ROUNDINGS, SCALES, random_geometries
from tests.kernels.a65.running import assert_right
from tests.oracle import Geometry, expected_output
from tests.words import as_bytes, covering_words, source_of, telling_words

HWC = (-1, 0, 1, 2)
GEOMETRIES = random_geometries(1200, 13, FAMILY)


def row(op: str, dtype: str, scalars: int, **options) -> Geometry:
    """A dense row of `scalars` pixels of one channel."""
    return Geometry(op, (1, scalars, 1), dtype, HWC, (1, 1, scalars, 1), to="fp32", **options)


def test_geometries_of_every_rank() -> None:
    """96 geometries of ranks 1 to 6 are right: strides, paddings, channel blocks, all four roundings."""
    assert {len(geometry.shape) for geometry in GEOMETRIES[:96]} == {1, 2, 3, 4, 5, 6}
    for geometry in GEOMETRIES[:96]:
        assert_right(geometry, source_of(geometry))


@pytest.mark.long
@pytest.mark.parametrize("part", range(12))
def test_three_hundred_geometries_of_each(part: int) -> None:
    """So are 300 of each kind."""
    for geometry in GEOMETRIES[part::12]:
        assert_right(geometry, source_of(geometry))


def test_narrowing_covers_every_class() -> None:
    """Every exponent, ties at every place and all NaN classes become the BF16 word that the oracle says."""
    words = covering_words()
    assert_right(row("casttess", "bf16", len(words)), as_bytes(words))


@pytest.mark.parametrize(("channels", "tiled"), [(16, 16), (17, 17), (31, 31), (32, 32), (40, 40), (64, 64), (48, 16)])
def test_narrowing_covers_every_class_in_pixels(channels: int, tiled: int) -> None:
    """So do they as channels of pixels, in tiles of all or of 16 of them, next to words of all other classes."""
    words = covering_words()
    Random(channels).shuffle(words)
    pixels = len(words) // channels
    geometry = Geometry("casttess", (1, pixels, channels), "bf16", HWC, (1, 1, pixels, tiled), to="fp32")
    assert_right(geometry, as_bytes(words[: pixels * channels]))


@pytest.mark.parametrize("at", [0, 7, 15, 16, 31])
@pytest.mark.parametrize("word", [0x7F800000, 0xFF800000, 0x7F800001, 0xFFFFFFFF, 0x7F7FFFFF], ids=hex)
def test_one_special_word_among_numbers(word: int, at: int) -> None:
    """A single infinity or NaN changes no neighbour, wherever it is in a step of 32."""
    words = [0x3F808000 + number * 0x10001 for number in range(32)]
    words[at] = word
    geometry = Geometry("casttess", (1, 1, 32), "bf16", HWC, (1, 1, 1, 32), to="fp32")
    assert_right(geometry, as_bytes(words))
    assert_right(row("casttess", "bf16", 32), as_bytes(words))


def test_every_bf16_word_is_kept() -> None:
    """All 65,536 BF16 words, widened to FP32, become themselves, but for NaNs, which are made quiet."""
    words = np.arange(1 << 16, dtype=np.uint32) << np.uint32(16)
    geometry = row("casttess", "bf16", 1 << 16)
    quiet = [word | 0x40 if word & 0x7F80 == 0x7F80 and word & 0x7F else word for word in range(1 << 16)]
    assert expected_output(geometry, words.tobytes()) == np.array(quiet, np.uint16).tobytes()
    assert_right(geometry, words.tobytes())


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("scale_bits", SCALES, ids=hex)
def test_quantizing(rounding: str, scale_bits: int) -> None:
    """Words of every class, and neighbours of every tie, become the codes that the oracle says, for each zero point."""
    for zero_point in (-128, -1, 0, 17, 127):
        words = telling_words(700, scale_bits, rounding)
        options = {"scale_bits": scale_bits, "zero_point": zero_point, "rounding": rounding}
        assert_right(row("quanttess", "int8", len(words), **options), as_bytes(words))


def test_every_code_with_a_hundred_scales() -> None:
    """All 256 codes are dequantized right with 100 scales, subnormal and huge ones among them."""
    random = Random(100)
    for number in range(100):
        scale_bits = SCALES[number] if number < len(SCALES) else random.randint(1, 0x7F7FFFFF)
        zero_point = random.choice((-128, 0, 127, random.randint(-128, 127)))
        assert_right(row("detessdequant", "int8", 256, scale_bits=scale_bits, zero_point=zero_point), bytes(range(256)))


WIDE = {
    "a pixel of 5,000 channels": ((1, 2, 5000), (1, 2, 5000), "hwc"),
    "a pixel of 5,000 channels, padded": ((1, 3, 4999), (1, 3, 4999), "hwc"),
    "a pixel of 4,099 channels, whose last piece is small": ((1, 3, 4099), (1, 3, 4099), "hwc"),
    "scattered channels beyond a piece": ((1, 40, 300), (1, 40, 300), "chw"),
    "rows beyond a piece": ((1, 3000, 3), (1, 3000, 3), "chw"),
    "a pitch": ((3, 700, 5), (3, 700, 5), "pitched"),
}


@pytest.mark.parametrize("kind", FAMILY, ids=lambda kind: f"{kind[0]}-{kind[2] or kind[1]}")
@pytest.mark.parametrize("pad16", [False, True], ids=["compact", "pad16"])
@pytest.mark.parametrize(("shape", "tile", "order"), WIDE.values(), ids=list(WIDE))
def test_what_does_not_fit_a_piece(kind, pad16: bool, shape, tile, order: str) -> None:
    """Rows and pixels that are larger than a piece are cut where no byte changes."""
    op, dtype, to = kind
    width = 4 if to == "fp32" else 2
    height, columns, channels = shape
    strides = {
        "hwc": None,
        "chw": (columns * width, width, height * columns * width),
        "pitched": (columns * (channels + 3) * width, (channels + 3) * width, width),
    }[order]
    geometry = Geometry(op, shape, dtype, HWC, (1, *tile), pad16, strides_bytes=strides, to=to, zero_point=-3)
    assert_right(geometry, source_of(geometry))
