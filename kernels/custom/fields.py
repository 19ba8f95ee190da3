"""The field table of custom packets, which ask for a kernel of one's own by name and hash.

The format is one of its own, apart from the packets of the operations: a header, the kernel's name and the hash of its
source, 32 arguments, 16 ports with their relocations. All integers are little-endian and unsigned. Every packet is as
long as any other, and what a job does not use is zero.
"""

from collections.abc import Iterator
from struct import Struct

import attrs

MAGIC = 0x4B425354  # "TSBK" in memory
VERSION_MAJOR = 1
VERSION_MINOR = 0
NAME_BYTES = 64
HASH_BYTES = 32
ARGUMENTS = 32
PORTS = 16
RANK = 6
LEVELS = {1: "bands", 2: "body"}
KINDS = {0: "unused", 1: "integer", 2: "real"}
ACCESS = {0: "unused", 1: "read", 2: "write"}


@attrs.frozen
class CustomField:
    """One field: where it is, what it means, the values that it may hold. `form` is how a person reads it."""

    offset: int
    width: int
    name: str
    meaning: str
    low: int = 0
    high: int = -1
    form: str = ""

    @property
    def end(self) -> int:
        """Offset behind the field's last byte."""
        return self.offset + self.width

    @property
    def limit(self) -> int:
        """The largest value that a packet may carry."""
        return (1 << 8 * self.width) - 1 if self.high < 0 else self.high


Row = tuple[int, str, str, int, int, str]
"""Width, name, meaning, low, high (-1: all that fits), form."""

_HEADER: tuple[Row, ...] = (
    (4, "magic", "TSBK", MAGIC, MAGIC, "hex"),
    (2, "version_major", "of this format", VERSION_MAJOR, VERSION_MAJOR, ""),
    (2, "version_minor", "of this format", VERSION_MINOR, VERSION_MINOR, ""),
    (4, "packet_bytes", "the whole packet", 0, -1, "bytes"),
    (4, "crc32", "of all bytes but these", 0, -1, "hex"),
    (2, "api", "version of the interface that the kernel was written for", 1, 1, ""),
    (1, "level", "1 bands, 2 body", 1, 2, ""),
    (1, "inputs", "ports that are read", 0, PORTS // 2, ""),
    (1, "outputs", "ports that are written", 1, PORTS // 2, ""),
    (1, "arguments", "arguments, in the order of the declaration", 0, ARGUMENTS, ""),
    (2, "reserved", "zero", 0, 0, ""),
    (NAME_BYTES, "name", "the kernel's name, padded with zeros", 0, -1, "text"),
    (HASH_BYTES, "hash", "SHA-256 of the kernel's source", 0, -1, "hash"),
    (8, "reserved1", "zero", 0, 0, ""),
)
_ARGUMENT: tuple[Row, ...] = (
    (1, "kind", "0 unused, 1 integer, 2 real", 0, 2, ""),
    (7, "reserved", "zero", 0, 0, ""),
    (8, "value", "a signed integer, or the bits of a binary64", 0, -1, "hex"),
)
_PORT: tuple[Row, ...] = (
    (1, "scalar", "scalar type", 0, 12, ""),
    (1, "rank", "axes", 0, RANK, ""),
    (1, "access", "0 unused, 1 read, 2 write", 0, 2, ""),
    (1, "reserved", "zero", 0, 0, ""),
    (4, "alignment", "of the address", 0, 4096, "bytes"),
    *((8, f"extent{axis}", f"scalars along axis {axis}", 0, 2**63 - 1, "") for axis in range(RANK)),
    (8, "required_bytes", "of the storage", 0, 2**63 - 1, "bytes"),
    (4, "relocation", "offset of the address in the packet", 0, -1, "hex"),
    (4, "reserved1", "zero", 0, 0, ""),
    (8, "address", "device address, zero until it is bound", 0, -1, "hex"),
)


def _rows() -> Iterator[Row]:
    yield from _HEADER
    for prefix, rows, count in (("argument", _ARGUMENT, ARGUMENTS), ("port", _PORT, PORTS)):
        for index in range(count):
            yield from ((width, f"{prefix}{index}_{name}", *rest) for width, name, *rest in rows)  # pyright: ignore


def _fields() -> Iterator[CustomField]:
    offset = 0
    for width, *rest in _rows():
        yield CustomField(offset, width, *rest)  # pyright: ignore[reportArgumentType]
        offset += width


FIELDS = tuple(_fields())
BY_NAME = {field.name: field for field in FIELDS}
PACKET_BYTES = FIELDS[-1].end
LAYOUT = Struct("<" + "".join({1: "B", 2: "H", 4: "I", 8: "Q"}.get(field.width, f"{field.width}s") for field in FIELDS))
"""All fields at once; what is wider than 8 bytes, or 7, comes as bytes."""
SECTIONS = {0: "header", BY_NAME["argument0_kind"].offset: "arguments", BY_NAME["port0_scalar"].offset: "ports"}


def _check_table() -> None:
    assert BY_NAME["name"].offset == 24
    assert BY_NAME["argument0_kind"].offset == 128
    assert BY_NAME["port0_scalar"].offset == 640
    assert PACKET_BYTES == 1920


_check_table()
