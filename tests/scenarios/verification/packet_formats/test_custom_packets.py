"""Packets of one's own at the command line: verified, shown, compared, flipped; errors of a table at their places."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessbed as package
from tessbed.scenarios.verification.packet_formats import device_trial
from tessbed.scenarios.verification.packet_formats.device_trial import FormatBench
from tessbed.scenarios.verification.packet_formats.format_file import (
    CHECKSUM,
    FIELD,
    FORMAT,
    MAPPING,
    read_format,
)
from tessbed.scenarios.verification.packet_formats.format_flips import FormatFlipOutcome, flip_format_bits
from tessbed.sim.spec.device_spec import DeviceSpec
from tests.cli.conftest import Tessbed
from tests.cli.conftest import tessbed as command

__all__ = ["command"]
ROOT = Path(__file__).parents[4]
EXAMPLES = ROOT / "examples" / "formats"
NAMES = ("descriptor64", "packed12")
TINY = """\
name = "tiny"
bytes = 2
[[fields]]
name = "kind"
offset = 0
bits = 8
values = { one = 1, two = 2 }
[[fields]]
name = "spare"
offset = 1
bits = 4
reserved = true
[[fields]]
name = "count"
offset = 1
bit = 4
bits = 4
high = 9
"""


def paths(name: str) -> tuple[Path, Path]:
    """The table and the packet of an example."""
    return EXAMPLES / f"{name}.toml", EXAMPLES / f"{name}.bin"


@pytest.mark.parametrize("name", NAMES)
def test_verify(name: str, command: Tessbed) -> None:
    """An example that ships is valid, runs on the device, and writes the right bytes."""
    table, packet = paths(name)
    said = command("verify", "--format", table, packet)
    assert said.code == 0
    assert re.search(r": valid, as \w+ of 1x5x6x20 [\d,]+ device ticks, [\d,]+ bytes right\n$", said.out)
    (document,) = json.loads(command("verify", "--format", table, packet, "--json").out)
    assert (document["fault"], document["run"]["right"]) == (None, True)


def test_the_descriptor_says_what_it_seems_to() -> None:
    """The device writes what the array function makes of the same tensor: two ways that share no line of the map."""
    table, packet = paths("descriptor64")
    bench = FormatBench(read_format(str(table)), packet.read_bytes(), DeviceSpec())
    tensor = np.ndarray((5, 6, 20), np.uint16, bench.source.data, 0, (256, 40, 2))
    wanted = package.tess(tensor, tile=(2, 3, 16), axes="HWC")
    assert bench.run(packet.read_bytes()).output == wanted.tobytes()
    assert bench.source.any()


def test_the_command_says_what_it_seems_to() -> None:
    """The same for the bit-packed one, whose strides count 16 bytes."""
    table, packet = paths("packed12")
    bench = FormatBench(read_format(str(table)), packet.read_bytes(), DeviceSpec())
    out = np.full(len(bench.run(packet.read_bytes()).output), 0xC3, np.uint8)
    view = np.ndarray((5, 6, 20), np.uint16, out.data, 0, (320, 48, 2))
    package.detess(bench.source, shape=(5, 6, 20), dtype="uint16", tile=(2, 3, 16), axes="HWC", out=view)
    assert bench.run(packet.read_bytes()).output == out.tobytes()


def test_wrong_bytes_are_found(command: Tessbed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the device writes a wrong byte the verdict is 1, and so is that of the flips."""
    real = device_trial.verify

    def spoilt(case, source, output, prefill):
        output = np.array(output)
        output[11] ^= 1
        return real(case, source, output, prefill)

    monkeypatch.setattr(device_trial, "verify", spoilt)
    table, packet = paths("descriptor64")
    said = command("verify", "--format", table, packet)
    assert said.code == 1
    assert "bytes wrong: " in said.out
    assert command("verify", "--format", table, "--census", packet).code == 1


REFUSED: dict[str, Any] = {
    "size": (lambda raw: raw[:-1], r"packet: got 63 bytes, wanted 64 \[size\]"),
    "check sum": (lambda raw: raw[:8] + b"\7" + raw[9:], r"crc: got 0x[0-9a-f]+, wanted 0x[0-9a-f]+ \[checksum\]"),
    "magic": ("magic", 5, r"magic: got 0x00000005, wanted 0x43534544 \[range\]"),
    "reserved": ("flags", 1, r"flags: got 0x001, wanted 0x000 \[reserved\]"),
    "a name": ("opcode", 0x14, r"opcode: got 20 = unknown, wanted 17 \(tess\) or 18 \(detess\) or 19"),
    "a limit": ("queue", 9, r"queue: got 9, wanted 0 to 7 \[range\]"),
    "our rules": ("tile_rows", 6, r"tile_rows: as h_tile: got 6, wanted at most the extent 5 \[geometry\]"),
    "our strides": ("column_pitch", 38, r"as w_stride: got 38, wanted at least 40: elements overlap \[geometry\]"),
    "our types": ("element", 1, r"as linear_dtype: got int8/bf16 \(tiled/linear\), tess has"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_refused(case: Any, command: Tessbed, tmp_path: Path) -> None:
    """A packet that its table or our rules refuse is named by its own field, with what was got and wanted."""
    table, packet = paths("descriptor64")
    raw, known = packet.read_bytes(), read_format(str(table)).format
    change, *value, text = case  # a function of the bytes, or a field and its value; then the words
    bad: Any = change(raw) if callable(change) else known.sealed(known.by_name[change].written(raw, value[0]))
    (tmp_path / "bad.bin").write_bytes(bad)
    said = command("verify", "--format", table, tmp_path / "bad.bin")
    assert said.code == 1
    assert re.search(f"bad.bin: refused: .*{text}", said.out), said.out
    shown = command("disasm", "--format", table, tmp_path / "bad.bin").out
    assert "refused\nfault: " in shown


@pytest.mark.parametrize("name", NAMES)
def test_disasm_and_diff(name: str, command: Tessbed, tmp_path: Path) -> None:
    """A listing has a line for each field; a difference has one for each that differs, and none for equal packets."""
    table, packet = paths(name)
    known = read_format(str(table)).format
    lines = command("disasm", "--format", table, packet).out.splitlines()
    assert lines[0] == f"{name}: packet of {known.nbytes} bytes, valid"
    assert [line.split()[2] for line in lines[2 : 2 + len(known.fields)]] == [field.name for field in known.fields]
    assert "in words" in lines[3 + len(known.fields)]
    other = tmp_path / "other.bin"
    field = next(field for field in known.fields if field.bits == 10 or field.name == "rows_less_1")
    other.write_bytes(known.sealed(field.written(packet.read_bytes(), 3)))
    said = command("diff", "--format", table, packet, other)
    assert (said.code, len(said.out.splitlines())) == (1, 2)
    assert re.search(rf"{field.name} .* -> 3", said.out)
    assert command("diff", "--format", table, packet, packet).code == 0
    other.write_bytes(packet.read_bytes() + b"xx")
    assert "(trailing)" in command("diff", "--format", table, packet, other).out
    (document,) = json.loads(command("disasm", "--format", table, packet, "--json").out)
    assert set(document["fields"]) == set(known.by_name)


@pytest.mark.parametrize("name", NAMES)
def test_every_bit_is_explained(name: str, command: Tessbed) -> None:
    """Each bit is flipped; those of mapped fields show on the device, the check sum catches every one."""
    table, packet = paths(name)
    said = command("verify", "--format", table, "--census", packet, "--json")
    (found,) = json.loads(said.out)["packets"]
    known = read_format(str(table))
    assert (said.code, found["verdict"]) == (0, "ok")
    assert len(found["flips"]) == found["bits"] == 8 * known.format.nbytes
    assert {flip["with_old_sum"] for flip in found["flips"]} == {"checksum"}
    outcomes = {(flip["field"], flip["outcome"]) for flip in found["flips"]}
    assert {field for field, outcome in outcomes if outcome == "reserved"} == {
        field.name for field in known.format.fields if field.reserved
    }
    unmapped = {field for field, outcome in outcomes if outcome == "not mapped"}
    assert unmapped
    assert not unmapped & set(known.map.sources() if known.map else ())
    assert any(outcome == "output" for _, outcome in outcomes)
    shown = command("verify", "--format", table, "--census", packet)
    assert shown.out.splitlines()[-1] == f"ok: {8 * known.format.nbytes:,} bits explained"


def test_a_format_without_map_and_check_sum(tmp_path: Path, command: Tessbed) -> None:
    """It is decoded and flipped all the same; nothing is run, and no check sum is missed."""
    table, packet = tmp_path / "tiny.toml", tmp_path / "tiny.bin"
    table.write_text(TINY)
    packet.write_bytes(b"\1\x30")
    assert command("verify", "--format", table, packet).out == f"{packet}: valid\n"
    bits = list(flip_format_bits(read_format(str(table)), packet.read_bytes(), None))
    assert [bit.outcome for bit in bits[:8]] == [FormatFlipOutcome.REFUSED] * 8
    assert [bit.outcome for bit in bits[8:12]] == [FormatFlipOutcome.RESERVED] * 4
    assert [bit.outcome for bit in bits[12:]] == [FormatFlipOutcome.UNMAPPED] * 3 + [FormatFlipOutcome.REFUSED]
    assert all(bit.explained for bit in bits)


MISTAKES = {
    "two fields on a bit": ("bit = 4\nbits = 4", "bit = 3\nbits = 5", ":15:10: fields[2].offset: got bit 3 of byte 1"),
    "a bit of none": (
        "bit = 4\nbits = 4\nhigh = 9",
        "bit = 5\nbits = 3",
        "got 1 bits that belong to no field",
    ),
    "beyond the packet": ("bits = 4\nhigh", "bits = 12\nhigh", ":15:10: fields[2].offset: got a field that"),
    "too large a value": ("two = 2", "two = 256", ":7:27: fields[0].values.two: got 256, wanted at most 255"),
    "a name twice": ('name = "count"', 'name = "spare"', ':14:8: fields[2].name: got "spare", the name of fields[1]'),
    "limits": ("high = 9", "low = 7\nhigh = 3", ":18:7: fields[2].low: got 7, wanted no more than high, 3"),
    "two ways": (
        "high = 9",
        "high = 9\nvalue = 3",
        "got value and high, wanted one of value, values",
    ),
    "an unknown key": ("high = 9", "hihg = 9", ":18:1: fields[2].hihg: unknown key, wanted name, offset, bit"),
    "a width": ("bits = 8", "bits = 65", ":6:8: fields[0].bits: got 65, wanted an integer from 1 to 64"),
    "no such check sum": ("high = 9", 'high = 9\n[checksum]\nfield = "cout"\nkind = "sum8"', "did you mean count?"),
    "a narrow check sum": (
        "high = 9",
        'high = 9\n[checksum]\nfield = "count"\nkind = "sum8"',
        "got count, a field of 4 bits, wanted 8: those of sum8",
    ),
    "a map": ("high = 9", 'high = 9\n[map]\nop = "kin"', 'map.op: got "kin", wanted the name of a field, or tess, '),
    "half a map": ("high = 9", 'high = 9\n[map]\nop = "kind"', "map.c_extent: missing, wanted a field of this"),
    "a key of none of ours": ("high = 9", 'high = 9\n[map]\nextent = "kind"', "map.extent: unknown key"),
    "an outer axis": ("high = 9", 'high = 9\n[map]\nouter1_extent = "kind"', "got outer1_extent without outer0_"),
    "syntax": ("bytes = 2", "bytes = ", ":2:9: TOML syntax"),
}


@pytest.mark.parametrize(("old", "new", "text"), MISTAKES.values(), ids=MISTAKES.keys())
def test_errors_of_a_table(old: str, new: str, text: str, tmp_path: Path, command: Tessbed) -> None:
    """Each error of a table is at its line and column, and nothing is judged by it."""
    table = tmp_path / "tiny.toml"
    assert old in TINY
    table.write_text(TINY.replace(old, new))
    said = command("verify", "--format", table, paths("packed12")[1])
    assert (said.code, said.out) == (2, "")
    assert text in said.err


def test_usage(command: Tessbed, tmp_path: Path) -> None:
    """A table that is not there, packets that are not, and options of scenarios are refused by their names."""
    table, packet = paths("packed12")
    assert command("verify", "--format", "nope.toml", packet).err == (
        "nope.toml: no such file, wanted a packet format in TOML\n"
    )
    said = command("verify", "--format", table, packet, tmp_path / "none.bin")
    assert said.code == 2
    assert "valid, as detess" in said.out
    assert "none.bin" in said.err
    assert "--format: wanted no --set" in command("verify", "--format", table, packet, "--seed", "3").err
    (tmp_path / "bad.bin").write_bytes(b"x" * 24)
    assert (
        "the bits of a valid packet are flipped"
        in command("verify", "--format", table, "--census", tmp_path / "bad.bin").err
    )


def test_the_page_has_every_key() -> None:
    """docs/packet-formats.md explains each key of a format."""
    page = (ROOT / "docs" / "packet-formats.md").read_text()
    tables = (
        ("", FORMAT),
        ("fields[].", FIELD),
        ("checksum.", CHECKSUM),
    )
    names = [f"`{prefix}{key.name}`" for prefix, keys in tables for key in keys if not key.table]
    names += [", ".join(key.name for key in MAPPING)]
    assert [name for name in names if name not in page] == []
