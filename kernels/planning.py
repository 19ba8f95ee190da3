"""Planning: builds the plan of two ports that admission has checked; the spans of their storage are checked last."""

from collections.abc import Iterator
from operator import index

from tessbed.kernels.errors import ContractError, shown
from tessbed.kernels.operations import Operation, TileFormat
from tessbed.kernels.plan import LIMIT_BYTES, OuterAxis, Plan, PortPlan, mark_admitted
from tessbed.kernels.tensor import MlaCBlocked, MlaTiled, TensorSpec, dense_strides, span_bytes
from tessbed.kernels.tiling import TILE_ALIGNMENT_BYTES, MappedAxis, tile_classes, tile_grid


def build_plan(
    op: Operation,
    tiled: TensorSpec,
    linear: TensorSpec,
    *,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    channel_fill: int = 0,
    parameters: tuple[tuple[str, int], ...] = (),
) -> Plan:
    """The plan of two checked ports. Raises storage_overflow."""
    tile_format, mapping = _mapping(tiled, len(shape))
    axes = tuple(_mapped_axis(axis, tile, shape, strides) for axis, tile in mapping)
    grid = tile_grid(tile_format, tiled.dtype.width, axes)
    volume = grid.volume_bytes
    outer = tuple(_outer_axes([axis for axis, _ in mapping], shape, strides, volume))
    slices = 1
    for axis in outer:
        slices *= axis.extent
    names = ("outputs", "inputs") if op.packs else ("inputs", "outputs")
    tiled_port = PortPlan(_bounded(slices * volume, names[0]), TILE_ALIGNMENT_BYTES)
    span = span_bytes(shape, strides, linear.dtype.width)
    linear_port = PortPlan(_bounded(span, names[1]), linear.dtype.width)
    c, d, h, w = axes
    plan = Plan(
        op=op,
        shape=shape,
        tile_format=tile_format,
        tiled_dtype=tiled.dtype,
        linear_dtype=linear.dtype,
        c=c,
        d=d,
        h=h,
        w=w,
        outer=outer,
        classes=() if 0 in shape else tile_classes(tile_format, grid),
        input=linear_port if op.packs else tiled_port,
        output=tiled_port if op.packs else linear_port,
        channel_fill=channel_fill,
        parameters=parameters,
    )
    return mark_admitted(plan)


def _mapping(spec: TensorSpec, rank: int) -> tuple[TileFormat, tuple[tuple[int, int], ...]]:
    """The tile format, and (logical axis or -1, tile extent) in C, D, H, W order."""
    layout = spec.layout
    if isinstance(layout, MlaCBlocked):
        pairs = ((rank - 1, layout.tile_c), (-1, 1), (rank - 3, layout.tile_h), (rank - 2, layout.tile_w))
        return TileFormat.CBLOCKED, tuple((index(axis), index(tile)) for axis, tile in pairs)
    assert isinstance(layout, MlaTiled)
    order = [(index(axis), index(tile)) for axis, tile in zip(layout.axes, layout.tile_shape, strict=True)]
    return TileFormat(layout.channel_storage.value), (order[3], *order[:3])


def _mapped_axis(axis: int, tile: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> MappedAxis:
    if axis == -1:
        return MappedAxis(extent=1, tile=1, stride_bytes=0)
    return MappedAxis(extent=shape[axis], tile=min(tile, max(shape[axis], 1)), stride_bytes=strides[axis])


def _outer_axes(
    mapped: list[int], shape: tuple[int, ...], strides: tuple[int, ...], volume: int
) -> Iterator[OuterAxis]:
    """The unmapped axes in row-major order, each with its stride over whole volumes on the tiled side."""
    unmapped = [axis for axis in range(len(shape)) if axis not in mapped]
    tiled_strides = dense_strides(tuple(shape[axis] for axis in unmapped), volume) if unmapped else ()
    for axis, tiled_stride in zip(unmapped, tiled_strides, strict=True):
        yield OuterAxis(shape[axis], strides[axis], tiled_stride)


def _bounded(span: int, port: str) -> int:
    if span > LIMIT_BYTES:
        raise ContractError(
            "storage_overflow",
            f"{port}[0]",
            f"got a span of {shown(span)} bytes, wanted at most 2**63 - 1; split the tensor",
        )
    return span
