"""The C header judges as we do: the same code at the same field, on valid, damaged and arbitrary bytes."""

import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from tessbed.kernels.ev74.codec import PacketFault, seal
from tessbed.kernels.ev74.fields import FIELDS, PACKET_BYTES
from tessbed.kernels.ev74.refusals import REFUSALS
from tessbed.kernels.ev74.rules import check_packet
from tests.geometries import FAMILY, random_geometries
from tests.kernels.ev74.cases import golden_packets, packet_of
from tests.oracle import input_bytes, output_bytes

DOCS = Path(__file__).parents[3] / "docs"
SOURCE = Path(__file__).parent / "header.c"
WARNINGS = ("-O1", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", f"-I{DOCS}")
COMPILERS = {
    "gcc, C99": ("gcc", "-std=c99"),
    "gcc, C++17": ("g++", "-x", "c++", "-std=c++17"),
    "Clang, C99": (sys.executable, "-m", "ziglang", "cc", "-std=c99"),
    "Clang, C++17": (sys.executable, "-m", "ziglang", "c++", "-x", "c++", "-std=c++17"),
}
Judge = Callable[[list[bytes]], list[str]]


def compiler(name: str) -> tuple[str, ...]:
    """The command of a compiler. Skips the test with a reason where there is none."""
    if "ziglang" in COMPILERS[name]:
        pytest.importorskip("ziglang", reason="needs the package ziglang, which has no wheel for this machine")
    elif not shutil.which(COMPILERS[name][0]):
        pytest.skip(f"needs {COMPILERS[name][0]}")
    return COMPILERS[name]


@pytest.mark.parametrize("name", COMPILERS)
def test_no_warning(name: str, tmp_path: Path) -> None:
    """Both compilers take the header as C99 and as C++, every warning an error."""
    command = [*compiler(name), *WARNINGS, "-c", str(SOURCE), "-o", str(tmp_path / "header.o")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert result.returncode == 0, result.stderr[:3000]


@pytest.fixture(scope="module", params=["gcc, C99", "Clang, C99"])
def judge(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Judge:
    """What the header says of packets, compiled by each compiler."""
    program = tmp_path_factory.mktemp("header") / "header"
    subprocess.run([*compiler(request.param), *WARNINGS, str(SOURCE), "-o", str(program)], check=True, timeout=280)

    def judged(packets: list[bytes]) -> list[str]:
        stream = b"".join(len(raw).to_bytes(4, "little") + raw for raw in packets)
        return (
            subprocess.run([str(program)], input=stream, capture_output=True, check=True).stdout.decode().splitlines()
        )

    return judged


def ours(raw: bytes) -> str:
    """The same in Python."""
    try:
        check_packet(raw)
    except PacketFault as fault:
        return f"{fault.code} {fault.field}"
    return "valid same bytes"


def valid_packets(count: int, seed: int) -> Iterator[bytes]:
    """Packets of random geometries of all operations; every other one is bound."""
    geometries = (*random_geometries(count, seed), *random_geometries(count, seed, FAMILY))
    random = Random(seed)
    for index, geometry in enumerate(geometry for geometry in geometries if 0 not in geometry.shape):
        packet = packet_of(geometry)
        if index % 2:
            source = 16 * random.randrange(1, 2**40)
            spans = input_bytes(geometry) + output_bytes(geometry)
            packet = packet.bind(source, source + 16 * (-(-spans // 16) + random.randrange(2**20)))
        yield packet.raw


def damaged(raw: bytes, random: Random) -> bytes:
    """A packet with some fields or bits changed, or of another length; half of them with the checksum repaired."""
    changed = bytearray(raw)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        field = random.choice(FIELDS)
        limit = 2 ** (8 * field.width) - 1
        old = int.from_bytes(changed[field.offset : field.end], "little")
        new = (0, 1, limit, field.limit, old + 1, old - 1, 2 * old, old ^ 1 << random.randrange(8 * field.width))
        near = int.from_bytes(changed[200:208], "little") + 16 * random.randrange(-9, 9)  # the input's address
        value = random.choice((*new, random.randrange(limit + 1), 1 << random.randrange(8 * field.width), near))
        changed[field.offset : field.end] = (value & limit).to_bytes(field.width, "little")
    if random.random() < 0.01:
        changed = changed[: random.randrange(PACKET_BYTES)] if random.random() < 0.5 else changed + bytes([1])
    return seal(bytes(changed)) if random.random() < 0.5 and len(changed) == PACKET_BYTES else bytes(changed)


def assert_agreement(judge: Judge, packets: list[bytes]) -> Counter[str]:
    """Both say the same of each packet; how often each code occurred."""
    theirs = judge(packets)
    wanted = list(map(ours, packets))
    assert [(raw.hex(), got, want) for raw, got, want in zip(packets, theirs, wanted, strict=True) if got != want] == []
    return Counter(verdict.split()[0] for verdict in wanted)


def test_valid_packets(judge: Judge) -> None:
    """Golden packets and those of random geometries are valid, and are encoded to the same bytes."""
    packets = [*golden_packets().values(), *valid_packets(150, 3)]
    assert assert_agreement(judge, packets) == {"valid": len(packets)}


@pytest.mark.parametrize("seed", range(4))
def test_damaged_packets(judge: Judge, seed: int) -> None:
    """Damaged packets, half of them with a good checksum, are refused with the same code at the same field."""
    random, originals = Random(seed), [*golden_packets().values(), *valid_packets(60, seed + 10)]
    seen = assert_agreement(judge, [damaged(random.choice(originals), random) for _ in range(3000)])
    assert seen.keys() >= {"size", "magic", "version", "crc", "range", "noncanonical", "geometry", "valid"}


def test_every_field_at_its_ends(judge: Judge) -> None:
    """Each field of each golden packet at 0, 1, its limit, all ones and the highest bit alone."""
    packets = []
    for raw in golden_packets().values():
        for field in FIELDS:
            for value in (0, 1, field.limit, 2 ** (8 * field.width) - 1, 2 ** (8 * field.width - 1)):
                changed = bytearray(raw)
                changed[field.offset : field.end] = value.to_bytes(field.width, "little")
                packets.append(seal(bytes(changed)))
    assert_agreement(judge, packets)


def test_arbitrary_bytes(judge: Judge) -> None:
    """Random bytes of any length, and packets cut short, are refused alike."""
    random = Random(9)
    noise = [random.randbytes(random.randrange(300)) for _ in range(300)]
    cut = [raw[:length] for raw in golden_packets().values() for length in range(0, PACKET_BYTES, 7)]
    assert_agreement(judge, [*noise, *cut])


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_hundred_thousand(judge: Judge) -> None:
    """10,000 valid packets and 90,000 damaged ones, half of those with a repaired checksum; every code occurs."""
    originals = list(valid_packets(5300, 77))
    assert len(originals) >= 10_000
    assert assert_agreement(judge, originals[:10_000]) == {"valid": 10_000}
    random, seen = Random(78), Counter[str]()
    for _ in range(90):
        seen += assert_agreement(judge, [damaged(random.choice(originals), random) for _ in range(1000)])
    assert seen.keys() >= {row.code for row in REFUSALS if not row.on_device}
