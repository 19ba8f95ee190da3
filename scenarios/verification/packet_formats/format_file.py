"""Format file: a packet format of one's own, read from TOML with every error at its place. docs/packet-formats.md."""

from pathlib import Path
from typing import Any

import attrs

from tessbed.kernels.ev74 import fields as ours
from tessbed.scenarios.format.diagnostics import KeyPath, Location, Problem, ScenarioError, alternatives, nearest
from tessbed.scenarios.format.reader import Reader
from tessbed.scenarios.format.schema_keys import INTEGER, TEXT, Key, Kind, integer_kind, one_of
from tessbed.scenarios.format.texts import read_text
from tessbed.scenarios.format.toml_source import parse_toml
from tessbed.scenarios.verification.packet_formats.field_table import (
    CHECKSUMS,
    UNITS,
    Checksum,
    FormatField,
    PacketFormat,
)
from tessbed.scenarios.verification.packet_formats.geometry_map import MAPPED, REQUIRED, GeometryMap, MapEntry

MOST_BYTES = 4096
ENDIANNESS = one_of("little", "big")
WORD = integer_kind(0, 2**63 - 1)
NAMES = Kind(
    "a table of names and values, such as { tess = 1, detess = 2 }",
    lambda value: isinstance(value, dict) and bool(value) and all(_is_word(item) for item in value.values()),
    {"type": "object"},
)
FLAG = Kind("true or false", lambda value: isinstance(value, bool), {"type": "boolean"})
ENTRY = Kind(
    'the name of a field, a constant, or a table such as { field = "rows", plus = 1, times = 16 }',
    lambda value: isinstance(value, str | dict) or _is_word(value),
    {},
)
FIELD = (
    Key("name", "name of the field, unique in the format", TEXT, required=True),
    Key("offset", "the byte in which it begins", integer_kind(0, MOST_BYTES - 1), required=True),
    Key("bit", "the bit of that byte at which it begins: from the lowest, big-endian from the highest",
        integer_kind(0, 7), default=0),
    Key("bits", "its width", integer_kind(1, 64), required=True),
    Key("endianness", "order of its bytes and bits; that of the format without it", ENDIANNESS),
    Key("meaning", "what it is for", TEXT, default=""),
    Key("unit", "how its value is shown", one_of(*UNITS), default=""),
    Key("low", "the lowest value that a packet may carry", WORD, default=0),
    Key("high", "the highest; as much as the bits hold without it", WORD),
    Key("value", "the only value, instead of low and high", WORD),
    Key("values", "the values that a packet may carry, by name", NAMES),
    Key("reserved", "it means nothing, and is 0", FLAG, default=False),
)  # fmt: skip
CHECKSUM = (
    Key("field", "the field that holds it", TEXT, required=True),
    Key("kind", "how it is computed", one_of(*CHECKSUMS), required=True),
    Key("first", "the first byte that it covers", integer_kind(0, MOST_BYTES), default=0),
    Key("end", "the byte behind the last; all to the end without it", integer_kind(1, MOST_BYTES)),
)
MAP = tuple(Key(name, ours.BY_NAME[name].meaning, ENTRY) for name in MAPPED)
MAPPING = (
    Key("field", "the field of this format", TEXT, required=True),
    Key("plus", "added to its value", INTEGER, default=0),
    Key("times", "then multiplied by this", integer_kind(1, 2**32), default=1),
)
FORMAT = (
    Key("name", "name of the format", TEXT, required=True),
    Key("about", "one line about it", TEXT, default=""),
    Key("bytes", "size of a packet", integer_kind(1, MOST_BYTES), required=True),
    Key("endianness", "of fields that do not say it", ENDIANNESS, default="little"),
    Key("fields", "the fields; every bit belongs to one", table=FIELD, many=True, required=True),
    Key("checksum", "the check sum of a packet", table=CHECKSUM),
    Key("map", "what of our geometry the fields say; without it packets are not run", table=MAP),
)


@attrs.frozen
class ReadFormat:
    """A format, and how it maps to our geometry; None where it does not."""

    format: PacketFormat
    map: GeometryMap | None


def _is_word(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def read_format(name: str) -> ReadFormat:
    """The format of a file. Raises ScenarioError with every error at once."""
    path = Path(name)
    if not path.is_file() and name != "-":
        what = "is a folder" if path.is_dir() else "no such file"
        raise ScenarioError([Problem(Location(name), f"{what}, wanted a packet format in TOML", "no_such_file")])
    reader = Reader(parse_toml(read_text(path, name), name))
    values = reader.table((), reader.source.values, FORMAT)
    fields = [_field(reader, ("fields", i), each, values) for i, each in enumerate(values.get("fields") or [])]
    sound = [field for field in fields if field is not None]
    _judge_fields(reader, fields, values.get("bytes"))
    checksum = _checksum(reader, values, sound)
    mapped = _map(reader, values.get("map"), sound)
    if reader.problems:
        raise ScenarioError(reader.problems)
    return ReadFormat(PacketFormat(values["name"], values["about"], values["bytes"], tuple(sound), checksum), mapped)


def _field(reader: Reader, path: KeyPath, said: dict[str, Any], whole: dict[str, Any]) -> FormatField | None:
    """The field, None where its own keys are wrong."""
    if not all(name in said for name in ("name", "offset", "bits")) or not reader.sound(path):
        return None
    most = 2 ** said["bits"] - 1
    for key in ("low", "high", "value"):
        if said[key] is not None and said[key] > most:
            reader.report_error((*path, key), f"got {said[key]}, wanted at most {most}, what {said['bits']} bits hold")
    for name, value in (said["values"] or {}).items():
        if value > most:
            text = f"got {value}, wanted at most {most}, what {said['bits']} bits hold"
            reader.report_error((*path, "values", name), text)
    exclusive = [key for key in ("value", "values") if said[key] is not None] + ["reserved"] * said["reserved"]
    if len(exclusive) > 1 or (exclusive and (said["low"] or said["high"] is not None)):
        got = " and ".join([*exclusive, *(key for key in ("low", "high") if said[key])])
        reader.report_error(path, f"got {got}, wanted one of value, values, reserved, or low and high")
    low, high = _limits(said, most)
    if low > high:
        reader.report_error((*path, "low"), f"got {low}, wanted no more than high, {high}")
    return FormatField(
        name=said["name"],
        start=8 * said["offset"] + said["bit"],
        bits=said["bits"],
        endianness=said["endianness"] or whole.get("endianness", "little"),
        meaning=said["meaning"],
        unit="hex" if said["reserved"] else said["unit"],
        low=low,
        high=high,
        values=said["values"] or {},
        reserved=said["reserved"],
    )


def _limits(said: dict[str, Any], most: int) -> tuple[int, int]:
    if said["reserved"]:
        return 0, 0
    if said["value"] is not None:
        return said["value"], said["value"]
    return said["low"], most if said["high"] is None else said["high"]


def _judge_fields(reader: Reader, fields: list[FormatField | None], nbytes: int | None) -> None:
    """Report names that are taken, fields beyond the packet, bits of two fields, and bits of none."""
    names: dict[str, int] = {}
    taken: dict[int, str] = {}
    for index, field in enumerate(fields):
        if field is None:
            continue
        path: KeyPath = ("fields", index)
        if field.name in names:
            reader.report_error((*path, "name"), f'got "{field.name}", the name of fields[{names[field.name]}]')
        names.setdefault(field.name, index)
        end = -(-(field.start + field.bits) // 8)
        if nbytes is not None and end > nbytes:
            reader.report_error((*path, "offset"), f"got a field that ends in byte {end - 1}, the packet has {nbytes}")
            continue
        clash = [bit for bit in field.places() if bit in taken]
        if clash:
            where = f"bit {clash[0] % 8} of byte {clash[0] // 8}"
            reader.report_error((*path, "offset"), f"got {where}, which belongs to {taken[clash[0]]} already")
        taken |= {bit: field.name for bit in field.places() if bit not in taken}
    if nbytes is not None and None not in fields and not reader.problems:
        free = [bit for bit in range(8 * nbytes) if bit not in taken]
        if free:
            text = (
                f"got {len(free)} bits that belong to no field, the first is bit {free[0] % 8} of byte {free[0] // 8}"
            )
            reader.report_error(("fields",), f"{text}; wanted a field for each, with reserved = true where it is 0")


def _checksum(reader: Reader, values: dict[str, Any], fields: list[FormatField]) -> Checksum | None:
    said = values.get("checksum")
    if not said or not reader.sound(("checksum",)):
        return None
    end = values.get("bytes", MOST_BYTES) if said["end"] is None else said["end"]
    field = _named(reader, ("checksum", "field"), said["field"], fields)
    bits = CHECKSUMS[said["kind"]][0]
    if field is not None and field.bits != bits:
        text = f"got {field.name}, a field of {field.bits} bits, wanted {bits}: those of {said['kind']}"
        reader.report_error(("checksum", "field"), text)
    if said["first"] >= end or end > values.get("bytes", MOST_BYTES):
        text = f"got bytes {said['first']} to {end}, wanted some of the packet's {values.get('bytes')}"
        reader.report_error(("checksum", "end"), text)
    return Checksum(said["field"], said["kind"], said["first"], end)


def _named(reader: Reader, path: KeyPath, name: str, fields: list[FormatField]) -> FormatField | None:
    """The field of that name; reported where there is none."""
    found = next((field for field in fields if field.name == name), None)
    if found is None:
        names = [field.name for field in fields]
        reader.report_error(path, f'got "{name}", wanted the name of a field{nearest(name, names)}')
    return found


def _map(reader: Reader, said: dict[str, Any] | None, fields: list[FormatField]) -> GeometryMap | None:
    if not said:
        return None
    given = {name: value for name, value in said.items() if value is not None}
    for name in REQUIRED:
        if name not in given:
            reader.report_error(
                ("map", name), "missing, wanted a field of this format, or a constant", None, "missing_key"
            )
    found = [(name, _entry(reader, ("map", name), value, fields)) for name, value in given.items()]
    for name in given:
        _judge_outer(reader, name, given)
    return GeometryMap({name: entry for name, entry in found if entry is not None})


def _judge_outer(reader: Reader, name: str, given: dict[str, Any]) -> None:
    """Report an outer axis behind one that is not mapped, and a stride without its extent."""
    if not name.startswith("outer"):
        return
    index = int(name[5])
    needed = f"outer{index}_extent" if name.endswith("stride") else f"outer{index - 1}_extent"
    if (index or name.endswith("stride")) and needed not in given:
        reader.report_error(("map", name), f"got {name} without {needed}, wanted both")


def _entry(reader: Reader, path: KeyPath, value: Any, fields: list[FormatField]) -> MapEntry | None:
    name = str(path[-1])
    known = ours.BY_NAME[name].names
    if isinstance(value, dict):
        said = reader.table(path, value, MAPPING)
        field = _named(reader, (*path, "field"), said["field"], fields) if "field" in said else None
        return MapEntry(field, plus=said.get("plus", 0), times=said.get("times", 1)) if field else None
    if isinstance(value, int):
        return MapEntry(constant=value)
    if field := next((field for field in fields if field.name == value), None):
        return MapEntry(field)
    if value in known.values():
        return MapEntry(constant=next(number for number, called in known.items() if called == value))
    names = [*(field.name for field in fields), *known.values()]
    enumeration = f", or {alternatives(list(known.values()))}" if known else ""
    reader.report_error(path, f'got "{value}", wanted the name of a field{enumeration}{nearest(value, names)}')
    return None
