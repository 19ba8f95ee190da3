"""Listing: packets of a format of one's own, field by field, and what differs between two of them."""

from collections.abc import Iterator
from typing import Any

import attrs

from tessbed.kernels.ev74.disasm import geometry_lines
from tessbed.kernels.ev74.rules import check_packet
from tessbed.scenarios.verification.packet_formats.field_table import FormatFault, FormatField
from tessbed.scenarios.verification.packet_formats.format_file import ReadFormat

TRAILING = "(trailing)"


@attrs.frozen
class FieldChange:
    """One field that differs; a value is None where the bytes end before the field does."""

    field: FormatField
    left: int | None
    right: int | None

    def __str__(self) -> str:
        one, other = (_shown(self.field, value) for value in (self.left, self.right))
        return f"{place(self.field)}  {self.field.name:21}  {one} -> {other}"


def fault_of(packet_format: ReadFormat, raw: bytes) -> FormatFault | None:
    """What is wrong with a packet: by its table, then by what it says of our geometry."""
    try:
        values = packet_format.format.decode(raw)
        if packet_format.map is not None:
            packet_format.map.packet(values)
    except FormatFault as fault:
        return fault
    return None


def listing(packet_format: ReadFormat, raw: bytes) -> Iterator[str]:
    """The annotated listing of any bytes: a line for each field, `!` where it is at fault, then the job in words."""
    fault, table = fault_of(packet_format, raw), packet_format.format
    yield f"{table.name}: packet of {len(raw)} bytes, {'refused' if fault else 'valid'}"
    if fault:
        yield f"fault: {fault}"
    yield ""
    width = max(len(field.name) for field in table.fields)
    for field in table.fields:
        value = present_value(field, raw)
        mark = "!" if (fault and fault.field == field.name) or value is None or not field.admits(value) else " "
        shown = _shown(field, value)
        yield f"{mark} {place(field)}  {field.bits:2}  {field.name:{width}}  {shown:24}  {field.meaning}".rstrip()
    if len(raw) > table.nbytes:
        yield f"! and {len(raw) - table.nbytes:,} more bytes"
    if fault is None and packet_format.map is not None:
        yield ""
        yield from geometry_lines(check_packet(packet_format.map.packet(table.decode(raw))))


def differences(packet_format: ReadFormat, left: bytes, right: bytes) -> list[FieldChange]:
    """The fields that differ, in the order of the table."""
    pairs = [(field, present_value(field, left), present_value(field, right)) for field in packet_format.format.fields]
    return [FieldChange(field, one, other) for field, one, other in pairs if one != other]


def trailing_difference(packet_format: ReadFormat, left: bytes, right: bytes) -> str | None:
    """What differs behind the packet, in words."""
    nbytes = packet_format.format.nbytes
    if left[nbytes:] == right[nbytes:]:
        return None
    rest = [len(raw[nbytes:]) for raw in (left, right)]
    return f"{nbytes:#05x}    {TRAILING:21}  {rest[0]:,} -> {rest[1]:,} bytes, which differ"


def document(packet_format: ReadFormat, raw: bytes) -> dict[str, Any]:
    """The packet as JSON holds it."""
    fault = fault_of(packet_format, raw)
    fields = {field.name: present_value(field, raw) for field in packet_format.format.fields}
    said = {"code": fault.code, "field": fault.field, "text": fault.text} if fault else None
    return {"format": packet_format.format.name, "bytes": len(raw), "fault": said, "fields": fields}


def present_value(field: FormatField, raw: bytes) -> int | None:
    """The field's value in any bytes; None where they end before it does."""
    size = -(-(field.start + field.bits) // 8)
    return field.read(raw[: max(size, 1)]) if len(raw) >= size else None


def place(field: FormatField) -> str:
    """Where a field begins: its byte, and the bit of it."""
    byte, bit = divmod(field.start, 8)
    return f"{byte:#05x}{f'.{bit}' if bit else '  '}"


def _shown(field: FormatField, value: int | None) -> str:
    return "missing" if value is None else field.shown(value)
