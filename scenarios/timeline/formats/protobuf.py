"""Protobuf messages in bulk: one template for all packets of a form, filled with columns of numbers by numpy.

A varint may be padded: 0x85 0x80 0x00 is 5. With columns padded to the width of their largest value, all packets of a
form have one length, so the lengths around them are constants, and a packet is its template with the numbers written
over it. Nothing is encoded value by value.

A message is a list of fields (number, value). A value is an int (varint), bytes (also text), a message, or a Column.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

VARINT, FIXED64, BYTES = 0, 1, 2
MORE = 0x80


class Column(NamedTuple):
    """The number of a column; with `fixed` it is a fixed64, else a padded varint."""

    number: int
    fixed: bool = False


class Place(NamedTuple):
    """Where in a template a column's bytes are."""

    offset: int
    column: Column
    width: int


Message = Sequence[tuple[int, Any]]


def varint(value: int) -> bytes:
    """The shortest varint."""
    out = bytearray()
    while value >= MORE:
        out.append(value & 0x7F | MORE)
        value >>= 7
    out.append(value)
    return bytes(out)


def message(fields: Message, widths: Sequence[int] = ()) -> tuple[bytes, list[Place]]:
    """The bytes of a message, zeros where columns are, and their places; `widths` are those of its columns."""
    out, places = bytearray(), []
    for number, value in fields:
        if isinstance(value, Column):
            width = 8 if value.fixed else widths[value.number]
            out += varint(number << 3 | (FIXED64 if value.fixed else VARINT))
            places.append(Place(len(out), value, width))
            out += bytes(width)
        elif isinstance(value, int):
            out += varint(number << 3 | VARINT) + varint(value)
        else:
            raw, inner = (value, []) if isinstance(value, bytes) else message(value, widths)
            out += varint(number << 3 | BYTES) + varint(len(raw))
            places += [place._replace(offset=place.offset + len(out)) for place in inner]
            out += raw
    return bytes(out), places


def filled(fields: Message, rows: np.ndarray) -> np.ndarray:
    """Messages of that form, one for each row of `rows` (n, columns) uint64, as (n, length) uint8."""
    widths = [max(1, (int(high).bit_length() + 6) // 7) for high in rows.max(axis=0, initial=0).tolist()]
    template, places = message(fields, widths)
    out = np.tile(np.frombuffer(template, np.uint8), (len(rows), 1))
    for offset, column, width in places:
        values = rows[:, column.number]
        if column.fixed:
            out[:, offset : offset + width] = values.astype("<u8")[:, None].view(np.uint8)
        else:
            for byte in range(width):
                more = MORE if byte < width - 1 else 0
                out[:, offset + byte] = (values >> np.uint64(7 * byte)).astype(np.uint8) & 0x7F | more
    return out
