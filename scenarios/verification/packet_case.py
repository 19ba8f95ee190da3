"""A packet as a case for the oracle: its fields, read without the firmware.

Axes of one element are left out, as the oracle needs no implicit ones; channel blocks keep their H, W and C.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tessbed.kernels.ev74.fields import TILE_FORMATS
from tessbed.kernels.ev74.rules import linear_dtype, operation_of, tiled_dtype
from tessbed.scenarios.oracle.comparison import OracleCase, expected_output, required_bytes
from tessbed.scenarios.oracle.operations import value_of

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


def distinguishing_value(values: Mapping[str, int], others: Mapping[str, int]) -> bytes | None:
    """An FP32 word of which two packets that differ in parameters make different values; None where none was found.

    Looked for around every half of an integer that the scales could bring about, from -300 to 300.
    """
    words = np.concatenate([_words_near_ties(packet["scale"]) for packet in (values, others)])
    lanes = [(words >> np.uint32(8 * byte)).astype(np.uint8) for byte in range(4)]
    case = case_of(values)
    make = value_of(case.op, case.dtype, case.to or case.dtype)
    made = [make(lanes, dict(case_of(packet).parameters)) for packet in (values, others)]
    differ = np.any([one != other for one, other in zip(*made, strict=True)], axis=0)
    return words[differ][:1].astype("<u4").tobytes() or None


def _words_near_ties(scale: int) -> np.ndarray:
    """Words of the halves over the scale, and the seven on either side of each."""
    with np.errstate(all="ignore"):
        near = (np.arange(-600, 601) / 2 / np.uint32(scale).view(np.float32)).astype(np.float32)
    return (near.view(np.uint32)[:, None] + np.arange(-7, 8).astype(np.uint32)).reshape(-1)
