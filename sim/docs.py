"""The tables of docs/simulation.md: `python -m tessbed.sim.docs [FILE]` renews them from the code in place.

A table is between `<!-- table: NAME -->` and `<!-- end of table -->`; everything else is written by hand.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs

from tessbed.sim.checkers import hazards
from tessbed.sim.completion_record import FIELDS, STATUS
from tessbed.sim.fault_injection import FAULT_KINDS
from tessbed.sim.spec.device_spec import DeviceSpec, to_mapping

BLOCK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def renew_simulation_page(text: str) -> str:
    """The page with every table as the code has it."""
    return BLOCK.sub(lambda block: block[1] + TABLES[block[2]]() + block[3], text)


def fields() -> str:
    """Every DeviceSpec field: name, unit, default, limits, meaning, provenance."""
    rows = _rows(DeviceSpec, to_mapping(DeviceSpec()), "")
    return _table(("field", "unit", "default", "limits", "meaning", "provenance"), rows)


def record_table() -> str:
    """The completion record, field by field."""
    rows = [(f"0x{field.offset:02x}", str(field.width), f"`{field.name}`", field.meaning) for field in FIELDS]
    return _table(("offset", "bytes", "field", "meaning"), rows)


def status_table() -> str:
    """The status codes of the device."""
    return _table(("status", "name"), [(f"{code:#x}", f"`{name}`") for name, code in STATUS.items()])


def fault_table() -> str:
    """What can go wrong on purpose."""
    return _table(("fault", "what happens"), [(f"`{name}`", text) for name, text in FAULT_KINDS.items()])


def hazard_table() -> str:
    """What the checker can find."""
    return _table(("kind", "finding"), [(f"`{name}`", text) for name, text in hazards.HAZARD_KINDS.items()])


TABLES = {
    "fields": fields,
    "record": record_table,
    "status": status_table,
    "faults": fault_table,
    "hazards": hazard_table,
}


def _rows(cls: Any, defaults: dict[str, Any], prefix: str) -> Iterator[tuple[str, ...]]:
    for field in attrs.fields(cls):
        value = defaults[field.name]
        if attrs.has(field.type):
            yield from _rows(field.type, value, f"{prefix}{field.name}.")
        else:
            meta = field.metadata
            limits = _limits(field.type, meta)
            shown = f"{value:#x}" if meta["unit"] == "address" else _plain(value)
            yield (f"`{prefix}{field.name}`", meta["unit"], shown, limits, meta["meaning"], meta["provenance"])


def _limits(kind: Any, meta: Any) -> str:
    if kind is int:
        power = ", power of two" if meta["power_of_two"] else ""
        return f"{meta['low']} to {_power(meta['high'])}{power}"
    return " or ".join(meta["choices"]) or ("true or false" if kind is bool else "distinct, one per core")


def _power(value: int) -> str:
    exact = value > 1 << 16 and value.bit_count() == 1
    return f"2^{value.bit_length() - 1}" if exact else str(value)


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    page = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/simulation.md")
    page.write_text(renew_simulation_page(page.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
