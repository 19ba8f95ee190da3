"""Difference of two packets, field by field; either may be invalid, short or too long."""

from collections.abc import Iterator

import attrs

from tessbed.kernels.ev74.codec import read
from tessbed.kernels.ev74.disasm import spell
from tessbed.kernels.ev74.fields import FIELDS, PACKET_BYTES, Field


@attrs.frozen
class Change:
    """One field that differs; a value is None where the bytes end before the field does."""

    field: Field
    left: int | None
    right: int | None


def packet_changes(left: bytes, right: bytes) -> tuple[Change, ...]:
    """The fields that differ, in packet order. Bytes behind the packet are no field: see `difference`."""
    pairs = ((field, _value(left, field), _value(right, field)) for field in FIELDS)
    return tuple(
        Change(field, a, b)
        for field, a, b in pairs
        if a != b or left[field.offset : field.end] != right[field.offset : field.end]
    )


def packet_difference(left: bytes, right: bytes) -> str:
    """A line for each difference, ending in a newline; empty where the bytes are equal."""
    return "".join(f"{line}\n" for line in _lines(left, right))


def _value(raw: bytes, field: Field) -> int | None:
    return read(raw, field) if len(raw) >= field.end else None


def _lines(left: bytes, right: bytes) -> Iterator[str]:
    for change in packet_changes(left, right):
        old, new = (_spelt(change.field, value) for value in (change.left, change.right))
        yield f"{change.field.offset:#05x}  {change.field.name:21}  {old} -> {new}"
    rest = [raw[PACKET_BYTES:] for raw in (left, right)]
    if rest[0] != rest[1]:
        yield f"{PACKET_BYTES:#05x}  {'(trailing)':21}  {len(rest[0]):,} -> {len(rest[1]):,} bytes, which differ"


def _spelt(field: Field, value: int | None) -> str:
    return "missing" if value is None else spell(field, value)
