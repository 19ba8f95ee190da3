"""Packets: versioned, relocatable bytes that tell the EV74 one job; nothing but these bytes reaches the device.

Encoding leaves both addresses zero. Binding makes a copy with the addresses filled in; the template stays as it was.
The decoder trusts nothing: any bytes either decode, or raise the one PacketFault with a documented code and the field.
"""

import zlib
from collections.abc import Mapping

import attrs

from tessbed.kernels.ev74.fields import BY_NAME, FIELDS, PACKET_BYTES, Field

FAULTS = {
    "size": "the bytes are fewer or more than a packet",
    "magic": "the bytes are no packet",
    "version": "the packet's version is not one that this reader knows",
    "crc": "the checksum does not match the bytes",
    "range": "a field holds a value outside its limits",
    "noncanonical": "a field that must be zero here is not",
    "geometry": "fields contradict each other",
    "alignment": "an address is not a multiple of what its port needs",
    "overlap": "the spans of input and output intersect",
    "unbound": "an address is still zero",
}
PREFIX = ("magic", "version_major", "version_minor")


class PacketFault(ValueError):
    """Bytes that are not a valid packet: `code` is a key of FAULTS, `field` the field at fault."""

    def __init__(self, code: str, field: str, text: str) -> None:
        super().__init__(f"{field}: {text} [{code}]")
        self.code = code
        self.field = field
        self.text = text


@attrs.frozen
class Packet:
    """The bytes of one packet. Made by `encode_relocatable`, `bind` or `pack`; `decode` reads it."""

    raw: bytes

    @property
    def bound(self) -> bool:
        """True where both addresses are filled in."""
        return all(read(self.raw, BY_NAME[name]) for name in ("input_address", "output_address"))

    def bind(self, input_address: int, output_address: int) -> "Packet":
        """A copy with both device addresses where the relocation table says; only they and the checksum differ.

        Raises PacketFault if these bytes are no packet, OverflowError if an address needs more than 64 bits.
        """
        values = decode(self.raw)
        addresses = (input_address, output_address)
        patches = {values[f"reloc{index}_field"]: addresses[values[f"reloc{index}_port"]] for index in range(2)}
        return pack(values | {field.name: patches[field.offset] for field in FIELDS if field.offset in patches})


def read(raw: bytes, field: Field) -> int:
    """The field's value in `raw`, which must be long enough."""
    return int.from_bytes(raw[field.offset : field.end], "little")


def checksum(raw: bytes) -> int:
    """CRC-32 over every byte but the checksum's own."""
    crc = BY_NAME["crc32"]
    return zlib.crc32(raw[crc.end :], zlib.crc32(raw[: crc.offset]))


def pack(values: Mapping[str, int]) -> Packet:
    """The packet that holds `values` (absent fields are zero) and its checksum. Raises OverflowError, never narrows."""
    raw = bytearray(PACKET_BYTES)
    for field in FIELDS:
        raw[field.offset : field.end] = values.get(field.name, 0).to_bytes(field.width, "little")
    crc = BY_NAME["crc32"]
    raw[crc.offset : crc.end] = checksum(bytes(raw)).to_bytes(crc.width, "little")
    return Packet(bytes(raw))


def decode(raw: bytes) -> dict[str, int]:
    """Every field by name, each within its own limits. Raises PacketFault; what they mean together is for rules.py.

    Magic and version come first, so that a longer packet of a later version is refused for its version.
    """
    prefix = [BY_NAME[name] for name in PREFIX]
    for field in prefix:
        if len(raw) < field.end:
            raise PacketFault("size", "packet_bytes", f"got {len(raw)} bytes, wanted {PACKET_BYTES}")
        _check(field, read(raw, field))
    if len(raw) != PACKET_BYTES:
        raise PacketFault("size", "packet_bytes", f"got {len(raw)} bytes, wanted {PACKET_BYTES}")
    values = {field.name: read(raw, field) for field in FIELDS}
    wanted = checksum(raw)
    if values["crc32"] != wanted:
        raise PacketFault("crc", "crc32", f"got {values['crc32']:#010x}, wanted {wanted:#010x}")
    for field in FIELDS:
        _check(field, values[field.name])
    return values


def _check(field: Field, value: int) -> None:
    if field.low <= value <= field.limit and (field.names is None or value in field.names):
        return
    raise PacketFault(_range_code(field), field.name, f"got {value:#x}, wanted {_wanted(field)}")


def _range_code(field: Field) -> str:
    if field.name in PREFIX:
        return "magic" if field.name == "magic" else "version"
    return "range" if field.limit else "noncanonical"


def _wanted(field: Field) -> str:
    if field.low == field.limit:
        return f"{field.low:#x}"
    if field.names:
        return " or ".join(f"{number} ({name})" for number, name in field.names.items() if number <= field.limit)
    return f"{field.low} to {field.limit}"
