"""The table of fields reads and writes bits as a slow, literal reading of them does."""

import itertools
import random
from pathlib import Path

import pytest

from tessbed.scenarios.verification.packet_formats.field_table import (
    CHECKSUMS,
    Checksum,
    Endianness,
    FormatFault,
    FormatField,
    PacketFormat,
)
from tessbed.scenarios.verification.packet_formats.format_file import read_format

EXAMPLES = Path(__file__).parents[4] / "examples" / "formats"
BY_HAND: list[tuple[FormatField, str, int]] = [
    (FormatField("byte", 8, 8), "00 a7 00", 0xA7),
    (FormatField("little word", 0, 16), "34 12", 0x1234),
    (FormatField("big word", 0, 16, "big"), "12 34", 0x1234),
    (FormatField("low nibble", 0, 4), "a7", 0x7),
    (FormatField("high nibble of a big byte", 0, 4, "big"), "a7", 0xA),
    (FormatField("twelve little bits from the middle", 4, 12), "3f 12", 0x123),
    (FormatField("twelve big bits from the start", 0, 12, "big"), "12 3f", 0x123),
    (FormatField("twelve big bits from the middle", 4, 12, "big"), "f1 23", 0x123),
    (FormatField("ten big bits over a border", 14, 10, "big"), "00 02 aa", 0x2AA),
    (FormatField("64 big bits", 8, 64, "big"), "ff 01 02 03 04 05 06 07 08", 0x0102030405060708),
]


@pytest.mark.parametrize(("field", "text", "value"), BY_HAND, ids=[field.name for field, *_ in BY_HAND])
def test_by_hand(field: FormatField, text: str, value: int) -> None:
    """Values worked out on paper."""
    raw = bytes.fromhex(text)
    assert field.read(raw) == value
    assert field.written(raw, value) == raw


def bits_of(raw: bytes, endianness: Endianness) -> str:
    """All bits in the order in which a field of that endianness goes on."""
    return "".join(f"{byte:08b}" if endianness == "big" else f"{byte:08b}"[::-1] for byte in raw)


@pytest.mark.parametrize("endianness", ["little", "big"])
def test_against_a_string_of_bits(endianness: Endianness) -> None:
    """Every start and width of a packet of seven bytes: a field is a run of that string."""
    draw = random.Random(7)
    raw = draw.randbytes(7)
    text = bits_of(raw, endianness)
    for start, bits in itertools.product(range(56), range(1, 57)):
        if start + bits > 56:
            continue
        run = text[start : start + bits]
        field = FormatField("f", start, bits, endianness)
        assert field.read(raw) == int(run if endianness == "big" else run[::-1], 2)
        value = draw.getrandbits(bits)
        written = field.written(raw, value)
        assert field.read(written) == value
        after = bits_of(written, endianness)
        assert (after[:start], after[start + bits :]) == (text[:start], text[start + bits :])
        changed = {8 * i + j for i in range(7) for j in range(8) if (raw[i] ^ written[i]) >> j & 1}
        assert changed <= set(field.places())
        assert len(set(field.places())) == bits


def test_too_large_a_value() -> None:
    """A value that does not fit is never narrowed."""
    with pytest.raises(OverflowError, match="needs more than 4 bits"):
        FormatField("f", 0, 4).written(b"\0", 16)


KNOWN = {
    "crc32": 0xCBF43926,
    "crc16": 0x29B1,
    "sum8": sum(b"123456789") % 256,
    "sum16": sum(b"123456789"),
    "sum32": sum(b"123456789"),
    "xor8": 0x31,
}


@pytest.mark.parametrize("kind", CHECKSUMS)
def test_check_sums(kind: str) -> None:
    """The check values of "123456789" that the literature gives, and a packet that carries one."""
    bits, compute = CHECKSUMS[kind]
    assert compute(b"123456789") == KNOWN[kind]
    sum_field = FormatField("sum", 72, bits)
    fields = FormatField("a", 0, 64), FormatField("b", 64, 8), sum_field
    table = PacketFormat("f", "", 9 + bits // 8, fields, Checksum("sum", kind, 0, 9))
    raw = table.sealed(b"123456789" + bytes(bits // 8))
    assert int.from_bytes(raw[9:], "little") == KNOWN[kind]
    assert table.decode(raw)["sum"] == KNOWN[kind]
    with pytest.raises(FormatFault, match=r"sum: got .*, wanted .* \[checksum\]"):
        table.decode(bytes([raw[0] ^ 1]) + raw[1:])


@pytest.mark.parametrize("name", ["descriptor64", "packed12"])
def test_random_bytes(name: str) -> None:
    """Any bytes decode or raise the one documented error."""
    table, draw = read_format(str(EXAMPLES / f"{name}.toml")).format, random.Random(3)
    good = (EXAMPLES / f"{name}.bin").read_bytes()
    for _ in range(300):
        raw = bytearray(good if draw.random() < 0.7 else draw.randbytes(draw.randrange(80)))
        for _ in range(draw.randrange(4)):
            if raw:
                raw[draw.randrange(len(raw))] = draw.randrange(256)
        for packet in (bytes(raw), table.sealed(bytes(raw)) if len(raw) == table.nbytes else bytes(raw)):
            values, code = outcome(table, packet)
            assert code in ("ok", "size", "checksum", "reserved", "range")
            assert values is None or table.packed(values) == packet


def outcome(table: PacketFormat, packet: bytes) -> tuple[dict[str, int] | None, str]:
    """The fields and "ok", or the code of the refusal."""
    try:
        return table.decode(packet), "ok"
    except FormatFault as fault:
        return None, fault.code
