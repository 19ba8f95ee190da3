"""Golden bytes written by hand from the documents: each case names a rule, shows the input and the output as hex.

Nothing here was generated. A remark follows `#`; spaces separate what belongs together. Scalars are chosen so that the
hex shows the coordinates: mostly one digit for the pixel and one for the channel, high bytes of BF16 with the top bit
set. Padding of inputs is poisoned (`ee` in channels, `dd` in alignment), so that reading it shows.
"""

from dataclasses import dataclass

from tests.oracle import Geometry


@dataclass(frozen=True)
class ByHand:
    """One operation, its input and its output over the required spans; gaps of the output hold 0xC3."""

    name: str
    geometry: Geometry
    source: bytes
    expected: bytes


def hex_of(text: str) -> bytes:
    """The bytes of lines of hex; `#` starts a remark, `xx*n` is n times the byte xx."""
    words = " ".join(line.partition("#")[0] for line in text.splitlines()).split()
    return b"".join(_word(word) for word in words)


def _word(word: str) -> bytes:
    digits, _, times = word.partition("*")
    return bytes.fromhex(digits) * int(times or "1")


WC = (-1, -1, 0, 1)

_LINEAR_2X17 = hex_of("""
    0080 0181 0282 0383 0484 0585 0686 0787 0888 0989 0a8a 0b8b 0c8c 0d8d 0e8e 0f8f 1090  # pixel 0, channels 0 to 16
    20a0 21a1 22a2 23a3 24a4 25a5 26a6 27a7 28a8 29a9 2aaa 2bab 2cac 2dad 2eae 2faf 30b0  # pixel 1
""")

TESS = (
    ByHand(
        "[2,17] compact is 80 bytes",
        Geometry("tess", (2, 17), "bf16", WC, (1, 1, 2, 16)),
        _LINEAR_2X17,
        hex_of("""
            000102030405060708090a0b0c0d0e0f  # first channel tile, pixel 0: low bytes of channels 0 to 15
            808182838485868788898a8b8c8d8e8f  # their high bytes
            202122232425262728292a2b2c2d2e2f  # pixel 1
            a0a1a2a3a4a5a6a7a8a9aaabacadaeaf
            10 90 30 b0                       # second channel tile: channel 16 of pixels 0 and 1, low, high
            00*12                             # alignment
        """),
    ),
    ByHand(
        "[2,17] PadTo16 is 128 bytes",
        Geometry("tess", (2, 17), "bf16", WC, (1, 1, 2, 16), pad16=True),
        _LINEAR_2X17,
        hex_of("""
            000102030405060708090a0b0c0d0e0f 808182838485868788898a8b8c8d8e8f  # pixel 0: no padding in a full tile
            202122232425262728292a2b2c2d2e2f a0a1a2a3a4a5a6a7a8a9aaabacadaeaf
            10 00*15  90 00*15  # channel 16 of pixel 0: both planes padded with positive zero
            30 00*15  b0 00*15
        """),
    ),
    ByHand(
        "INT8 PadTo16 fills each tile's channels with the given byte",
        Geometry("tess", (2, 3), "int8", WC, (1, 1, 2, 2), pad16=True, fill=-128),
        hex_of("00 01 02  10 11 12"),
        hex_of("""
            00 01 80*14  # channels 0 and 1 of pixel 0
            10 11 80*14
            02 80*15     # the tail tile's single channel
            12 80*15
        """),
    ),
    ByHand(
        "INT8 fill of -7 is 0xf9, and a full block has none",
        Geometry("tess", (1, 17), "int8", WC, (1, 1, 1, 32), pad16=True, fill=-7),
        hex_of("000102030405060708090a0b0c0d0e0f 10"),
        hex_of("000102030405060708090a0b0c0d0e0f 10 f9*15"),
    ),
    ByHand(
        "each tile ends with zeros up to 16 bytes, the boundary tile at its own extent",
        Geometry("tess", (3, 3), "int8", WC, (1, 1, 2, 3)),
        hex_of("00 01 02  10 11 12  20 21 22"),
        hex_of("""
            00 01 02 10 11 12 00*10  # pixels 0 and 1
            20 21 22 00*13           # pixel 2
        """),
    ),
    ByHand(
        "a fill given to Compact is unused: alignment stays zero",
        Geometry("tess", (2, 3), "int8", WC, (1, 1, 2, 3), fill=-1),
        hex_of("00 01 02  10 11 12"),
        hex_of("00 01 02 10 11 12 00*10"),
    ),
    ByHand(
        "a tile of exactly 16 bytes has no alignment bytes, one of 17 has 15",
        Geometry("tess", (33,), "int8", (-1, -1, -1, 0), (1, 1, 1, 17)),
        hex_of("000102030405060708090a0b0c0d0e0f10  202122232425262728292a2b2c2d2e2f"),
        hex_of("000102030405060708090a0b0c0d0e0f 10 00*15  202122232425262728292a2b2c2d2e2f"),
    ),
    ByHand(
        "tiles go C, D, H, W with W fastest",
        Geometry("tess", (2, 2, 2, 2), "int8", (0, 1, 2, 3), (1, 1, 1, 1)),
        hex_of("d0 d1 d2 d3  d4 d5 d6 d7  e0 e1 e2 e3  e4 e5 e6 e7"),  # d/e: depth; then 4h + 2w + c
        hex_of("""
            d0 00*15 d2 00*15 d4 00*15 d6 00*15 e0 00*15 e2 00*15 e4 00*15 e6 00*15  # channel 0
            d1 00*15 d3 00*15 d5 00*15 d7 00*15 e1 00*15 e3 00*15 e5 00*15 e7 00*15  # channel 1
        """),
    ),
    ByHand(
        "pixels inside a tile go D, H, W, each with its planes of channels",
        Geometry("tess", (2, 2, 2, 2), "bf16", (0, 1, 2, 3), (2, 2, 2, 2)),
        hex_of("""
            0080 0181  0282 0383  0484 0585  0686 0787  # depth 0; low byte: 4h + 2w + c
            1090 1191  1292 1393  1494 1595  1696 1797  # depth 1
        """),
        hex_of("""
            00 01 80 81  02 03 82 83  04 05 84 85  06 07 86 87
            10 11 90 91  12 13 92 93  14 15 94 95  16 17 96 97
        """),
    ),
    ByHand(
        "depth in tiles of 2 with a boundary of 1, height in tiles of 1",
        Geometry("tess", (3, 2, 1, 2), "int8", (0, 1, 2, 3), (2, 1, 1, 2)),
        hex_of("00 01 02 03  10 11 12 13  20 21 22 23"),  # first digit depth, second 2h + c
        hex_of("""
            00 01 10 11 00*12  # depths 0 and 1 of row 0
            02 03 12 13 00*12  # depths 0 and 1 of row 1
            20 21 00*14        # depth 2, row 0
            22 23 00*14
        """),
    ),
    ByHand(
        "boundary tiles on H and W at once",
        Geometry("tess", (3, 3, 1), "int8", (-1, 0, 1, 2), (1, 2, 2, 1)),
        hex_of("00 01 02  10 11 12  20 21 22"),
        hex_of("00 01 10 11 00*12  02 12 00*14  20 21 00*14  22 00*15"),
    ),
    ByHand(
        "channel first: the mapping picks the channels, not their place in the shape",
        Geometry("tess", (3, 1, 2), "int8", (-1, 1, 2, 0), (1, 1, 2, 2), pad16=True, fill=127),
        hex_of("00 10  01 11  02 12"),  # planes of two pixels; first digit pixel, second channel
        hex_of("""
            00 01 7f*14  10 11 7f*14
            02 7f*15     12 7f*15
        """),
    ),
    ByHand(
        "unmapped axes are outer slices in row-major order, around a channel axis in the middle",
        Geometry("tess", (2, 2, 2), "int8", (-1, -1, -1, 1), (1, 1, 1, 2)),
        hex_of("00 01 02 03  10 11 12 13"),  # axis 0 | axis 1 (channels), axis 2 as 2c + k
        hex_of("00 02 00*14  01 03 00*14  10 12 00*14  11 13 00*14"),
    ),
    ByHand(
        "strided input: its gaps are skipped, its axes permuted",
        Geometry("tess", (2, 2), "int8", WC, (1, 1, 2, 2), strides_bytes=(1, 5)),
        hex_of("00 10 aa bb cc 01 11"),
        hex_of("00 01 10 11 00*12"),
    ),
    ByHand(
        "tile extents larger than their axes are clipped",
        Geometry("tess", (1, 2), "bf16", WC, (1, 1, 9, 99)),
        hex_of("0080 0181"),
        hex_of("00 01 80 81 00*12"),
    ),
)

_CBLOCKED_17 = hex_of("""
    # the tile of row 0: two pixels, two blocks of channels
    000102030405060708090a0b0c0d0e0f 808182838485868788898a8b8c8d8e8f  # block 0, pixel 0: 16 low, 16 high bytes
    202122232425262728292a2b2c2d2e2f a0a1a2a3a4a5a6a7a8a9aaabacadaeaf  # block 0, pixel 1
    10 ee*15  90 ee*15                                                 # block 1, pixel 0: channel 16 only
    30 ee*15  b0 ee*15                                                 # block 1, pixel 1
    # the tile of row 1
    404142434445464748494a4b4c4d4e4f c0c1c2c3c4c5c6c7c8c9cacbcccdcecf
    606162636465666768696a6b6c6d6e6f e0e1e2e3e4e5e6e7e8e9eaebecedeeef
    50 ee*15  d0 ee*15
    70 ee*15  f0 ee*15
""")

_LINEAR_2X2X17 = hex_of("""
    0080 0181 0282 0383 0484 0585 0686 0787 0888 0989 0a8a 0b8b 0c8c 0d8d 0e8e 0f8f 1090
    20a0 21a1 22a2 23a3 24a4 25a5 26a6 27a7 28a8 29a9 2aaa 2bab 2cac 2dad 2eae 2faf 30b0
    40c0 41c1 42c2 43c3 44c4 45c5 46c6 47c7 48c8 49c9 4aca 4bcb 4ccc 4dcd 4ece 4fcf 50d0
    60e0 61e1 62e2 63e3 64e4 65e5 66e6 67e7 68e8 69e9 6aea 6beb 6cec 6ded 6eee 6fef 70f0
""")

DETESS = (
    ByHand(
        "pitched [2,3] FP32 spans 28 bytes and leaves the gap alone",
        Geometry("detesscast", (2, 3), "bf16", WC, (1, 1, 2, 3), strides_bytes=(16, 4), to="fp32"),
        hex_of("""
            80 81 00  3f 7f 80  # pixel 0: 3f80 (1.0), 7f81 (signalling NaN), 8000 (-0): low bytes, high bytes
            80 01 ff  ff 00 ff  # pixel 1: ff80 (-inf), 0001 (subnormal), ffff (NaN payload)
            dd*4                # alignment, ignored
        """),
        hex_of("""
            0000803f 0000817f 00000080  c3c3c3c3
            000080ff 00000100 0000ffff
        """),
    ),
    ByHand(
        "DetessCast to BF16 keeps the words and the gap",
        Geometry("detesscast", (2, 3), "bf16", WC, (1, 1, 2, 3), strides_bytes=(8, 2), to="bf16"),
        hex_of("80 81 00 3f 7f 80  80 01 ff ff 00 ff  dd*4"),
        hex_of("803f 817f 0080 c3c3  80ff 0100 ffff"),
    ),
    ByHand(
        "PadTo16 BF16: padded channels of both planes are ignored",
        Geometry("detess", (2, 1), "bf16", WC, (1, 1, 2, 1), pad16=True),
        hex_of("01 ee*15  81 ee*15  02 ee*15  82 ee*15"),
        hex_of("0181 0282"),
    ),
    ByHand(
        "INT8: channel padding and alignment are ignored",
        Geometry("detess", (3, 2), "int8", WC, (1, 1, 2, 2)),
        hex_of("00 01 10 11 dd*12  20 21 dd*14"),
        hex_of("00 01 10 11 20 21"),
    ),
    ByHand(
        "scattered channels: channel stride of 3 scalars, pixel stride of 1",
        Geometry("detess", (2, 2), "bf16", WC, (1, 1, 2, 2), strides_bytes=(2, 6)),
        hex_of("00 01 80 81  10 11 90 91  dd*8"),
        hex_of("0080 1090 c3c3 0181 1191"),
    ),
    ByHand(
        "CBlocked: a 17-channel tile has a block of one valid lane a pixel",
        Geometry("detesscast", (2, 2, 17), "bf16", cblocked=(1, 2, 32), to="bf16"),
        _CBLOCKED_17,
        _LINEAR_2X2X17,
    ),
    ByHand(
        "CBlocked: channel tiles of 16 come before rows",
        Geometry("detesscast", (2, 1, 17), "bf16", cblocked=(1, 1, 16), to="bf16"),
        hex_of("""
            000102030405060708090a0b0c0d0e0f 808182838485868788898a8b8c8d8e8f  # channels 0 to 15, row 0
            202122232425262728292a2b2c2d2e2f a0a1a2a3a4a5a6a7a8a9aaabacadaeaf  # row 1
            10 ee*15  90 ee*15                                                 # channel 16, row 0
            30 ee*15  b0 ee*15
        """),
        _LINEAR_2X17,
    ),
    ByHand(
        "CBlocked: earlier axes are volumes of their own, widened to FP32",
        Geometry("detesscast", (2, 1, 1, 2), "bf16", cblocked=(4, 4, 4), to="fp32"),
        hex_of("01 02 ee*14  81 82 ee*14  03 04 ee*14  83 84 ee*14"),
        hex_of("00000181 00000282  00000383 00000484"),
    ),
)

BY_HAND = TESS + DETESS
