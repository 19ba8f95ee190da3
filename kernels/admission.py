"""Admission: the checks shared by all operations; each refusal has a stable code, a place and a remedy.

The order is fixed (ports, shapes, dtypes, layouts, strides, and spans in `planning`): a request with several errors
is always refused for the same one. Source: the "Contract" sections of the three documents.
"""

from collections.abc import Sequence
from operator import index

from tessbed.kernels.dtypes import DType
from tessbed.kernels.errors import ContractError, shown
from tessbed.kernels.operations import Operation, TileFormat, names_where
from tessbed.kernels.tensor import (
    ChannelStorage,
    Contiguous,
    MlaCBlocked,
    MlaTiled,
    Strided,
    TensorSpec,
    dense_strides,
)

MAX_RANK = 6
AXIS_NAMES = ("d", "h", "w", "c")


def check_request(request: object, wanted: type, op: str) -> None:
    """Refuses what is not a Request of the operation `op`."""
    if not isinstance(request, wanted):
        raise ContractError("request_type", "request", f"got {type(request).__name__}, wanted {op}.Request")


def only_port(ports: Sequence[TensorSpec], where: str) -> TensorSpec:
    """The single spec of `ports`, or port_count."""
    if len(ports) != 1:
        raise ContractError("port_count", where, f"got {len(ports)} ports, wanted exactly one; pass one TensorSpec")
    if not isinstance(ports[0], TensorSpec):
        raise ContractError("port_type", f"{where}[0]", f"got {type(ports[0]).__name__}, wanted a TensorSpec")
    return ports[0]


def check_shapes(source: TensorSpec, target: TensorSpec) -> tuple[int, ...]:
    """The logical shape that both ports share, as plain integers."""
    shape = _checked_shape(source.shape, "inputs[0].shape")
    other = _checked_shape(target.shape, "outputs[0].shape")
    if shape != other:
        got, wanted = (", ".join(map(shown, extents)) for extents in (other, shape))
        raise ContractError(
            "shape_mismatch",
            "outputs[0].shape",
            f"got [{got}], wanted the input's [{wanted}]; only storage changes, never the logical shape",
        )
    return shape


def _checked_shape(shape: tuple[int, ...], where: str) -> tuple[int, ...]:
    if not shape:
        raise ContractError(
            "rank_zero", where, "got a scalar, wanted rank 1 to 6; give it an explicit axis of extent 1"
        )
    if len(shape) > MAX_RANK:
        raise ContractError(
            "rank_too_large", where, f"got rank {len(shape)}, wanted at most {MAX_RANK}; merge outer axes"
        )
    return tuple(_integer(extent, "extent_invalid", f"{where}[{axis}]", minimum=0) for axis, extent in enumerate(shape))


def plain_integer(value: object) -> int | None:
    """The value of any kind of integer, numpy's too, or None; a boolean is none."""
    try:
        return None if isinstance(value, bool) else index(value)  # pyright: ignore[reportArgumentType]
    except Exception:  # an object of the caller's can raise anything
        return None


def _integer(value: object, code: str, where: str, minimum: int) -> int:
    number = plain_integer(value)
    if number is None or number < minimum:
        raise ContractError(code, where, f"got {shown(value)}, wanted an integer of at least {minimum}")
    return number


def check_dtype(spec: TensorSpec, where: str, admitted: Sequence[DType], remedy: str) -> DType:
    """The port's dtype if it is one of `admitted`, or dtype_unsupported with `remedy`."""
    if spec.dtype not in admitted:
        got = spec.dtype.value if isinstance(spec.dtype, DType) else shown(spec.dtype)
        wanted = " or ".join(dtype.value for dtype in admitted)
        raise ContractError("dtype_unsupported", f"{where}.dtype", f"got {got}, wanted {wanted}; {remedy}")
    return spec.dtype


def check_dtypes(op: Operation, source: TensorSpec, target: TensorSpec) -> None:
    """Refuses scalar types, and pairs of them, that are not in the operation's row."""
    ports = ((source, "inputs[0]"), (target, "outputs[0]"))
    for spec, where in ports:
        for refusal in op.refusals:
            if spec.dtype is refusal.dtype:
                text = f"got {refusal.dtype.value}; {refusal.text}"
                raise ContractError(refusal.code, f"{where}.dtype", text)
    for (spec, where), admitted, remedy in zip(ports, (op.inputs, op.outputs()), op.remedies, strict=True):
        check_dtype(spec, where, admitted, remedy)
    outputs = op.outputs(source.dtype)
    if target.dtype not in outputs:
        wanted = " or ".join("the input's " * (dtype is source.dtype) + dtype.value for dtype in outputs)
        text = f"got {target.dtype.value}, wanted {wanted}; only {names_where(_converts)} changes the dtype"
        raise ContractError("dtype_mismatch", "outputs[0].dtype", text)


def _converts(op: Operation) -> bool:
    return any(pair.tiled is not pair.linear for pair in op.scalars)


def _reads_blocks(op: Operation) -> bool:
    return TileFormat.CBLOCKED in op.formats


def check_tiled(op: Operation, spec: TensorSpec, where: str, shape: tuple[int, ...]) -> None:
    """Refuses a tiled port whose layout is none of the operation's formats or does not fit `shape`."""
    layout, cblocked = spec.layout, _reads_blocks(op)
    where = f"{where}.layout"
    if isinstance(layout, MlaCBlocked):
        if not cblocked:
            raise ContractError(
                "cblocked_unsupported",
                where,
                f"got MlaCBlocked, wanted MlaTiled; only {names_where(_reads_blocks)} reads channel blocks",
            )
        _check_cblocked(layout, where, shape)
    elif isinstance(layout, MlaTiled):
        _check_mapping(layout, where, shape)
    else:
        raise ContractError(
            "layout_unsupported",
            where,
            f"got {type(layout).__name__}, wanted {'MlaTiled or MlaCBlocked' if cblocked else 'MlaTiled'};"
            " name the tiles explicitly",
        )


def _check_cblocked(layout: MlaCBlocked, where: str, shape: tuple[int, ...]) -> None:
    if len(shape) < 3:
        raise ContractError("cblocked_rank", where, f"got rank {len(shape)}, wanted 3 to 6 with trailing H, W, C axes")
    for name in ("tile_h", "tile_w", "tile_c"):
        _integer(getattr(layout, name), "tile_extent", f"{where}.{name}", minimum=1)


def _check_mapping(layout: MlaTiled, where: str, shape: tuple[int, ...]) -> None:
    for field in ("axes", "tile_shape"):
        if len(getattr(layout, field)) != len(AXIS_NAMES):
            raise ContractError(
                f"{field}_count",
                f"{where}.{field}",
                f"got {len(getattr(layout, field))} entries, wanted four: d, h, w, c",
            )
    if not isinstance(layout.channel_storage, ChannelStorage):
        raise ContractError(
            "channel_storage",
            f"{where}.channel_storage",
            f"got {shown(layout.channel_storage)}, wanted a ChannelStorage",
        )
    seen: dict[int, str] = {}
    for name, axis, extent in zip(AXIS_NAMES, layout.axes, layout.tile_shape, strict=True):
        _check_axis(name, axis, f"{where}.axes.{name}", len(shape), seen)
        _integer(extent, "tile_extent", f"{where}.tile_shape.{name}", minimum=1)
        if axis == -1 and extent != 1:
            raise ContractError(
                "omitted_axis_tile",
                f"{where}.tile_shape.{name}",
                f"got {shown(extent)}, wanted 1: axis {name} is omitted; map it or set its tile extent to 1",
            )


def _check_axis(name: str, axis: int, where: str, rank: int, seen: dict[int, str]) -> None:
    _integer(axis, "axis_out_of_range", where, minimum=-1)
    if axis >= rank:
        raise ContractError("axis_out_of_range", where, f"got {shown(axis)}, wanted -1 or a logical axis below {rank}")
    if axis == -1 and name == "c":
        raise ContractError(
            "channel_axis_missing", where, "got -1, wanted a logical axis; the channel axis is required"
        )
    if axis in seen:
        raise ContractError(
            "axis_duplicate",
            where,
            f"got {axis}, which is already {seen[axis]}; each axis is mapped at most once",
        )
    if axis >= 0:
        seen[axis] = name


def linear_strides(
    spec: TensorSpec, where: str, shape: tuple[int, ...], *, positive_unless_unit: bool = False
) -> tuple[int, ...]:
    """The byte strides of a Contiguous or Strided port, proven nonoverlapping.

    `positive_unless_unit` is DetessCast's literal rule: a stride of 0 needs an extent of exactly 1, not of at most 1.
    """
    width = spec.dtype.width
    if isinstance(spec.layout, Contiguous):
        return dense_strides(shape, width)
    if not isinstance(spec.layout, Strided):
        raise ContractError(
            "layout_unsupported",
            f"{where}.layout",
            f"got {type(spec.layout).__name__}, wanted Contiguous or Strided on the linear side",
        )
    where = f"{where}.layout.strides"
    strides = spec.layout.strides
    if len(strides) != len(shape):
        raise ContractError(
            "stride_count", where, f"got {len(strides)} strides, wanted {len(shape)}, one for each axis"
        )
    checked = tuple(
        _checked_stride(stride, f"{where}[{axis}]", extent, width, positive_unless_unit)
        for axis, (stride, extent) in enumerate(zip(strides, shape, strict=True))
    )
    _prove_nonoverlapping(checked, where, shape, width)
    return checked


def _checked_stride(stride: int, where: str, extent: int, width: int, positive_unless_unit: bool) -> int:
    stride = _integer(stride, "stride_negative", where, minimum=0)
    if stride % width:
        raise ContractError(
            "stride_unaligned", where, f"got {shown(stride)}, wanted a multiple of the scalar's {width} bytes"
        )
    if stride == 0 and (extent > 1 or (positive_unless_unit and extent != 1)):
        raise ContractError(
            "stride_zero",
            where,
            f"got 0 on an extent of {shown(extent)}, wanted a step for each element; "
            "broadcast views are not admitted, copy the data out",
        )
    return stride


def _prove_nonoverlapping(strides: tuple[int, ...], where: str, shape: tuple[int, ...], width: int) -> None:
    """The sorted-span proof: a stride must clear the span of all axes with smaller strides; unit axes do not count."""
    span = width
    nonunit = sorted((stride, axis) for axis, stride in enumerate(strides) if shape[axis] > 1)
    for stride, axis in nonunit:
        if stride < span:
            raise ContractError(
                "stride_overlap",
                f"{where}[{axis}]",
                f"got {shown(stride)}, wanted at least {shown(span)}, the span of the axes inside it; "
                "overlap can not be excluded, use larger strides",
            )
        span += (shape[axis] - 1) * stride
