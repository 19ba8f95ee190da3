"""Custom packets: from any bytes to a kernel call, or one documented fault.

Nothing but these bytes reaches the device. Binding fills in the addresses of a copy, where the relocations say.
"""

import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import prod

import attrs

from tessbed.kernels.custom.fields import (
    ACCESS,
    ARGUMENTS,
    BY_NAME,
    FIELDS,
    LAYOUT,
    LEVELS,
    MAGIC,
    NAME_BYTES,
    PACKET_BYTES,
    PORTS,
    RANK,
    CustomField,
)
from tessbed.kernels.custom.scalar_types import BY_CODE, ScalarType
from tessbed.kernels.ev74.codec import PacketFault

_CRC = BY_NAME["crc32"]
_PREFIX = {"magic": "magic", "version_major": "version", "version_minor": "version"}


@attrs.frozen
class CustomPacket:
    """The bytes of a packet that asks for a kernel of one's own."""

    raw: bytes

    def bind(self, addresses: Sequence[int]) -> "CustomPacket":
        """A copy with the device addresses of the ports, in order. Raises OverflowError for one beyond 64 bits."""
        raw = bytearray(self.raw)
        for index, address in enumerate(addresses):
            at = int.from_bytes(raw[_slice(BY_NAME[f"port{index}_relocation"])], "little")
            raw[at : at + 8] = address.to_bytes(8, "little")
        return CustomPacket(seal_custom(bytes(raw)))


@attrs.frozen
class CallPort:
    """A port as a packet says it; `width` are the bytes of a scalar."""

    scalar: str
    width: int
    shape: tuple[int, ...]
    written: bool
    alignment_bytes: int
    required_bytes: int
    address: int


@attrs.frozen
class KernelCall:
    """What a packet asks for. Arguments and ports are in the order of the kernel's declaration."""

    name: str
    digest: str
    level: str
    arguments: tuple[int | float, ...]
    ports: tuple[CallPort, ...]


def is_custom(raw: bytes) -> bool:
    """Whether bytes claim to be a custom packet."""
    return raw[:4] == MAGIC.to_bytes(4, "little")


def pack_custom(values: Mapping[str, int]) -> CustomPacket:
    """The packet that holds these values, zero elsewhere. Raises OverflowError, never narrows."""
    raw = b"".join(values.get(field.name, 0).to_bytes(field.width, "little") for field in FIELDS)
    return CustomPacket(seal_custom(raw))


def seal_custom(raw: bytes) -> bytes:
    """A copy with the checksum that its other bytes ask for."""
    return raw[: _CRC.offset] + custom_checksum(raw).to_bytes(_CRC.width, "little") + raw[_CRC.end :]


def custom_checksum(raw: bytes) -> int:
    """CRC-32 over every byte but the checksum's own."""
    return zlib.crc32(raw[_CRC.end :], zlib.crc32(raw[: _CRC.offset]))


def decode_fields(raw: bytes) -> dict[str, int]:
    """Every field by name, each within its limits. Raises PacketFault."""
    for name in _PREFIX:
        if len(raw) >= BY_NAME[name].end:
            _check(BY_NAME[name], read_custom(raw, BY_NAME[name]))
    if len(raw) != PACKET_BYTES:
        raise PacketFault("size", "packet_bytes", f"got {len(raw)} bytes, wanted {PACKET_BYTES}")
    words = LAYOUT.unpack(raw)
    values = {
        name: int.from_bytes(word, "little") if type(word) is bytes else word
        for name, word in zip(BY_NAME, words, strict=True)
    }
    if values["crc32"] != custom_checksum(raw):
        raise PacketFault("crc", "crc32", f"got {values['crc32']:#010x}, wanted {custom_checksum(raw):#010x}")
    for field in FIELDS:
        _check(field, values[field.name])
    return values


@lru_cache(maxsize=64)
def decode_call(raw: bytes) -> KernelCall:
    """The call of a packet whose fields go together; addresses may still be zero. Raises PacketFault."""
    values = decode_fields(raw)
    if values["packet_bytes"] != PACKET_BYTES:
        raise PacketFault("size", "packet_bytes", f"got {values['packet_bytes']}, wanted {PACKET_BYTES}")
    arguments = tuple(_arguments(raw, values))
    return KernelCall(
        _name(raw), raw[_slice(BY_NAME["hash"])].hex(), LEVELS[values["level"]], arguments, tuple(_ports(values))
    )


def check_call(raw: bytes) -> KernelCall:
    """The call of a valid packet, unbound or bound. Raises PacketFault as decode_call and check_call_bound do."""
    call = decode_call(raw)
    if any(port.address for port in call.ports):
        check_call_bound(call)
    return call


def check_call_bound(call: KernelCall) -> None:
    """Refuse a call of which an address is zero or unfit, or an output meets another port. Raises PacketFault."""
    for index, port in enumerate(call.ports):
        field, address = f"port{index}_address", port.address
        if not address:
            raise PacketFault("unbound", field, "got 0, wanted the address of its storage")
        if address % port.alignment_bytes:
            raise PacketFault("alignment", field, f"got {address:#x}, wanted a multiple of {port.alignment_bytes}")
        if address + port.required_bytes > 1 << 64:
            raise PacketFault("geometry", field, f"got {address:#x}, its span ends past the address space")
    for index, port in enumerate(call.ports):
        for other in call.ports[:index]:
            meets = port.address < other.address + other.required_bytes
            if meets and other.address < port.address + port.required_bytes and (port.written or other.written):
                text = f"got {port.address:#x}, its span intersects that at {other.address:#x}"
                raise PacketFault("overlap", f"port{index}_address", text)


def read_custom(raw: bytes, field: CustomField) -> int:
    """The field's value in `raw`, which must be long enough."""
    return int.from_bytes(raw[field.offset : field.end], "little")


def _slice(field: CustomField) -> slice:
    return slice(field.offset, field.end)


def _check(field: CustomField, value: int) -> None:
    if not field.low <= value <= field.limit:
        reserved = "reserved" in field.name
        code = _PREFIX.get(field.name, "noncanonical" if reserved else "range")
        wanted = f"{field.low:#x}" if field.low == field.limit else f"{field.low} to {field.limit}"
        raise PacketFault(code, field.name, f"got {value:#x}, wanted {wanted}")


def _arguments(raw: bytes, values: Mapping[str, int]) -> Iterator[int | float]:
    for index in range(ARGUMENTS):
        kind, field = values[f"argument{index}_kind"], BY_NAME[f"argument{index}_value"]
        used = index < values["arguments"]
        if used != (kind > 0):
            text = f"got {kind}, the packet has {values['arguments']} arguments"
            raise PacketFault("noncanonical" if kind else "geometry", f"argument{index}_kind", text)
        if used:
            yield struct.unpack("<d" if kind == 2 else "<q", raw[_slice(field)])[0]
        elif values[field.name]:
            raise PacketFault("noncanonical", field.name, f"got {values[field.name]:#x}, wanted 0: it is unused")


def _name(raw: bytes) -> str:
    text = raw[_slice(BY_NAME["name"])].rstrip(b"\0")
    try:
        name = text.decode()
    except UnicodeDecodeError:
        name = ""
    if not name.isidentifier() or len(text) > NAME_BYTES:
        raise PacketFault("range", "name", f"got {text[:16]!r}, wanted the name of a kernel")
    return name


def _ports(values: Mapping[str, int]) -> Iterator[CallPort]:
    count = values["inputs"] + values["outputs"]
    written = 0
    for index in range(PORTS):
        of = {name: values[f"port{index}_{name}"] for name in _PORT_NAMES}
        if index >= count:
            for name, value in of.items():
                if value:
                    text = f"got {value:#x}, wanted 0: the packet has {count} ports"
                    raise PacketFault("noncanonical", f"port{index}_{name}", text)
            continue
        written += ACCESS[of["access"]] == "write"
        yield _port(index, of)
    if written != values["outputs"]:
        raise PacketFault("geometry", "outputs", f"got {values['outputs']}, {written} ports are written")


_PORT_NAMES = tuple(field.name.removeprefix("port0_") for field in FIELDS if field.name.startswith("port0_"))


def _port(index: int, of: Mapping[str, int]) -> CallPort:
    scalar, rank = BY_CODE.get(of["scalar"]), of["rank"]
    shape = tuple(of[f"extent{axis}"] for axis in range(rank))
    alignment = of["alignment"]
    fits = {
        "scalar": scalar is not None,
        "rank": rank > 0,
        "access": of["access"] > 0,
        "alignment": alignment > 0 and not alignment & (alignment - 1),
        **{f"extent{axis}": (of[f"extent{axis}"] > 0) == (axis < rank) for axis in range(RANK)},
        "required_bytes": of["required_bytes"] == prod(shape) * (scalar.width if scalar else 0),
        "relocation": of["relocation"] == BY_NAME[f"port{index}_address"].offset,
    }
    for name, fit in fits.items():
        if not fit:
            raise PacketFault(
                "geometry", f"port{index}_{name}", f"got {of[name]:#x}, which its other fields do not give"
            )
    assert isinstance(scalar, ScalarType)
    written = ACCESS[of["access"]] == "write"
    return CallPort(scalar.name, scalar.width, shape, written, alignment, of["required_bytes"], of["address"])
