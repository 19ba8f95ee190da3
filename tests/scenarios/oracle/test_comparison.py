"""The product's own check of bytes: it agrees with the literal oracle, and names the first byte that is wrong."""

import tracemalloc
from dataclasses import asdict
from hashlib import sha256
from random import Random

import numpy as np
import pytest

from tessbed.scenarios.oracle import claims, comparison
from tessbed.scenarios.oracle.comparison import OracleCase
from tests import oracle as literal
from tests.geometries import FAMILY, name_of, random_geometries
from tests.golden.by_hand import BY_HAND, ByHand
from tests.golden.corners import CORNERS
from tests.golden.realworld import REALWORLD, Recorded
from tests.oracle import PREFILL, Geometry
from tests.value_oracle import ROUNDINGS

RANDOM = [*random_geometries(432, 77), *random_geometries(48, 77, FAMILY)]
SMALL = [geometry for geometry in RANDOM if 2 <= literal.output_bytes(geometry) <= 300]
BY_NAME = {case.name: case for case in BY_HAND}


def case_of(geometry: Geometry) -> OracleCase:
    """The same plain values."""
    given = asdict(geometry)
    numbers = {
        "scale": given.pop("scale_bits"),
        "zero_point": given.pop("zero_point") & 0xFF,
        "rounding": ROUNDINGS.index(given.pop("rounding")),
    }
    return OracleCase(**given, parameters=tuple(numbers.items()))


def source_of(geometry: Geometry) -> bytes:
    """Random bytes over the input's required span, the same every time."""
    return Random(name_of(geometry)).randbytes(literal.input_bytes(geometry))


@pytest.mark.quick
@pytest.mark.parametrize("case", BY_HAND, ids=lambda case: case.name)
def test_by_hand(case: ByHand) -> None:
    """The hand-written bytes are expected and accepted."""
    mine = case_of(case.geometry)
    assert comparison.expected_output(mine, case.source, PREFILL).tobytes() == case.expected
    assert comparison.verify(mine, case.source, case.expected, PREFILL) is None


@pytest.mark.parametrize("case", REALWORLD, ids=lambda case: case.name)
def test_realworld(case: Recorded) -> None:
    """The recorded SHA-256 of a real model's tensor comes out."""
    mine = case_of(case.geometry)
    input_bytes, output_bytes = comparison.required_bytes(mine)
    assert sorted((input_bytes, output_bytes)) == sorted((case.tiled_bytes, case.linear_bytes))
    output = comparison.expected_output(mine, comparison.golden_bytes(input_bytes), PREFILL)
    assert sha256(output.tobytes()).hexdigest() == case.sha256


@pytest.mark.parametrize("geometry", RANDOM, ids=map(name_of, RANDOM))
def test_agrees_with_the_literal_oracle(geometry: Geometry) -> None:
    """Spans and bytes equal those of the byte-at-a-time walk."""
    assert comparison.required_bytes(case_of(geometry)) == (
        literal.input_bytes(geometry),
        literal.output_bytes(geometry),
    )
    agree(geometry)


@pytest.mark.parametrize("geometry", CORNERS.values(), ids=list(CORNERS))
def test_corners(geometry: Geometry) -> None:
    """Larger and wider tensors, which take many blocks, agree too."""
    agree(geometry)


@pytest.mark.parametrize("geometry", SMALL, ids=map(name_of, SMALL))
def test_blocks_may_be_cut_anywhere(geometry: Geometry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 7 places, which cut pixels, tiles and gaps apart, claim the same bytes."""
    monkeypatch.setattr(claims, "BLOCK_ELEMENTS", 7)
    agree(geometry)


def agree(geometry: Geometry) -> None:
    """Both oracles expect the same bytes, and this one accepts them."""
    mine, source = case_of(geometry), source_of(geometry)
    expected = literal.expected_output(geometry, source, PREFILL)
    assert comparison.expected_output(mine, source, PREFILL).tobytes() == expected
    assert comparison.verify(mine, source, expected, PREFILL) is None


@pytest.mark.parametrize("case", BY_HAND, ids=lambda case: case.name)
def test_each_flipped_byte_is_named(case: ByHand) -> None:
    """Whichever byte of an output is wrong, payload, padding, alignment or gap, it is found at its offset."""
    for offset, expected in enumerate(case.expected):
        output = bytearray(case.expected)
        output[offset] ^= 0x10
        found = comparison.verify(case_of(case.geometry), case.source, output, PREFILL)
        assert found is not None
        assert (found.offset, found.got, found.expected) == (offset, expected ^ 0x10, expected)


@pytest.mark.parametrize("geometry", SMALL, ids=map(name_of, SMALL))
def test_the_lowest_of_two_is_named(geometry: Geometry) -> None:
    """Of two wrong bytes the one at the lower offset is reported, whatever each of them is."""
    source, random = source_of(geometry), Random(name_of(geometry))
    expected = literal.expected_output(geometry, source, PREFILL)
    for _ in range(5):
        output = bytearray(expected)
        wrong = random.sample(range(len(output)), 2)
        for offset in wrong:
            output[offset] ^= 0xFF
        found = comparison.verify(case_of(geometry), source, output, PREFILL)
        assert found is not None
        assert found.offset == min(wrong)


@pytest.mark.parametrize(
    ("name", "offset", "text"),
    [
        ("[2,17] compact is 80 bytes", 19, "byte 1 of scalar [0, 3]"),
        ("[2,17] compact is 80 bytes", 66, "byte 0 of scalar [1, 16]"),
        ("[2,17] compact is 80 bytes", 70, "alignment byte 2 of the tile that begins with scalar [0, 16]"),
        ("[2,17] PadTo16 is 128 bytes", 127, "channel padding behind scalar [1, 16], byte plane 1"),
        ("INT8 PadTo16 fills each tile's channels with the given byte", 2, "channel padding behind scalar [0, 1]"),
        (
            "pitched [2,3] FP32 spans 28 bytes and leaves the gap alone",
            14,
            "byte 2 of the stride gap behind scalar [0, 2]",
        ),
        ("pitched [2,3] FP32 spans 28 bytes and leaves the gap alone", 26, "byte 2 of scalar [1, 2]"),
        (
            "scattered channels: channel stride of 3 scalars, pixel stride of 1",
            5,
            "of the stride gap behind scalar [1, 0]",
        ),
        ("boundary tiles on H and W at once", 18, "alignment byte 0 of the tile that begins with scalar [0, 2, 0]"),
    ],
)
def test_the_wrong_byte_is_explained(name: str, offset: int, text: str) -> None:
    """The report says what the byte is: which byte of which scalar, or what follows it."""
    case = BY_NAME[name]
    output = bytearray(case.expected)
    output[offset] ^= 1
    found = comparison.verify(case_of(case.geometry), case.source, output, PREFILL)
    assert text in str(found)
    assert str(found).startswith(f"output byte {offset}: got {output[offset]:#04x}, expected")


def test_short_buffers_are_refused() -> None:
    """A source or an output below the required span raises, with both sizes."""
    case = OracleCase("tess", (2, 17), "bf16", (-1, -1, 0, 1), (1, 1, 2, 16))
    with pytest.raises(ValueError, match="source: got 67 bytes, wanted at least 68"):
        comparison.expected_output(case, bytes(67), PREFILL)
    with pytest.raises(ValueError, match="output: got 79 bytes, wanted at least 80"):
        comparison.verify(case, bytes(68), bytes(79), PREFILL)


def test_capacity_beyond_the_spans_is_ignored() -> None:
    """Spare bytes behind the required spans are neither read nor judged."""
    case = BY_HAND[0]
    assert comparison.verify(case_of(case.geometry), case.source + b"x", case.expected + b"y", PREFILL) is None


def test_memory_stays_bounded() -> None:
    """Checking 8 million scalars takes less than 16 MiB beside the tensors themselves."""
    case = OracleCase("detess", (512, 512, 32), "int8", (-1, 0, 1, 2), (1, 31, 17, 9))
    input_bytes, output_bytes = comparison.required_bytes(case)
    source, output = np.zeros(input_bytes, np.uint8), np.zeros(output_bytes, np.uint8)
    tracemalloc.start()
    try:
        assert comparison.verify(case, source, output, PREFILL) is None
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_golden_pattern() -> None:
    """The vectorised pattern equals the literal one, across its own block border too."""
    assert comparison.golden_bytes(70_000).tobytes() == literal.golden_bytes(70_000)
    assert comparison.golden_bytes(0).size == 0
