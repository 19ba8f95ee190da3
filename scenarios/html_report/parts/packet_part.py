"""Packet part: the bytes of a job's packet, coloured by section, and its fields with their meaning."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from tessbed.kernels.custom import fields as custom_fields
from tessbed.kernels.custom.codec import is_custom
from tessbed.kernels.custom.listing import list_custom
from tessbed.kernels.ev74 import fields
from tessbed.kernels.ev74.codec import read
from tessbed.kernels.ev74.disasm import spell
from tessbed.scenarios.html_report.markup import Markup, concat, element, note, section, table

ACROSS = 16
MOST_ZEROS = 4


def packet_part(raw: bytes, anchor: str) -> Markup:
    """The bound packet: a byte says its field where a pointer or the keyboard rests on it."""
    custom = is_custom(raw)
    known: Any = custom_fields if custom else fields
    rows = [] if custom else [_row(raw, field) for field in fields.FIELDS]
    listed = (
        element("pre", list_custom(raw), class_="wide", tabindex=0)
        if custom
        else table(("offset", "bytes", "field", "value", "meaning"), rows)
    )
    return section(
        "Packet",
        note(f"{len(raw)} bytes as they were submitted, addresses bound; a byte shows its field."),
        element("div", concat(_lines(raw, list(_cells(raw, known, custom=custom)))), class_="hex"),
        element("details", element("summary", "All fields"), listed),
        anchor=f"{anchor}-packet",
        level=3,
    )


def _row(raw: bytes, field: fields.Field) -> tuple[str, ...]:
    value = spell(field, read(raw, field))
    return f"{field.offset:#05x}", raw[field.offset : field.end].hex(" "), field.name, value, field.meaning


def _cells(raw: bytes, known: Any, *, custom: bool) -> Iterator[Markup]:
    """A byte each, with its field in its title."""
    owner = {offset: field for field in known.FIELDS for offset in range(field.offset, field.offset + field.width)}
    shade, number = 0, 0
    for offset, byte in enumerate(raw):
        field = owner.get(offset)
        shade += offset in known.SECTIONS and offset > 0
        if field is not None and field.offset == offset:
            number += 1
        first = field is not None and field.offset == offset
        yield element(
            "span", f"{byte:02x}", class_=f"s{shade % 6}{' odd' if number % 2 else ''}",
            title=_words(raw, field, custom=custom) if field else None, tabindex=0 if first else None,
        )  # fmt: skip


def _words(raw: bytes, field: Any, *, custom: bool) -> str:
    value = "" if custom else f" = {spell(field, read(raw, field))}"
    return f"{field.offset:#05x} {field.name}{value}: {field.meaning}"


def _lines(raw: bytes, cells: list[Markup]) -> Iterator[Markup]:
    """A line for sixteen bytes; more than MOST_ZEROS lines of zeros are one line that says so."""
    starts = range(0, len(raw), ACROSS)
    for zeros, group in groupby(starts, lambda start: not any(raw[start : start + ACROSS])):
        block = list(group)
        if zeros and len(block) > MOST_ZEROS:
            last = min(block[-1] + ACROSS, len(raw)) - 1
            yield element("div", element("b", f"{block[0]:03x}"), element("i", f"zeros up to {last:03x}"))
            continue
        for start in block:
            yield element("div", element("b", f"{start:03x}"), concat(cells[start : start + ACROSS]))
