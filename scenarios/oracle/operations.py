"""The oracle's own table of operations: their direction, and what they do to a scalar's value.

Written from the documents, for the oracle alone: it shares no table with the product. Values are the bytes of a scalar,
low byte first. Source: "Numerical behavior" of the Detess and DetessCast documents, "Contract" of the Tess document;
docs/operations.md, "Numerics".
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tessbed.scenarios.oracle.values import dequantizing, narrowing, quantizing

Value = Sequence[np.ndarray | int]
Make = Callable[[Sequence[np.ndarray], Mapping[str, int]], Value]
"""The bytes of the output's scalars from those of the input's and the job's parameters, low byte first."""


@dataclass(frozen=True)
class OracleOperation:
    """`packs` says that the tiled side is the output; `values` are keyed by the scalar types (tiled, linear)."""

    packs: bool
    values: Mapping[tuple[str, str], Make]


def unchanged(value: Sequence[np.ndarray], parameters: Mapping[str, int]) -> Value:
    """The same bits."""
    return value


def widened(value: Sequence[np.ndarray], parameters: Mapping[str, int]) -> Value:
    """A BF16 word as FP32: its bits are the upper half."""
    return 0, 0, *value


MOVED: dict[tuple[str, str], Make] = {("int8", "int8"): unchanged, ("bf16", "bf16"): unchanged}
OPERATIONS: dict[str, OracleOperation] = {
    "tess": OracleOperation(True, MOVED),
    "detess": OracleOperation(False, MOVED),
    "detesscast": OracleOperation(False, {("bf16", "bf16"): unchanged, ("bf16", "fp32"): widened}),
    "casttess": OracleOperation(True, {("bf16", "bf16"): unchanged, ("bf16", "fp32"): narrowing}),
    "quanttess": OracleOperation(True, {("int8", "fp32"): quantizing}),
    "detessdequant": OracleOperation(False, {("int8", "fp32"): dequantizing}),
}


def oracle_operation(op: str) -> OracleOperation:
    """The oracle's row; ValueError where it has none."""
    if op not in OPERATIONS:
        raise ValueError(f"got operation {op!r}, but the oracle knows {', '.join(OPERATIONS)}")
    return OPERATIONS[op]


def value_of(op: str, tiled: str, linear: str) -> Make:
    """What becomes of a value; ValueError where the oracle does not know."""
    values = oracle_operation(op).values
    if (tiled, linear) not in values:
        held = ", ".join("/".join(pair) for pair in values)
        raise ValueError(f"got {op} of {tiled}/{linear} (tiled/linear), but the oracle knows {held}")
    return values[tiled, linear]
