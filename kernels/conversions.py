"""Conversions: what happens to one scalar between the tiled and the linear side, by name.

An operation's row names the conversion of each of its pairs of scalar types; nobody infers one from widths, names or
directions. What moves the values is in one table of each package, keyed by these names: the numpy and the native rows
of the A65, the vector steps of the firmware, the costs of both, and the oracle, which has names of its own. A name that
a table does not hold is refused there, by `look_up`.
"""

from collections.abc import Mapping
from typing import TypeVar

from tessbed.kernels.errors import ContractError

CONVERSIONS: dict[str, str] = {
    "copy": "the scalar's one byte, as it is",
    "split": "a linear 16-bit word into a low and a high byte plane",
    "join": "a low and a high byte plane into a linear 16-bit word",
    "widen": "a low and a high byte plane into the upper half of a linear 32-bit word, the lower half zero",
    "narrow": "a linear FP32 word, rounded to BF16, into a low and a high byte plane",
    "quantize": "a linear FP32 word, scaled, rounded, shifted and saturated, into one byte",
    "dequantize": "one byte, shifted and divided by the scale, into a linear FP32 word",
}

Entry = TypeVar("Entry")


def look_up(table: Mapping[str, Entry], conversion: str, holder: str) -> Entry:
    """The entry for `conversion` in the table of `holder`; ContractError names both where there is none."""
    entry = table.get(conversion)
    if entry is None:
        held = ", ".join(table) or "none"
        text = f"got {conversion!r}, but {holder} has {held}; add a row to that table"
        raise ContractError("conversion_unsupported", "plan.conversion", text)
    return entry
