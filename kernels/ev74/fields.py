"""The packet's field table: the one place that says which byte means what.

Encoder, decoder, disassembly, diff and documentation all walk this table. All integers are little-endian and unsigned.
A field's offset is written down and checked against the running sum at import, so a field can not move by accident.
Enumerations are one-hot: no single flipped bit turns one operation, scalar type or tile format into another.
"""

import attrs

MAGIC = 0x50425354
VERSION_MAJOR = 1
VERSION_MINOR = 0
MAX_RANK = 6
MAX_OUTER = MAX_RANK - 1

OPS = {1: "tess", 2: "detess", 4: "detesscast"}
DTYPES = {1: "int8", 2: "bf16", 4: "fp32"}
TILE_FORMATS = {1: "compact", 2: "pad16", 4: "cblocked"}
ACCESS = {1: "read", 2: "write"}

U8, U16, U32, U64 = (2**bits - 1 for bits in (8, 16, 32, 64))


@attrs.frozen
class Field:
    """One packet field: where it stands, what it means, and the values that a valid packet may hold."""

    offset: int
    width: int
    name: str
    meaning: str
    low: int = 0
    high: int = U64
    names: dict[int, str] | None = None

    @property
    def end(self) -> int:
        """Offset behind the field's last byte."""
        return self.offset + self.width

    @property
    def limit(self) -> int:
        """The largest value that the field can hold and a packet may carry."""
        return min(self.high, 2 ** (8 * self.width) - 1)


def _axis_fields() -> list[Field]:
    """Extent, tile and stride of C, D, H, W: three groups of four."""
    fields = []
    for index, axis in enumerate("cdhw"):
        name = axis.upper()
        fields += [
            Field(24 + 4 * index, 4, f"{axis}_extent", f"elements along {name}", low=1),
            Field(40 + 4 * index, 4, f"{axis}_tile", f"elements of a full tile along {name}", low=1),
            Field(
                56 + 8 * index, 8, f"{axis}_stride", f"linear bytes from one {name} element to the next; 0 if only one"
            ),
        ]
    return fields


def _outer_fields() -> list[Field]:
    fields = []
    for index in range(MAX_OUTER):
        fields += [
            Field(88 + 4 * index, 4, f"outer{index}_extent", f"elements of unmapped axis {index}; 0 if unused"),
            Field(
                112 + 8 * index, 8, f"outer{index}_stride", f"linear bytes along unmapped axis {index}; 0 if only one"
            ),
        ]
    return fields


def _relocation_fields() -> list[Field]:
    fields = []
    for index, (port, access) in enumerate((("input", 1), ("output", 2))):
        base = 152 + 24 * index
        fields += [
            Field(
                base,
                2,
                f"reloc{index}_field",
                f"offset of the address field to patch with the {port}",
                200 + 8 * index,
                200 + 8 * index,
            ),
            Field(base + 2, 1, f"reloc{index}_port", f"port number of the {port}", index, index),
            Field(base + 3, 1, f"reloc{index}_access", f"what the device does to the {port}", access, access, ACCESS),
            Field(base + 4, 4, f"reloc{index}_alignment", "bytes that the address must be a multiple of", 1, 16),
            Field(
                base + 8,
                8,
                f"reloc{index}_required_bytes",
                f"bytes of the {port}'s whole span, holes and padding included",
                1,
                2**63 - 1,
            ),
            Field(base + 16, 8, f"reloc{index}_reserved", "zero", 0, 0),
        ]
    return fields


FIELDS: tuple[Field, ...] = tuple(
    sorted(
        [
            Field(0, 4, "magic", "the letters TSBP", MAGIC, MAGIC),
            Field(4, 2, "version_major", "readers refuse another major version", VERSION_MAJOR, VERSION_MAJOR),
            Field(6, 2, "version_minor", "readers refuse a newer minor version", 0, VERSION_MINOR),
            Field(8, 4, "packet_bytes", "size of the whole packet", 216, 216),
            Field(12, 4, "crc32", "CRC-32 (IEEE 802.3) of all other bytes, in order"),
            Field(16, 1, "op", "the operation", 1, 4, OPS),
            Field(17, 1, "tiled_dtype", "scalar type of the tiled port", 1, 2, DTYPES),
            Field(18, 1, "linear_dtype", "scalar type of the linear port", 1, 4, DTYPES),
            Field(19, 1, "tile_format", "how a tile stores its pixels", 1, 4, TILE_FORMATS),
            Field(20, 1, "channel_fill", "byte that Tess puts into padded INT8 channels; 0 where there are none"),
            Field(21, 1, "outer_rank", "number of unmapped axes", 0, MAX_OUTER),
            Field(22, 2, "flags", "no flag is defined; zero", 0, 0),
            *_axis_fields(),
            Field(108, 4, "reserved", "zero", 0, 0),
            *_outer_fields(),
            *_relocation_fields(),
            Field(200, 8, "input_address", "device address of the input's first byte; 0 until bound"),
            Field(208, 8, "output_address", "device address of the output's first byte; 0 until bound"),
        ],
        key=lambda field: field.offset,
    )
)
PACKET_BYTES = FIELDS[-1].end
BY_NAME = {field.name: field for field in FIELDS}


def _check_table() -> None:
    position = 0
    for field in FIELDS:
        assert field.offset == position, f"{field.name} stands at {field.offset}, the table has reached {position}"
        position = field.end
    assert BY_NAME["packet_bytes"].low == PACKET_BYTES
    assert len(BY_NAME) == len(FIELDS)


_check_table()
