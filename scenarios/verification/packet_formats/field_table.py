"""Field table: packets of one's own as a table of fields; what a packet holds, and what is wrong with it.

A field is a run of bits that begins at a bit of a byte. In a little-endian field bit 0 of a byte is its lowest, and the
run goes on to higher bits and bytes; in a big-endian one bit 0 is the highest, and the run goes on to lower bits and
the next bytes. So a whole number of whole bytes is what every processor makes of it, and a field of 12 bits may begin
in the middle of a byte. Every bit of a packet belongs to exactly one field.
"""

import zlib
from collections.abc import Callable, Mapping
from typing import Literal

import attrs

Endianness = Literal["little", "big"]
UNITS = ("elements", "bytes", "hex")


class FormatFault(ValueError):
    """A refused packet: `code` is "size", "checksum", "reserved", "range" or "geometry"; `field` is at fault."""

    def __init__(self, code: str, field: str, text: str) -> None:
        super().__init__(f"{field}: {text} [{code}]")
        self.code = code
        self.field = field
        self.text = text


@attrs.frozen
class FormatField:
    """One field: where it is in bits, what it means, and the values that it may have; `values` are those with names."""

    name: str
    start: int
    bits: int
    endianness: Endianness = "little"
    meaning: str = ""
    unit: str = ""
    low: int = 0
    high: int = 2**64 - 1
    values: Mapping[str, int] = attrs.field(factory=dict)
    reserved: bool = False

    @property
    def limit(self) -> int:
        """The largest value that the field can hold and a packet may carry."""
        return min(self.high, 2**self.bits - 1)

    def places(self) -> list[int]:
        """Its bits in the packet, lowest of the value first, each as 8 * byte + bit of the byte, whose lowest is 0."""
        run = range(self.start, self.start + self.bits)
        if self.endianness == "little":
            return list(run)
        return [8 * (bit // 8) + 7 - bit % 8 for bit in reversed(run)]

    def read(self, raw: bytes) -> int:
        """Its value in `raw`, which must be long enough."""
        if self.endianness == "little":
            return int.from_bytes(raw, "little") >> self.start & 2**self.bits - 1
        return int.from_bytes(raw, "big") >> 8 * len(raw) - self.start - self.bits & 2**self.bits - 1

    def written(self, raw: bytes, value: int) -> bytes:
        """A copy of `raw` with that value. Raises OverflowError for one that the field can not hold."""
        if not 0 <= value < 2**self.bits:
            raise OverflowError(f"{self.name}: got {value}, which needs more than {self.bits} bits")
        whole = int.from_bytes(raw, self.endianness)
        shift = self.start if self.endianness == "little" else 8 * len(raw) - self.start - self.bits
        return (whole & ~(2**self.bits - 1 << shift) | value << shift).to_bytes(len(raw), self.endianness)

    def name_of(self, value: int) -> str | None:
        """The name of a value, None where it has none."""
        return next((name for name, known in self.values.items() if known == value), None)

    def shown(self, value: int) -> str:
        """The value as a person reads it."""
        if self.values:
            return f"{value} = {self.name_of(value) or 'unknown'}"
        if self.unit == "hex":
            return f"{value:#0{-(-self.bits // 4) + 2}x}"
        return f"{value:,} {self.unit}" if self.unit else f"{value:,}"

    @property
    def wanted(self) -> str:
        """The values that it may have, in words."""
        if self.values:
            return " or ".join(f"{value} ({name})" for name, value in self.values.items())
        return self.shown(self.low) if self.low == self.limit else f"{self.low:,} to {self.limit:,}"

    def admits(self, value: int) -> bool:
        """Whether a packet may carry the value."""
        return value in self.values.values() if self.values else self.low <= value <= self.limit


def _crc16(data: bytes) -> int:
    """CRC-16/CCITT-FALSE: polynomial 0x1021, from 0xFFFF, not reflected."""
    value = 0xFFFF
    for byte in data:
        value ^= byte << 8
        for _ in range(8):
            value = (value << 1 ^ 0x1021 if value & 0x8000 else value << 1) & 0xFFFF
    return value


def _xor(data: bytes) -> int:
    value = 0
    for byte in data:
        value ^= byte
    return value


CHECKSUMS: dict[str, tuple[int, Callable[[bytes], int]]] = {
    "crc32": (32, zlib.crc32),
    "crc16": (16, _crc16),
    "sum32": (32, lambda data: sum(data) & 0xFFFF_FFFF),
    "sum16": (16, lambda data: sum(data) & 0xFFFF),
    "sum8": (8, lambda data: sum(data) & 0xFF),
    "xor8": (8, _xor),
}
"""Bits and function of each kind: CRC-32 of IEEE 802.3, CRC-16/CCITT-FALSE, sums and the exclusive or of all bytes."""


@attrs.frozen
class Checksum:
    """A field that holds a check sum of the bytes from `first` to `end`, in which its own bits count as zero."""

    field: str
    kind: str
    first: int
    end: int


@attrs.frozen
class PacketFormat:
    """A format: so many bytes, and the fields in them, in order."""

    name: str
    about: str
    nbytes: int
    fields: tuple[FormatField, ...]
    checksum: Checksum | None = None

    @property
    def by_name(self) -> dict[str, FormatField]:
        """The fields by name."""
        return {field.name: field for field in self.fields}

    def sealed(self, raw: bytes) -> bytes:
        """A copy with the check sum that the other bytes ask for; the same where the format has none."""
        if self.checksum is None:
            return raw
        field = self.by_name[self.checksum.field]
        return field.written(raw, self._sum(field.written(raw, 0)))

    def packed(self, values: Mapping[str, int]) -> bytes:
        """The packet that holds these values, all others their lowest, and its check sum. Raises OverflowError."""
        raw = bytes(self.nbytes)
        for field in self.fields:
            raw = field.written(raw, values.get(field.name, 0 if field.values else field.low))
        return self.sealed(raw)

    def decode(self, raw: bytes) -> dict[str, int]:
        """Every field by name. Raises FormatFault for what is no packet of this format."""
        if len(raw) != self.nbytes:
            raise FormatFault("size", "packet", f"got {len(raw):,} bytes, wanted {self.nbytes:,}")
        if self.checksum is not None:
            field = self.by_name[self.checksum.field]
            got, wanted = field.read(raw), self._sum(field.written(raw, 0))
            if got != wanted:
                raise FormatFault("checksum", field.name, f"got {got:#x}, wanted {wanted:#x}")
        values = {field.name: field.read(raw) for field in self.fields}
        for field in self.fields:
            if not field.admits(values[field.name]):
                code = "reserved" if field.reserved else "range"
                text = f"got {field.shown(values[field.name])}, wanted {field.wanted}"
                raise FormatFault(code, field.name, text)
        return values

    def _sum(self, raw: bytes) -> int:
        assert self.checksum is not None
        return CHECKSUMS[self.checksum.kind][1](raw[self.checksum.first : self.checksum.end])
