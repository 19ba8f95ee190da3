"""Geometry map: how fields of a format of one's own say a job of ours, and the packet of ours that says the same.

Each of our fields comes from a field of theirs, as it is or as `(value + plus) * times`, or is a constant. Enumerations
(operation, scalar types, tile format) go by names. What is not mapped has a default: one element, a tile as large as
its axis, dense row-major strides. Sizes and relocations follow from the rest.
"""

from collections.abc import Mapping
from typing import Any

import attrs

from tessbed.kernels.dtypes import DType
from tessbed.kernels.ev74 import fields as ours
from tessbed.kernels.ev74.codec import PacketFault, pack_packet
from tessbed.kernels.ev74.rules import check_packet, linear_bytes, operation_of, tiled_bytes, tiled_port
from tessbed.scenarios.verification.packet_formats.field_table import FormatFault, FormatField

DERIVED = ("magic", "version_major", "version_minor", "packet_bytes", "crc32", "outer_rank", "flags")
MAPPED = tuple(
    field.name for field in ours.FIELDS if not (field.name in DERIVED or field.reserved or "reloc" in field.name)
)
"""Our fields that a map may name."""
REQUIRED = ("op", "tiled_dtype", "c_extent")
ADDRESSES = tuple(f"{port}_address" for port in ours.PORTS)


@attrs.frozen
class MapEntry:
    """Where one of our fields comes from: a field of theirs, or a constant."""

    field: FormatField | None = None
    constant: int = 0
    plus: int = 0
    times: int = 1

    def value(self, name: str, values: Mapping[str, int]) -> int:
        """Our value for theirs. Raises FormatFault for a name that our enumeration has not."""
        if self.field is None:
            return self.constant
        theirs, known = values[self.field.name], ours.BY_NAME[name].names
        if not known or not self.field.values:
            return (theirs + self.plus) * self.times
        said = self.field.name_of(theirs)
        found = next((number for number, called in known.items() if called == said), None)
        if found is None:
            text = f"got {self.field.shown(theirs)}, which is no {name}: wanted {', '.join(known.values())}"
            raise FormatFault("geometry", self.field.name, text)
        return found


@attrs.frozen
class GeometryMap:
    """The entries by our fields' names."""

    entries: Mapping[str, MapEntry]

    def sources(self) -> dict[str, list[str]]:
        """Our fields that come from each of theirs."""
        found: dict[str, list[str]] = {}
        for name, entry in self.entries.items():
            if entry.field is not None:
                found.setdefault(entry.field.name, []).append(name)
        return found

    def packet(self, values: Mapping[str, int]) -> bytes:
        """Our unbound packet for their values. Raises FormatFault where they say no job that the device takes."""
        said = {name: entry.value(name, values) for name, entry in self.entries.items() if name not in ADDRESSES}
        try:
            raw = pack_packet(_whole(said)).raw
            check_packet(raw)
        except (PacketFault, OverflowError) as error:
            name = error.field if isinstance(error, PacketFault) else str(error).split(":")[0]
            entry = self.entries.get(name)
            source = entry.field.name if entry and entry.field else "packet"
            text = error.text if isinstance(error, PacketFault) else "got a value that no packet of ours can hold"
            raise FormatFault("geometry", source, f"as {name}: {text}") from None
        return raw

    def addresses(self, values: Mapping[str, int]) -> tuple[int, int]:
        """The addresses of input and output that the packet says; 0 for one that is not mapped."""
        found = [self.entries[name].value(name, values) if name in self.entries else 0 for name in ADDRESSES]
        return found[0], found[1]


def _whole(said: dict[str, int]) -> dict[str, Any]:
    """All fields of our packet. Raises PacketFault for an operation or scalar types that do not go together."""
    values = {"tile_format": 1, **said}
    for axis in "dhw":
        values.setdefault(f"{axis}_extent", 1)
    for axis in "cdhw":
        values.setdefault(f"{axis}_tile", max(1, values[f"{axis}_extent"]))
    op = operation_of(values)
    if "linear_dtype" not in values:
        values["linear_dtype"] = _linear_dtype(values)
    outer = [index for index in range(ours.MAX_OUTER) if f"outer{index}_extent" in values]
    values["outer_rank"] = len(outer)
    _dense_strides(values, [*(f"outer{index}" for index in outer), *"dhwc"])
    header = {"magic": ours.MAGIC, "version_major": ours.VERSION_MAJOR, "version_minor": op.version_minor}
    values |= {**header, "packet_bytes": ours.PACKET_BYTES}
    return values | _relocations(values)


def _linear_dtype(values: Mapping[str, int]) -> int:
    """The scalar type of the linear side, where the operation leaves no choice."""
    op, codes = operation_of(values), {name: code for code, name in ours.DTYPES.items()}
    tiled = ours.DTYPES.get(values["tiled_dtype"])
    found = [scalars.linear for scalars in op.scalars if scalars.tiled.value == tiled]
    if len(found) != 1:
        raise PacketFault("geometry", "linear_dtype", f"got none, wanted one: {op.name} has {len(found)} for {tiled}")
    return codes[found[0].value]


def _dense_strides(values: dict[str, int], axes: list[str]) -> None:
    """Row-major strides where none are said; an axis of one element has none."""
    step = DType(ours.DTYPES[values["linear_dtype"]]).width if values["linear_dtype"] in ours.DTYPES else 1
    for axis in reversed(axes):
        extent = values[f"{axis}_extent"]
        values.setdefault(f"{axis}_stride", step)
        if extent == 1:
            values[f"{axis}_stride"] = 0
        step *= max(1, extent)


def _relocations(values: Mapping[str, int]) -> dict[str, int]:
    if any(values[name] not in ours.BY_NAME[name].names for name in ("tiled_dtype", "linear_dtype", "tile_format")):
        return {}  # the decoder says so
    tiled, width = tiled_port(values), DType(ours.DTYPES[values["linear_dtype"]]).width
    spans = {tiled: (16, tiled_bytes(values)), 1 - tiled: (width, linear_bytes(values))}
    found = {}
    for index, port in enumerate(ours.PORTS):
        found |= {
            f"reloc{index}_field": ours.BY_NAME[f"{port}_address"].offset,
            f"reloc{index}_port": index,
            f"reloc{index}_access": index + 1,
            f"reloc{index}_alignment": spans[index][0],
            f"reloc{index}_required_bytes": spans[index][1],
        }
    return found
