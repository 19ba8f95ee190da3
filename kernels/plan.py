"""Plans: what an admitted request resolves to, of fixed size whatever the tensor.

A tiled side is a grid of tiles over four mapped axes,
repeated over the outer (unmapped) axes. Along each mapped axis
the tiles are full but for at most one boundary tile, so the grid falls into at most 2**4 = 16 classes of equal tiles.
Tiles are stored in C, D, H, W order (W fastest), so inside a class a tile's offset is affine in its four indices:
one base and four steps describe every tile of the class, on the tiled and on the linear side.
Source: Detess document, "Numerical behavior"; DetessCast document, "Contract".
"""

import attrs

from tessbed.kernels.dtypes import DType
from tessbed.kernels.operations import Operation, TileFormat
from tessbed.kernels.tiling import MappedAxis, TileClass

LIMIT_BYTES = 2**63 - 1


@attrs.frozen
class OuterAxis:
    """An unmapped axis: extent in elements, stride in bytes on each side."""

    extent: int
    linear_stride_bytes: int
    tiled_stride_bytes: int


@attrs.frozen
class PortPlan:
    """What the storage of one port must offer: bytes of the whole span (holes and padding included), alignment."""

    required_bytes: int
    alignment_bytes: int


@attrs.frozen
class Plan:
    """An admitted request: frozen, owning, of fixed size; shared freely between threads and backends.

    A changed copy (`attrs.evolve`) is not `admitted`: `plan_check` proves it when it is prepared or encoded.

    `parameters` are those of the conversion, as (packet field, whole number) in the order of the operation's row.
    """

    op: Operation
    shape: tuple[int, ...]
    tile_format: TileFormat
    tiled_dtype: DType
    linear_dtype: DType
    c: MappedAxis
    d: MappedAxis
    h: MappedAxis
    w: MappedAxis
    outer: tuple[OuterAxis, ...]
    classes: tuple[TileClass, ...]
    input: PortPlan
    output: PortPlan
    channel_fill: int = 0
    parameters: tuple[tuple[str, int], ...] = ()
    admitted: bool = attrs.field(default=False, init=False, eq=False, repr=False)

    @property
    def packs(self) -> bool:
        """Whether the tiled side is the output."""
        return self.op.packs

    @property
    def tiled(self) -> PortPlan:
        """The port whose storage is tiled."""
        return self.output if self.op.packs else self.input

    @property
    def linear(self) -> PortPlan:
        """The other port."""
        return self.input if self.op.packs else self.output

    @property
    def conversion(self) -> str:
        """The name of what happens to a scalar; ContractError where the operation's row has none for these types."""
        return self.op.conversion(self.tiled_dtype, self.linear_dtype)

    @property
    def empty(self) -> bool:
        """True where an extent is 0: no storage, no device submission."""
        return 0 in self.shape

    @property
    def axes(self) -> tuple[MappedAxis, MappedAxis, MappedAxis, MappedAxis]:
        """The mapped axes in C, D, H, W order."""
        return self.c, self.d, self.h, self.w


def mark_admitted(plan: Plan) -> Plan:
    """Marks `plan` as one that admission has made, or that was proved to be as good."""
    object.__setattr__(plan, "admitted", True)
    return plan


def byte_layout(plan: Plan, *, written: bool) -> tuple[object, ...]:
    """What decides the meaning of each byte on a plan's output, or on its input."""
    if plan.packs == written:
        axes = tuple((axis.extent, min(axis.tile, axis.extent)) for axis in plan.axes)
        outer = tuple(axis.extent for axis in plan.outer)
        return plan.tile_format.value, plan.tiled_dtype.value, plan.shape, axes, outer
    strides = [(axis.stride_bytes, axis.extent) for axis in plan.axes]
    strides += [(axis.linear_stride_bytes, axis.extent) for axis in plan.outer]
    steps = sorted((stride, extent) for stride, extent in strides if extent > 1)
    return "linear", plan.linear_dtype.value, plan.shape, tuple(steps), ()
