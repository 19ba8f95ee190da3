"""The packet's field table: the one place that says which byte means what.

Encoder, decoder, disassembly, diff and documentation all walk this table. All integers are little-endian and unsigned.
A field's offset is written down and checked against the running sum at import, so a field can not move by accident.
Enumerations are one-hot: no single flipped bit turns one operation, scalar type or tile format into another.
"""

from collections.abc import Mapping
from struct import Struct

import attrs

from tessbed.kernels.operations import OPERATIONS, ROUNDING, CodeNames

MAGIC = 0x50425354
VERSION_MAJOR = 1
VERSION_MINOR = 1
PACKET_BYTES = 216
MAX_RANK = 6
MAX_OUTER = MAX_RANK - 1

OPS: Mapping[int, str] = CodeNames(OPERATIONS)
DTYPES = {1: "int8", 2: "bf16", 4: "fp32"}
TILE_FORMATS = {1: "compact", 2: "pad16", 4: "cblocked"}

PORTS = ("input", "output")
AXES = "cdhw"

ENUMERATIONS: dict[str, Mapping[int, str]] = {
    "op": OPS,
    "dtype": DTYPES,
    "tile_format": TILE_FORMATS,
    "access": {1: "read", 2: "write"},
    "port": {0: "input", 1: "output"},
    "address_field": {200: "input_address", 208: "output_address"},
}


@attrs.frozen
class Field:
    """One packet field: where it is, what it means, and the values that a valid packet may hold.

    `since_minor` is the first minor version that knows the field: in packets of an older one it is zero.
    `unit` is "elements", "bytes", "hex" (a pattern or an address) or "" (a plain number); `enum` a key of ENUMERATIONS.
    """

    offset: int
    width: int
    name: str
    meaning: str
    low: int = 0
    high: int = 2**64 - 1
    enum: str = ""
    unit: str = ""
    since_minor: int = 0

    @property
    def end(self) -> int:
        """Offset behind the field's last byte."""
        return self.offset + self.width

    @property
    def limit(self) -> int:
        """The largest value that the field can hold and a packet may carry."""
        return min(self.high, 2 ** (8 * self.width) - 1)

    @property
    def reserved(self) -> bool:
        """Whether the field means nothing in this version: zero, and refused otherwise."""
        return self.unit == "hex" and not self.limit

    @property
    def names(self) -> Mapping[int, str]:
        """The names of an enumeration's values; empty for a number."""
        return ENUMERATIONS.get(self.enum, {})

    @property
    def values(self) -> tuple[int, ...]:
        """The values of an enumeration that a packet may carry; empty for a number."""
        return tuple(value for value in self.names if self.low <= value <= self.limit)

    def admits(self, value: int) -> bool:
        """Whether a packet may carry `value` here, judged from this field alone."""
        return self.low <= value <= self.limit and (not self.enum or value in self.names)


SECTIONS = {
    0: "header",
    16: "operation",
    24: "extents of the mapped axes",
    40: "tiles",
    56: "linear strides of the mapped axes",
    88: "unmapped (outer) axes, slowest first",
    152: "relocation of the input",
    168: "parameters of the conversion, since version 1.1",
    176: "relocation of the output",
    200: "addresses",
}

_HEADER = (
    Field(0, 4, "magic", "the letters TSBP", MAGIC, MAGIC, unit="hex"),
    Field(4, 2, "version_major", "readers refuse another major version", VERSION_MAJOR, VERSION_MAJOR),
    Field(6, 2, "version_minor", "readers refuse a newer minor version", 0, VERSION_MINOR),
    Field(8, 4, "packet_bytes", "size of the whole packet", PACKET_BYTES, PACKET_BYTES, unit="bytes"),
    Field(12, 4, "crc32", "CRC-32 (IEEE 802.3) of all other bytes, in order", unit="hex"),
)

_OPERATION = (
    Field(16, 1, "op", "the operation", 1, 255, "op"),
    Field(17, 1, "tiled_dtype", "scalar type of the tiled port", 1, 2, "dtype"),
    Field(18, 1, "linear_dtype", "scalar type of the linear port", 1, 4, "dtype"),
    Field(19, 1, "tile_format", "how a tile stores its pixels", 1, 4, "tile_format"),
    Field(
        20, 1, "channel_fill", "byte that padded INT8 channels of an output hold; 0 where there are none", unit="hex"
    ),
    Field(21, 1, "outer_rank", "number of unmapped axes", 0, MAX_OUTER),
    Field(22, 2, "flags", "no flag is defined; zero", 0, 0, unit="hex"),
)


def _axis_fields() -> list[Field]:
    """Extent, tile and stride of C, D, H, W: three groups of four."""
    fields = []
    for index, axis in enumerate(AXES):
        name = axis.upper()
        stride = f"linear bytes from one {name} element to the next; 0 if there is only one"
        fields += [
            Field(24 + 4 * index, 4, f"{axis}_extent", f"elements along {name}", 1, unit="elements"),
            Field(40 + 4 * index, 4, f"{axis}_tile", f"elements of a full tile along {name}", 1, unit="elements"),
            Field(56 + 8 * index, 8, f"{axis}_stride", stride, unit="bytes"),
        ]
    return fields


def _outer_fields() -> list[Field]:
    fields = []
    for index in range(MAX_OUTER):
        extent = f"elements of unmapped axis {index}; 0 if unused"
        stride = f"linear bytes along unmapped axis {index}; 0 if unused or of one element"
        fields += [
            Field(88 + 4 * index, 4, f"outer{index}_extent", extent, unit="elements"),
            Field(112 + 8 * index, 8, f"outer{index}_stride", stride, unit="bytes"),
        ]
    return [*fields, Field(108, 4, "reserved", "zero", 0, 0, unit="hex")]


_ROUNDINGS = ", ".join(f"{number} {name}" for number, name in enumerate(ROUNDING.choices))
_PARAMETERS = (
    Field(168, 4, "scale", "binary32 word of the scale, or 0", 0, 0x7F7FFFFF, unit="hex", since_minor=1),
    Field(172, 1, "zero_point", "zero point, two's complement; 0 where unused", unit="hex", since_minor=1),
    Field(173, 1, "rounding", f"{_ROUNDINGS}; 0 where unused", 0, 3, since_minor=1),
    Field(174, 2, "parameters_reserved", "zero", 0, 0, unit="hex"),
)
"""In the bytes behind the input's relocation, which version 1.0 reserves."""


def _relocation_fields(index: int) -> list[Field]:
    """One entry of the relocation table, and the address field that it patches."""
    port, access = PORTS[index], index + 1
    base, patched = 152 + 24 * index, 200 + 8 * index
    field = f"offset of the field that takes the {port}'s address"
    span = f"bytes of the {port}'s whole span, holes and padding included"
    alignment = f"bytes that the {port}'s address must be a multiple of"
    address = f"device address of the {port}'s first byte; 0 until bound"
    return [
        *([Field(base + 16, 8, f"reloc{index}_reserved", "zero", 0, 0, unit="hex")] if index else _PARAMETERS),
        Field(base, 2, f"reloc{index}_field", field, patched, patched, "address_field"),
        Field(base + 2, 1, f"reloc{index}_port", f"port number of the {port}", index, index, "port"),
        Field(base + 3, 1, f"reloc{index}_access", f"what the device does to the {port}", access, access, "access"),
        Field(base + 4, 4, f"reloc{index}_alignment", alignment, 1, 16, unit="bytes"),
        Field(base + 8, 8, f"reloc{index}_required_bytes", span, 1, 2**63 - 1, unit="bytes"),
        Field(patched, 8, f"{port}_address", address, unit="hex"),
    ]


def _by_offset(fields: list[Field]) -> tuple[Field, ...]:
    return tuple(sorted(fields, key=lambda field: field.offset))


FIELDS = _by_offset(
    [*_HEADER, *_OPERATION, *_axis_fields(), *_outer_fields(), *_relocation_fields(0), *_relocation_fields(1)]
)
BY_NAME = {field.name: field for field in FIELDS}
LAYOUT = Struct("<" + "".join({1: "B", 2: "H", 4: "I", 8: "Q"}[field.width] for field in FIELDS))


def _check_table() -> None:
    position = 0
    for field in FIELDS:
        assert field.offset == position, f"{field.name} is at {field.offset}, the table has reached {position}"
        position = field.end
    assert position == PACKET_BYTES == LAYOUT.size
    assert len(BY_NAME) == len(FIELDS)
    assert SECTIONS.keys() <= {field.offset for field in FIELDS}


_check_table()
