"""Listing: a custom packet's bytes, field by field, for a person; any bytes can be shown, the fault is named.

Each row has offset, bytes, field, value and meaning. Arguments and ports that a packet does not use are left out where
they are zero, as they must be.
"""

import struct
from collections.abc import Iterator

from tessbed.kernels.custom.codec import check_call, read_custom
from tessbed.kernels.custom.fields import ACCESS, BY_NAME, FIELDS, KINDS, LEVELS, PACKET_BYTES, SECTIONS, CustomField
from tessbed.kernels.custom.scalar_types import BY_CODE
from tessbed.kernels.ev74.codec import PacketFault

_BYTES = 8
_NAME_COLUMN = max(len(field.name) for field in FIELDS)


def list_custom(raw: bytes) -> str:
    """The annotated listing of a packet, ending in a newline. Never raises: a fault is part of the text."""
    fault = None
    try:
        call = check_call(raw)
    except PacketFault as found:
        fault, head = found, [f"custom packet of {len(raw)} bytes, refused", f"fault: {found}"]
    else:
        bound = "bound" if all(port.address for port in call.ports) else "unbound"
        head = [f"custom packet of {len(raw)} bytes, valid, {bound}"]
    rows = _rows(raw, fault.field if fault else "")
    rest = [f"\ntrailing, {len(raw) - PACKET_BYTES:,} bytes"] if len(raw) > PACKET_BYTES else []
    return "\n".join([*head, *rows, *rest]) + "\n"


def _rows(raw: bytes, fault_field: str) -> Iterator[str]:
    for field in FIELDS:
        if field.offset in SECTIONS:
            yield f"\n{SECTIONS[field.offset]}"
        present = raw[field.offset : field.end]
        value = read_custom(raw, field)
        if not value and "_" in field.name and not _used(raw, field) and field.name != fault_field:
            continue
        whole = len(present) == field.width
        wrong = field.name == fault_field or not whole or not field.low <= value <= field.limit
        shown = _value(field, value, present) if whole else "missing"
        dump = present[:_BYTES].hex(" ") + (" .." if field.width > _BYTES else "")
        mark = "!" if wrong else " "
        where = f"{mark} {field.offset:#05x}  {dump:26}  {field.name:{_NAME_COLUMN}}"
        yield f"{where}  {shown:24}  {field.meaning}".rstrip()


def _used(raw: bytes, field: CustomField) -> bool:
    """Whether the argument or port of the field is there."""
    prefix, _, name = field.name.partition("_")
    if "reserved" in name:
        return False
    key = {"a": "kind", "p": "access"}.get(prefix[0])
    of = BY_NAME.get(f"{prefix}_{key}")
    if of is None or not read_custom(raw, of):
        return prefix.rstrip("0123456789") not in ("argument", "port")
    if name.startswith("extent"):
        return int(name.removeprefix("extent")) < read_custom(raw, BY_NAME[f"{prefix}_rank"])
    return True


def _value(field: CustomField, value: int, raw: bytes) -> str:
    """The value as a person reads it."""
    name = field.name.partition("_")[2] or field.name
    if field.form == "text":
        return raw.rstrip(b"\0").decode("ascii", "replace")
    if field.form == "hash":
        return f"{raw.hex()[:20]}..."
    names = {"level": LEVELS, "kind": KINDS, "access": ACCESS}.get(name)
    if name == "scalar":
        names = {code: scalar.name for code, scalar in BY_CODE.items()}
    if names is not None:
        return f"{value} = {names.get(value, 'unknown')}"
    if name == "value":
        return f"{struct.unpack('<q', raw)[0]} or {struct.unpack('<d', raw)[0]:g}"
    if field.form == "hex":
        return f"{value:#0{2 * field.width + 2}x}"
    return f"{value:,} {field.form}".rstrip()
