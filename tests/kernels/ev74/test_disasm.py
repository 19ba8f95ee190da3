"""Disassembly and difference: whatever the bytes, a person sees every field and the fault."""

from dataclasses import replace
from typing import Any

import pytest

from tessbed.kernels.disassembly import disassemble
from tessbed.kernels.ev74.diff import packet_changes, packet_difference
from tessbed.kernels.ev74.disasm import spell
from tessbed.kernels.ev74.encode import encode_plan
from tessbed.kernels.ev74.fields import BY_NAME, FIELDS, PACKET_BYTES, SECTIONS
from tests.contract.backends import plan_of
from tests.kernels.ev74.cases import BOUND, corrupted, golden_packets
from tests.oracle import Geometry
from tests.requests import request_of

PACKETS = golden_packets()
HEAD = PACKETS["cast-head"]
TEMPLATE, COPY = PACKETS[BOUND[0]], PACKETS[f"{BOUND[0]}-bound"]


@pytest.mark.parametrize("name", PACKETS)
def test_every_field_has_a_row_with_offset_bytes_value_and_meaning(name: str) -> None:
    """The listing has the rows of all fields in order, each with its own bytes, under its section's title."""
    raw, lines = PACKETS[name], disassemble(PACKETS[name]).splitlines()
    rows = [line for line in lines if line.startswith("  0x")]
    for field, row in zip(FIELDS, rows, strict=True):
        shown = raw[field.offset : field.end]
        value = spell(field, int.from_bytes(shown, "little"))
        assert row.split()[: 2 + field.width] == [f"{field.offset:#05x}", *shown.hex(" ").split(), field.name]
        assert row.endswith(field.meaning)
        assert f"  {value}  " in row
    assert [line for line in lines if line in SECTIONS.values()] == list(SECTIONS.values())
    assert lines[0] == f"packet of 216 bytes, valid, {'bound' if name.endswith('-bound') else 'unbound'}"


def test_a_valid_packet_is_followed_by_its_job_in_words() -> None:
    """Operation, ports, tiles and strides are spelt out."""
    assert disassemble(HEAD).partition("detesscast in words\n")[2].splitlines() == [
        "  input    bf16 in cblocked tiles: 819,200 bytes, address a multiple of 16",
        "  output   fp32, linear: 1,638,400 bytes, address a multiple of 4",
        "  C        64 elements, 4 linear bytes apart; 4 full tiles of 16",
        "  H        80 elements, 20,480 linear bytes apart; 5 full tiles of 16",
        "  W        80 elements, 256 linear bytes apart; 5 full tiles of 16",
    ]
    outer = disassemble(PACKETS["cast-outer"])
    assert "  outer0   1 element, 0 linear bytes apart\n  outer1   3 elements, 720 linear bytes apart\n" in outer
    assert "  W        9 elements, 40 linear bytes apart; 2 full tiles of 4 and a boundary tile of 1\n" in outer


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "scale 254.99998, zero point -128, rounding nearest_even"),
        ({"pad16": True, "rounding": "up"}, "scale 254.99998, zero point -128, rounding up, padded channels 7"),
        ({"op": "detessdequant", "scale_bits": 1, "zero_point": 127}, "scale 1e-45, zero point 127"),
        ({"op": "tess", "to": None, "pad16": True}, "padded channels 7"),
        ({"op": "tess", "to": None}, ""),
        ({"op": "casttess", "dtype": "bf16"}, ""),
    ],
    ids=["quanttess", "padded", "detessdequant", "tess padded", "tess", "casttess"],
)
def test_parameters_in_words(changes: dict[str, Any], words: str) -> None:
    """A conversion's scale, zero point and rounding are read as values, padding where there is any."""
    geometry = Geometry(
        "quanttess",
        (4, 5),
        "int8",
        (-1, -1, 0, 1),
        (1, 1, 2, 5),
        to="fp32",
        fill=7,
        scale_bits=0x437EFFFF,
        zero_point=-128,
    )
    listing = disassemble(encode_plan(plan_of(request_of(replace(geometry, **changes)))).raw)
    assert [line.removeprefix("  values   ") for line in listing.splitlines() if line.startswith("  values")] == (
        [words] if words else []
    )


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("op", 4, "4 = detesscast"),
        ("op", 3, "3 = unknown"),
        ("reloc0_field", 200, "200 = input_address"),
        ("h_stride", 20480, "20,480 bytes"),
        ("c_tile", 1, "1 element"),
        ("channel_fill", 0x80, "0x80"),
        ("output_address", 0x8000_0000, "0x0000000080000000"),
        ("outer_rank", 5, "5"),
    ],
)
def test_values_are_spelt_for_people(field: str, value: int, text: str) -> None:
    """Enumerations by name, counts with unit, patterns and addresses in hex."""
    assert spell(BY_NAME[field], value) == text


@pytest.mark.parametrize(
    ("raw", "fault", "marked"),
    [
        (corrupted(HEAD, crc32=1), "crc32: got 0x00000001, wanted 0x", ["crc32"]),
        (
            corrupted(HEAD, op=3, flags=2),
            "op: got 0x3, wanted 1 (tess) or 2 (detess) or 4 (detesscast)",
            ["op", "flags"],
        ),
        (corrupted(HEAD, h_tile=81), "h_tile: got 81, wanted at most the extent 80 [geometry]", ["h_tile"]),
        (HEAD[:206], "packet_bytes: got 206 bytes", ["packet_bytes", "input_address", "output_address"]),
        (HEAD + b"\x01\x02", "packet_bytes: got 218 bytes", ["packet_bytes", "01"]),
    ],
    ids=["crc", "two ranges", "geometry", "short", "trailing"],
)
def test_an_invalid_packet_is_shown_with_its_fault(raw: bytes, fault: str, marked: list[str]) -> None:
    """The first lines name the fault; rows that no packet may hold, and the row at fault, bear a mark."""
    lines = disassemble(raw).splitlines()
    assert lines[0] == f"packet of {len(raw)} bytes, refused"
    assert lines[1].startswith(f"fault: {fault}")
    rows = [line.split() for line in lines if line.startswith("! ")]
    assert len(rows) == len(marked)
    assert all(name in row for name, row in zip(marked, rows, strict=True))


def test_many_trailing_bytes_are_summed_up() -> None:
    """Four rows of trailing bytes are shown, the rest counted."""
    assert disassemble(HEAD + bytes(1000)).endswith("! 0x0f0  00 00 00 00 00 00 00 00\n! and 968 more\n")


def test_equal_packets_have_no_difference() -> None:
    """The difference of equal bytes is empty."""
    assert packet_difference(HEAD, HEAD) == ""


def test_a_difference_names_offset_field_and_both_values() -> None:
    """Binding shows as three fields."""
    assert [change.field.name for change in packet_changes(TEMPLATE, COPY)] == [
        "crc32",
        "input_address",
        "output_address",
    ]
    assert packet_difference(TEMPLATE, COPY).splitlines()[1:] == [
        "0x0c8  input_address          0x0000000000000000 -> 0x0000000080000000",
        "0x0d0  output_address         0x0000000000000000 -> 0x0000000080001004",
    ]


@pytest.mark.parametrize("name", [field.name for field in FIELDS])
def test_one_changed_field_is_one_difference(name: str) -> None:
    """Whatever field is changed, exactly that one is reported."""
    field = BY_NAME[name]
    changed = bytearray(HEAD)
    changed[field.end - 1] ^= 0x40
    assert [change.field.name for change in packet_changes(HEAD, bytes(changed))] == [name]


def test_bytes_that_are_missing_or_too_many_differ() -> None:
    """A short packet lacks fields, a long one has trailing bytes; both are reported, also when only they differ."""
    assert packet_difference(HEAD[:-1], HEAD) == "0x0d0  output_address         missing -> 0x0000000000000000\n"
    assert packet_difference(HEAD[:-1], HEAD[:-2]) == "0x0d0  output_address         missing -> missing\n"
    assert packet_difference(HEAD, HEAD + b"\0") == "0x0d8  (trailing)             0 -> 1 bytes, which differ\n"
    assert len(HEAD) == PACKET_BYTES
