"""What holds for any bytes at all, and a source of bytes that come close to being packets."""

from collections.abc import Iterator, Sequence
from random import Random

from tessbed.kernels.disassembly import disassemble
from tessbed.kernels.ev74.codec import PacketFault, pack_packet, seal
from tessbed.kernels.ev74.fields import BY_NAME, FIELDS
from tessbed.kernels.ev74.refusals import REFUSAL_BY_CODE
from tessbed.kernels.ev74.rules import check_packet

VALID = "valid"


def outcome(raw: bytes) -> str:
    """VALID or the fault's code. Bytes are the one packet that says what it says, or raise a documented fault."""
    try:
        values = check_packet(raw)
    except PacketFault as fault:
        return _documented(fault)
    assert pack_packet(values).raw == raw
    return VALID


def _documented(fault: PacketFault) -> str:
    assert not REFUSAL_BY_CODE[fault.code].on_device
    assert fault.field in BY_NAME
    return fault.code


def listing_agrees(raw: bytes) -> bool:
    """Whether the disassembly, which must exist for any bytes, says of `raw` what the decoder says."""
    first, second = disassemble(raw).splitlines()[:2]
    code = outcome(raw)
    return ", valid, " in first if code == VALID else "refused" in first and second.endswith(f"[{code}]")


def near_packets(seeds: Sequence[bytes], random: Random) -> Iterator[bytes]:
    """Endless byte strings, random or mutations of `seeds`, up to three at once; every second has its CRC repaired."""
    while True:
        for repaired in (False, True):
            raw = random.randbytes(random.randrange(400))
            if random.random() < 0.9:
                raw = random.choice(seeds)
                for _ in range(random.choice((1, 1, 2, 3))):
                    raw = random.choice(_MUTATIONS)(raw, seeds, random)
            yield seal(raw) if repaired and len(raw) >= BY_NAME["crc32"].end else raw


def _flip(raw: bytes, seeds: Sequence[bytes], random: Random) -> bytes:
    changed = bytearray(raw or b"\0")
    changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _overwrite(raw: bytes, seeds: Sequence[bytes], random: Random) -> bytes:
    start, length = random.randrange(len(raw) + 1), random.randrange(1, 9)
    return raw[:start] + random.randbytes(length) + raw[start + length :]


def _set_field(raw: bytes, seeds: Sequence[bytes], random: Random) -> bytes:
    """A field set to a value near a bound, to a neighbour of its own, or to another field's value."""
    field, other = random.choice(FIELDS), random.choice(FIELDS)
    old = int.from_bytes(raw[field.offset : field.end], "little")
    near = (0, 1, old - 1, old + 1, old * 2, field.limit + 1, 1 << random.randrange(64))
    value = random.choice((*near, int.from_bytes(raw[other.offset : other.end], "little")))
    return raw[: field.offset] + (value % 256**field.width).to_bytes(field.width, "little") + raw[field.end :]


def _splice(raw: bytes, seeds: Sequence[bytes], random: Random) -> bytes:
    cut = random.choice(FIELDS).offset
    return raw[:cut] + random.choice(seeds)[cut:]


def _resize(raw: bytes, seeds: Sequence[bytes], random: Random) -> bytes:
    if random.random() < 0.8:
        return raw
    return (
        raw[: random.randrange(len(raw) + 1)] if random.random() < 0.5 else raw + random.randbytes(random.randrange(40))
    )


_MUTATIONS = (_flip, _overwrite, _set_field, _set_field, _splice, _resize)
