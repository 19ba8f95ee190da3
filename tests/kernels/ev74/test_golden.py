"""Golden packets: the encoder, the decoder and a reader written by others agree with kept bytes."""

from pathlib import Path

import pytest

from tessbed.kernels.ev74.codec import Packet
from tessbed.kernels.ev74.rules import check_packet
from tests.golden.by_hand import hex_of
from tests.kernels.ev74 import kaitai
from tests.kernels.ev74.cases import BOUND, FOLDER, corrupted, golden_packets
from tests.kernels.ev74.crc import crc32

NAMES = sorted(path.stem for path in FOLDER.glob("*.bin"))
BY_HAND = sorted(path.stem for path in FOLDER.glob("*.hex"))


def golden(name: str) -> bytes:
    return (FOLDER / f"{name}.bin").read_bytes()


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> kaitai.Reader:
    """The reader that Kaitai Struct makes of docs/packet.ksy."""
    try:
        return kaitai.Reader(kaitai.install(), tmp_path_factory.mktemp("kaitai"))
    except kaitai.Unavailable as reason:
        pytest.skip(str(reason))


def test_every_golden_job_has_its_kept_packet() -> None:
    """Encoding the golden jobs today gives the kept bytes, and no kept packet is without its job."""
    assert golden_packets() == {name: golden(name) for name in NAMES}


@pytest.mark.parametrize("name", BY_HAND)
def test_the_bytes_written_by_hand_are_the_packet(name: str) -> None:
    """Bytes written out by hand from the format's description equal the kept packet."""
    assert hex_of((FOLDER / f"{name}.hex").read_text(encoding="utf-8")) == golden(name)


@pytest.mark.parametrize("name", NAMES)
def test_the_checksum_is_the_ieee_crc_of_everything_else(name: str) -> None:
    """A bit-by-bit CRC-32 over bytes 0 to 11 and 16 to the end gives the stored checksum."""
    raw = golden(name)
    assert crc32(raw[:12] + raw[16:]) == int.from_bytes(raw[12:16], "little")


@pytest.mark.parametrize("name", NAMES)
def test_golden_packets_are_valid(name: str) -> None:
    """Every kept packet passes its own checks, and only the bound one says that it is bound."""
    check_packet(golden(name))
    assert Packet(golden(name)).bound == (name == f"{BOUND[0]}-bound")


def test_a_generated_reader_sees_the_same_fields(reader: kaitai.Reader) -> None:
    """The reader that Kaitai Struct generates from packet.ksy gives every field of every golden packet."""
    seen = reader.read([FOLDER / f"{name}.bin" for name in NAMES])
    assert seen == [check_packet(golden(name)) for name in NAMES]


LIMITS = (
    ("magic", 0),
    ("version_major", 2),
    ("version_minor", 2),
    ("packet_bytes", 215),
    ("op", 3),
    ("tiled_dtype", 4),
    ("linear_dtype", 5),
    ("tile_format", 6),
    ("outer_rank", 6),
    ("flags", 0x8000),
    ("c_extent", 0),
    ("w_tile", 0),
    ("reserved", 1),
    ("reloc0_field", 208),
    ("reloc1_port", 0),
    ("reloc1_access", 1),
    ("reloc0_alignment", 32),
    ("reloc1_required_bytes", 0),
    ("reloc1_required_bytes", 2**63 + 2**32),
    ("scale", 0x7F800000),
    ("rounding", 4),
    ("parameters_reserved", 1),
    ("reloc1_reserved", 1),
)


def test_a_generated_reader_knows_the_limits(reader: kaitai.Reader, tmp_path: Path) -> None:
    """The limits of single fields are in packet.ksy, too: the generated reader refuses each at the field at fault."""
    paths = [tmp_path / f"{index}.bin" for index in range(len(LIMITS))]
    for path, (name, value) in zip(paths, LIMITS, strict=True):
        path.write_bytes(corrupted(golden("tess-2x17-pad16"), **{name: value}))
    refusals = [str(refusal).partition(":")[0] for refusal in reader.read(paths)]
    assert refusals == [camel(name) for name, _ in LIMITS]


def camel(name: str) -> str:
    """The field's name as the JavaScript reader spells it."""
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))
