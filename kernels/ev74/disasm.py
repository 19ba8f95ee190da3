"""Disassembly: a packet's bytes, field by field, for a person; any bytes can be shown, the fault is named.

Each row has offset, bytes, field, value and meaning; "!" marks a row whose value no packet may carry, and the field at
fault. A valid packet is followed by its geometry in words.
"""

from collections.abc import Iterator, Mapping

from tessbed.kernels.ev74.codec import PacketFault, read
from tessbed.kernels.ev74.fields import (
    AXES,
    DTYPES,
    FIELDS,
    PACKET_BYTES,
    PORTS,
    SECTIONS,
    TILE_FORMATS,
    Field,
)
from tessbed.kernels.ev74.rules import check_packet, operation_of, tiled_port

_BYTES_COLUMN = 3 * 8 - 1
_NAME_COLUMN = max(len(field.name) for field in FIELDS)
_TRAILING_ROWS = 4


def list_packet(raw: bytes) -> str:
    """The annotated listing of `raw`, ending in a newline. Never raises: a fault is part of the text."""
    try:
        values = check_packet(raw)
    except PacketFault as found:
        lines = [f"packet of {len(raw)} bytes, refused", f"fault: {found}", *_rows(raw, found.field)]
    else:
        bound = "bound" if values["input_address"] else "unbound"
        lines = [f"packet of {len(raw)} bytes, valid, {bound}", *_rows(raw, ""), "", *geometry_lines(values)]
    return "\n".join(lines) + "\n"


def spell(field: Field, value: int) -> str:
    """The value as a person reads it: enumerations by name, patterns and addresses in hex, counts with their unit."""
    if field.enum:
        return f"{value} = {field.names.get(value, 'unknown')}"
    if field.unit == "hex":
        return f"{value:#0{2 * field.width + 2}x}"
    return _counted(value, field.unit) if field.unit else f"{value:,}"


def _counted(count: int, unit: str) -> str:
    return f"{count:,} {unit.removesuffix('s') if count == 1 else unit}"


def _rows(raw: bytes, fault_field: str) -> Iterator[str]:
    for field in FIELDS:
        if field.offset in SECTIONS:
            yield f"\n{SECTIONS[field.offset]}"
        present = raw[field.offset : field.end]
        whole = len(present) == field.width
        value = read(raw, field)
        mark = "!" if field.name == fault_field or not (whole and field.admits(value)) else " "
        shown = spell(field, value) if whole else "missing"
        where = f"{mark} {field.offset:#05x}  {present.hex(' '):{_BYTES_COLUMN}}  {field.name:{_NAME_COLUMN}}"
        yield f"{where}  {shown:24}  {field.meaning}"
    yield from _trailing(raw[PACKET_BYTES:])


def _trailing(rest: bytes) -> Iterator[str]:
    if rest:
        yield f"\ntrailing, {len(rest):,} bytes"
    for start in range(0, min(len(rest), 8 * _TRAILING_ROWS), 8):
        yield f"! {PACKET_BYTES + start:#05x}  {rest[start : start + 8].hex(' ')}"
    if len(rest) > 8 * _TRAILING_ROWS:
        yield f"! and {len(rest) - 8 * _TRAILING_ROWS:,} more"


def geometry_lines(values: Mapping[str, int]) -> Iterator[str]:
    """The job in words: a line for each port, one for parameters, one for each axis of more than one element."""
    tiled = tiled_port(values)
    kinds = {
        tiled: f"{DTYPES[values['tiled_dtype']]} in {TILE_FORMATS[values['tile_format']]} tiles",
        1 - tiled: f"{DTYPES[values['linear_dtype']]}, linear",
    }
    yield f"{operation_of(values).name} in words"
    for index, port in enumerate(PORTS):
        span, alignment = values[f"reloc{index}_required_bytes"], values[f"reloc{index}_alignment"]
        yield f"  {port:8} {kinds[index]}: {span:,} bytes, address a multiple of {alignment}"
    if parameters := ", ".join(_parameters(values)):
        yield f"  values   {parameters}"
    for axis in range(values["outer_rank"]):
        yield f"  outer{axis}   {_steps(values, f'outer{axis}')}"
    for axis in AXES:
        extent, tile = values[f"{axis}_extent"], values[f"{axis}_tile"]
        if extent > 1:
            yield f"  {axis.upper():8} {_steps(values, axis)}; {_tiles(extent, tile)}"


def _parameters(values: Mapping[str, int]) -> Iterator[str]:
    """The parameters of the operation; padding where a tile has any."""
    padded = (DTYPES[values["tiled_dtype"]], TILE_FORMATS[values["tile_format"]]) == ("int8", "pad16")
    for parameter in operation_of(values).parameters:
        if parameter.field != "channel_fill":
            yield f"{parameter.name.replace('_', ' ')} {parameter.words(values[parameter.field])}"
        elif padded:
            yield f"padded channels {parameter.words(values[parameter.field])}"


def _steps(values: Mapping[str, int], name: str) -> str:
    return f"{_counted(values[f'{name}_extent'], 'elements')}, {values[f'{name}_stride']:,} linear bytes apart"


def _tiles(extent: int, tile: int) -> str:
    full, rest = divmod(extent, tile)
    boundary = f" and a boundary tile of {rest:,}" if rest else ""
    return f"{_counted(full, 'full tiles')} of {tile:,}{boundary}"
