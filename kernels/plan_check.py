"""Plan check: whether a plan from elsewhere is one that admission makes of some request.

Backends trust a plan: spans become addresses. `check_inference` marks what it makes; what was put together by hand, or
is another plan with a field changed, bears no mark and is proved here before anyone uses it. A plan's geometry (its
operation, scalar types, tile format, axes and strides) decides all else that it holds, so the proof checks the geometry
by the rules of admission, works out the rest again and compares. Its cost does not depend on the tensor's size.
"""

from math import prod

import attrs

from tessbed.kernels import admission
from tessbed.kernels.dtypes import DType
from tessbed.kernels.errors import ContractError
from tessbed.kernels.operations import OPERATIONS, Operation, Parameter, TileFormat
from tessbed.kernels.plan import LIMIT_BYTES, OuterAxis, Plan, PortPlan, mark_admitted
from tessbed.kernels.tensor import Strided, TensorSpec, dense_strides, span_bytes
from tessbed.kernels.tiling import TILE_ALIGNMENT_BYTES, MappedAxis, tile_classes, tile_grid

CHANNEL_FILL = "channel_fill"


def check_plan(plan: object, op: Operation | None = None) -> Plan:
    """`plan`, if admission would have made it, of `op` where that is given, and of a row of the table in any case.

    ContractError for what is no Plan, for another operation or none of the table, and for a forged plan.
    """
    if not isinstance(plan, Plan):
        raise ContractError("plan_type", "plan", f"got {type(plan).__name__}, wanted a Plan; call check_inference")
    got = plan.op.name if isinstance(plan.op, Operation) else repr(plan.op)
    if op is not None and plan.op is not op:
        raise ContractError("plan_op", "plan", f"got a plan of {got}, wanted one of {op.name}")
    for row in OPERATIONS.values():
        if plan.op is row:
            break
    else:
        raise ContractError("op_unknown", "plan.op", f"got {got}, wanted one of {', '.join(OPERATIONS)}")
    if not plan.admitted:
        _prove(plan)
        mark_admitted(plan)
    return plan


def _prove(plan: Plan) -> None:
    _check_kind(plan)
    _check_axes(plan)
    _check_shape(plan)
    _check_strides(plan)
    _check_fill(plan)
    _check_storage(plan)


def _forged(field: str, got: object, wanted: str) -> ContractError:
    return ContractError("plan_forged", f"plan.{field}", f"got {got!r}, wanted {wanted}; call check_inference")


def _check_kind(plan: Plan) -> None:
    pairs = plan.op.scalars
    if not any(plan.tiled_dtype is pair.tiled and plan.linear_dtype is pair.linear for pair in pairs):
        wanted = " or ".join(f"{pair.tiled.value} and {pair.linear.value}" for pair in pairs)
        got = (plan.tiled_dtype, plan.linear_dtype)
        raise _forged("tiled_dtype and linear_dtype", got, f"{wanted}, which {plan.op.name} moves")
    if not any(plan.tile_format is known for known in plan.op.formats):
        raise _forged("tile_format", plan.tile_format, f"a tile format of {plan.op.name}")


def _check_axes(plan: Plan) -> None:
    for name, axis in zip("cdhw", plan.axes, strict=True):
        _check_numbers(name, axis, MappedAxis)
        if not 1 <= axis.tile <= max(axis.extent, 1):
            raise _forged(f"{name}.tile", axis.tile, f"1 to the axis's extent of {axis.extent}")
    if plan.tile_format is TileFormat.CBLOCKED and plan.d.extent != 1:
        raise _forged("d.extent", plan.d.extent, "1: channel blocks have no depth")
    if type(plan.outer) is not tuple:
        raise _forged("outer", plan.outer, "a tuple of OuterAxis")
    for number, axis in enumerate(plan.outer):
        _check_numbers(f"outer[{number}]", axis, OuterAxis)


def _check_numbers(name: str, axis: object, wanted: type) -> None:
    """Refuses what is no `wanted`, or holds other than whole numbers of at least 0."""
    if type(axis) is not wanted:
        raise _forged(name, axis, f"of type {wanted.__name__}")
    for field in attrs.fields(wanted):
        number = getattr(axis, field.name)
        if type(number) is not int or number < 0:
            raise _forged(f"{name}.{field.name}", number, "an integer of at least 0")


def _extents(plan: Plan) -> tuple[int, ...]:
    """The extents of all axes: the outer ones, which the shape has in their order, then the mapped ones."""
    return (*(axis.extent for axis in plan.outer), *(axis.extent for axis in plan.axes))


def _strides(plan: Plan) -> tuple[int, ...]:
    """The linear strides in bytes of the same axes."""
    return (*(axis.linear_stride_bytes for axis in plan.outer), *(axis.stride_bytes for axis in plan.axes))


def _check_shape(plan: Plan) -> None:
    """The outer axes and the mapped ones that are not omitted make up the shape."""
    shape = plan.shape if type(plan.shape) is tuple else ()
    omitted = len(plan.outer) + 4 - len(shape)
    if not 0 <= omitted <= 3 or not 1 <= len(shape) <= admission.MAX_RANK:
        raise _forged("shape", plan.shape, "a tuple of 1 to 6 extents, one for each outer axis and mapped axis")
    if any(type(extent) is not int for extent in shape) or sorted((*shape, *[1] * omitted)) != sorted(_extents(plan)):
        raise _forged("shape", shape, f"the extents of its axes, which are {_extents(plan)} with those omitted")
    rest = iter(shape)
    if not all(axis.extent in rest for axis in plan.outer):
        raise _forged("shape", shape, "the extents of the outer axes in their order")


def _check_strides(plan: Plan) -> None:
    spec = TensorSpec(_extents(plan), plan.linear_dtype, Strided(_strides(plan)))
    admission.linear_strides(spec, "plan", spec.shape, positive_unless_unit=plan.op.strict_zero_strides)


def _check_fill(plan: Plan) -> None:
    fields = [parameter.field for parameter in plan.op.parameters]
    padded = plan.tiled_dtype is DType.INT8 and plan.tile_format is TileFormat.PAD16 and CHANNEL_FILL in fields
    if type(plan.channel_fill) is not int or not 0 <= plan.channel_fill <= (0xFF if padded else 0):
        raise _forged("channel_fill", plan.channel_fill, "a byte, 0 where no channel is padded with INT8")
    wanted = [parameter for parameter in plan.op.parameters if parameter.field != CHANNEL_FILL]
    _check_parameters(plan.parameters, wanted)


def _check_parameters(pairs: object, wanted: list[Parameter]) -> None:
    """One pair of the packet field and a word that stands for a value, for each parameter of the conversion."""
    names = tuple(parameter.field for parameter in wanted)
    fits = type(pairs) is tuple and all(type(pair) is tuple and len(pair) == 2 for pair in pairs)
    if not fits or tuple(field for field, _ in pairs) != names:  # pyright: ignore[reportGeneralTypeIssues]
        raise _forged("parameters", pairs, f"a pair of name and value for each of {names}")
    for parameter, (field, value) in zip(wanted, pairs, strict=True):  # pyright: ignore[reportArgumentType]
        if type(value) is not int or not parameter.stands_for(value):
            raise _forged(f"parameters.{field}", value, "an integer that stands for a value of it")


def _check_storage(plan: Plan) -> None:
    """What follows from the geometry: tile classes, strides of whole volumes, spans."""
    grid = tile_grid(plan.tile_format, plan.tiled_dtype.width, plan.axes)
    outer = tuple(axis.extent for axis in plan.outer)
    steps = dense_strides(outer, grid.volume_bytes) if outer else ()
    _compare("outer", tuple(axis.tiled_stride_bytes for axis in plan.outer), steps)
    _compare("classes", plan.classes, () if plan.empty else tile_classes(plan.tile_format, grid))
    tiled = PortPlan(prod(outer) * grid.volume_bytes, TILE_ALIGNMENT_BYTES)
    linear = PortPlan(span_bytes(_extents(plan), _strides(plan), plan.linear_dtype.width), plan.linear_dtype.width)
    source, target = (linear, tiled) if plan.packs else (tiled, linear)
    _compare("input", plan.input, source)
    _compare("output", plan.output, target)
    if max(tiled.required_bytes, linear.required_bytes) > LIMIT_BYTES:
        raise _forged("shape", plan.shape, "spans of at most 2**63 - 1 bytes")


def _compare(field: str, got: object, wanted: object) -> None:
    """Refuses what differs, even if only in the type of a number: a float is equal to an integer and is none."""
    if got != wanted or repr(got) != repr(wanted):
        raise _forged(field, got, f"what the plan's geometry resolves to: {wanted!r}")
