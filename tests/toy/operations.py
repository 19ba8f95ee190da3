"""Toy operations, added from outside the package: for each a row, and one entry in each table of conversions.

`invert` packs INT8 and turns every bit over. `fold` packs FP32 into INT8, the exclusive or of its bytes. `spread` makes
FP32 of INT8 tiles or channel blocks, the byte and its complement by turns. The last two change the width, in both
directions. All take code 64, so one of them is installed at a time.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import attrs
import numpy as np

from tessbed.firmware_models import vector_cost, vector_ops
from tessbed.kernels import DType, Operation
from tessbed.kernels.a65 import numpy_rows
from tessbed.kernels.a65.cost import nests
from tessbed.kernels.conversions import CONVERSIONS
from tessbed.kernels.operations import Scalars, TileFormat, registered
from tessbed.scenarios.oracle import operations
from tessbed.scenarios.oracle.operations import OracleOperation

PIXEL_MAJOR = (TileFormat.COMPACT, TileFormat.PAD16)
Lanes = Sequence[np.ndarray]


def inverted(lanes: Lanes, parameters: Mapping[str, int]) -> Lanes:
    """Every bit turned over."""
    return [np.invert(lane) for lane in lanes]


def folded(lanes: Lanes, parameters: Mapping[str, int]) -> Lanes:
    """The exclusive or of a scalar's bytes."""
    return [lanes[0] ^ lanes[1] ^ lanes[2] ^ lanes[3]]


def spread(lanes: Lanes, parameters: Mapping[str, int]) -> Lanes:
    """A byte and its complement, twice."""
    (lane,) = lanes
    return [lane, np.invert(lane), lane, np.invert(lane)]


@attrs.frozen
class Toy:
    """An operation, and what moves its values in the product."""

    row: Operation
    convert: Any

    @property
    def conversion(self) -> str:
        """The name of its conversion."""
        return self.row.scalars[0].conversion

    def entries(self) -> dict[str, tuple[dict[str, Any], Any]]:
        """The table and the entry of each package, by a name for the tests."""
        pair = self.row.scalars[0].tiled.value, self.row.scalars[0].linear.value
        return {
            "conversions": (CONVERSIONS, "a toy"),
            "numpy rows": (numpy_rows.CONVERSIONS, numpy_rows.by_lanes(self.convert)),
            "vector steps": (vector_ops.CONVERSIONS, self.convert),
            "vector costs": (vector_cost.PATHS, vector_cost.VectorPaths("copy")),
            "a65 costs": (nests.WAYS, nests.COPIES),
            "oracle": (operations.OPERATIONS, OracleOperation(self.row.packs, {pair: self.convert})),
        }

    @contextmanager
    def installed(self, without: str = "") -> Iterator[Operation]:
        """The operation in all tables, but for one, for the time of a `with`."""
        with ExitStack() as undo:
            for name, (table, entry) in self.entries().items():
                if name != without:
                    key = self.row.name if name == "oracle" else self.conversion
                    table[key] = entry
                    undo.callback(table.pop, key)
            yield undo.enter_context(registered(self.row))


def _row(name: str, packs: bool, linear: DType, formats: tuple[TileFormat, ...]) -> Operation:
    scalars = (Scalars(DType.INT8, linear, f"{name}s"),)
    remedies = (f"{name} reads nothing else", f"{name} makes nothing else")
    return Operation(name, name.title(), 64, packs, scalars, formats, remedies)


TOYS = {
    "invert": Toy(_row("invert", True, DType.INT8, PIXEL_MAJOR), inverted),
    "fold": Toy(_row("fold", True, DType.FP32, PIXEL_MAJOR), folded),
    "spread": Toy(_row("spread", False, DType.FP32, (*PIXEL_MAJOR, TileFormat.CBLOCKED)), spread),
}
