"""A packet as a case for the oracle: its fields, read without the firmware.

Axes of one element are left out, as the oracle needs no implicit ones; channel blocks keep their H, W and C.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tessbed.kernels.ev74.fields import TILE_FORMATS
from tessbed.kernels.ev74.rules import linear_dtype, operation_of, tiled_dtype
from tessbed.scenarios.oracle.comparison import OracleCase, expected_output, required_bytes

ORDER = "dhwc"


def case_of(values: Mapping[str, int]) -> OracleCase:
    """The job of a valid packet's fields."""
    blocked = TILE_FORMATS[values["tile_format"]] == "cblocked"
    kept = [axis for axis in ORDER if axis == "c" or values[f"{axis}_extent"] > 1 or (blocked and axis != "d")]
    names = [*(f"outer{index}" for index in range(values["outer_rank"])), *kept]
    tiles = tuple(values[f"{axis}_tile"] for axis in ORDER)
    layout: dict[str, Any] = (
        {"cblocked": tiles[1:]} if blocked else {"axes": tuple(_axis(names, axis) for axis in ORDER), "tile": tiles}
    )
    op = operation_of(values)
    return OracleCase(
        op=op.name,
        dtype=tiled_dtype(values).value,
        shape=tuple(values[f"{name}_extent"] for name in names),
        strides_bytes=tuple(values[f"{name}_stride"] for name in names),
        pad16=TILE_FORMATS[values["tile_format"]] == "pad16",
        to=linear_dtype(values).value,
        fill=values["channel_fill"],
        parameters=tuple((parameter.field, values[parameter.field]) for parameter in op.parameters),
        **layout,
    )


def _axis(names: list[str], axis: str) -> int:
    return names.index(axis) if axis in names else -1


def places(values: Mapping[str, int]) -> tuple[bytes, ...]:
    """Where each output byte of the job comes from: the outputs for inputs that spell each byte's own offset.

    Two packets with equal places do the same job, whatever their inputs: one output for each digit of the offset.
    """
    case = case_of(values)
    offsets = np.arange(required_bytes(case)[0], dtype=np.uint64)
    digits = range(max(1, -(-int(offsets.size).bit_length() // 8)))
    return tuple(
        expected_output(case, (offsets >> np.uint64(8 * digit)).astype(np.uint8), 0).tobytes() for digit in digits
    )
