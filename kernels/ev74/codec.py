"""Packets: versioned, relocatable bytes that describe one job to the EV74; nothing but these bytes reaches the device.

Encoding leaves both addresses zero. Binding makes a copy with the addresses filled in; the template stays as it was.
The decoder trusts nothing: any bytes either decode, or raise the one PacketFault with a documented code and the field.
"""

import zlib
from collections.abc import Mapping

import attrs

from tessbed.kernels.ev74.fields import BY_NAME, FIELDS, LAYOUT, PACKET_BYTES, PORTS, VERSION_MAJOR, Field

PREFIX = {"magic": "magic", "version_major": "version", "version_minor": "version"}
"""The fields that are judged before the length, and the code of a wrong value."""
_CRC = BY_NAME["crc32"]


class PacketFault(ValueError):
    """A refused packet: `code` is that of a row of REFUSALS; `field` is the field at fault."""

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
        return all(read(self.raw, BY_NAME[f"{port}_address"]) for port in PORTS)

    def bind(self, input_address: int, output_address: int) -> "Packet":
        """A copy with both device addresses where the relocation table says; only they and the checksum differ.

        Raises PacketFault if these bytes are no packet, OverflowError if an address needs more than 64 bits. Whether
        the addresses suit the job is for the runtime and for the firmware.
        """
        values = decode(self.raw)
        addresses = (input_address, output_address)
        patches = {
            values[f"reloc{index}_field"]: addresses[values[f"reloc{index}_port"]] for index in range(len(PORTS))
        }
        return pack_packet(values | {field.name: patches[field.offset] for field in FIELDS if field.offset in patches})


def read(raw: bytes, field: Field) -> int:
    """The field's value in `raw`, which must be long enough."""
    return int.from_bytes(raw[field.offset : field.end], "little")


def checksum(raw: bytes) -> int:
    """CRC-32 over every byte but the checksum's own."""
    return zlib.crc32(raw[_CRC.end :], zlib.crc32(raw[: _CRC.offset]))


def seal(raw: bytes) -> bytes:
    """A copy of `raw`, which must reach behind the checksum, with the checksum that its other bytes ask for."""
    return raw[: _CRC.offset] + checksum(raw).to_bytes(_CRC.width, "little") + raw[_CRC.end :]


def pack_packet(values: Mapping[str, int]) -> Packet:
    """The packet that holds `values` (absent fields are zero) and its checksum. Raises OverflowError, never narrows."""
    return Packet(seal(b"".join(values.get(field.name, 0).to_bytes(field.width, "little") for field in FIELDS)))


def decode(raw: bytes) -> dict[str, int]:
    """Every field by name, each within its own limits. Raises PacketFault; what they mean together is for rules.py.

    Magic and version come first, so that a longer packet of a later version is refused for its version.
    """
    for name in PREFIX:
        if len(raw) < BY_NAME[name].end:
            break
        _check(BY_NAME[name], read(raw, BY_NAME[name]))
    if len(raw) != PACKET_BYTES:
        raise PacketFault("size", "packet_bytes", f"got {len(raw)} bytes, wanted {PACKET_BYTES}")
    values = dict(zip(BY_NAME, LAYOUT.unpack(raw), strict=True))
    wanted = checksum(raw)
    if values["crc32"] != wanted:
        raise PacketFault("crc", "crc32", f"got {values['crc32']:#010x}, wanted {wanted:#010x}")
    minor = values["version_minor"]
    for field in FIELDS:
        if field.since_minor > minor and values[field.name]:
            text = f"got {values[field.name]:#x}, wanted 0: version {VERSION_MAJOR}.{field.since_minor} made the field"
            raise PacketFault("noncanonical", field.name, text)
        _check(field, values[field.name])
    return values


def _check(field: Field, value: int) -> None:
    if not field.admits(value):
        code = PREFIX.get(field.name, "noncanonical" if field.reserved else "range")
        raise PacketFault(code, field.name, f"got {value:#x}, wanted {_wanted(field)}")


def _wanted(field: Field) -> str:
    if field.names:
        return " or ".join(f"{value} ({field.names[value]})" for value in field.values)
    return f"{field.low:#x}" if field.low == field.limit else f"{field.low} to {field.limit}"
