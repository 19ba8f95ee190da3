"""Admission errors: submits a job to the kernels' admission and reports each refusal at the key that caused it.

Admission stops at the first error, in a fixed order. To report all of them at once, the error is replaced
with a value that is right for certain and the job is submitted again. A changed geometry never becomes a plan.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import attrs

from tessbed.firmware_models.composition import Composition
from tessbed.kernels import (
    Contiguous,
    ContractError,
    DType,
    MlaCBlocked,
    MlaTiled,
    NotRepresentable,
    Plan,
    Strided,
)
from tessbed.kernels.a65.cost.nests import WAYS
from tessbed.kernels.a65.row_engine import VARIABLE, chosen_engine
from tessbed.kernels.admission import MAX_RANK
from tessbed.kernels.conversions import look_up
from tessbed.kernels.ev74.encode import encode_plan
from tessbed.kernels.ev74.fields import VERSION_MAJOR
from tessbed.kernels.operations import ROUNDING
from tessbed.scenarios.format.diagnostics import KeyPath
from tessbed.scenarios.model import Geometry
from tessbed.scenarios.oracle.operations import value_of

MAX_ERRORS = 40

AdmissionError = tuple[KeyPath, str]


@attrs.frozen
class AdmissionResult:
    """The result of a geometry: its plan, or every error and the plan of what is right about it, if there is one."""

    plan: Plan | None
    errors: tuple[AdmissionError, ...]
    corrected: Plan | None


def admit(geometry: Geometry) -> AdmissionResult:
    """Put the geometry before admission; an error is (path of keys inside the job, text with admission's code)."""
    errors: list[AdmissionError] = []
    trial: Geometry | None = geometry
    while trial is not None and len(errors) < MAX_ERRORS:
        try:
            plan = trial.admit()
        except ContractError as error:
            if not (errors and error.code == "storage_overflow"):  # substitutes of strides take room
                errors.append((key_path(error.where, geometry), f"{error.text} [{error.code}]"))
            trial = _with_placeholder(trial, error)
        else:
            return AdmissionResult(None if errors else plan, tuple(errors), plan)
    return AdmissionResult(None, tuple(errors), None)


def representable(plan: Plan) -> AdmissionError | None:
    """Why no EV74 packet can hold the plan, or None."""
    if plan.empty:
        return None
    try:
        encode_plan(plan)
    except NotRepresentable as error:
        key = ("linear", "strides_bytes") if error.field.endswith("_stride") else ("shape",)
        return key, str(error)
    return None


def unsupported(plan: Plan, *, ev74: bool) -> Iterator[AdmissionError]:
    """Each table that has no entry for what the plan's operation does: the oracle's, the A65's, the firmware's.

    Raises ContractError for rows that the environment asks for and that are not there.
    """
    try:
        value_of(plan.op.name, plan.tiled_dtype.value, plan.linear_dtype.value)
    except ValueError as error:
        yield ("op",), str(error)
    try:
        chosen_engine(plan.conversion)
        look_up(WAYS, plan.conversion, "the table of the A65's costs")
    except ContractError as error:
        if error.where == VARIABLE:  # no key of the file is at fault
            raise
        yield ("op",), f"{error.text} [{error.code}]"
    version = VERSION_MAJOR, plan.op.version_minor
    kernel = plan.op.name, plan.tiled_dtype.value, plan.tile_format.value
    if ev74 and (lack := Composition().lacks(*kernel, version, plan.conversion)):
        yield ("op",), f"{lack}: the firmware can not be built with {plan.op.name}"


AXES = ("d", "h", "w", "c")
_WHERE = re.compile(r"(?P<port>inputs|outputs)\[0\](?:\.(?P<field>shape|dtype|layout)(?P<rest>.*))?$")
_STEP = re.compile(r"\.?(\w+)")


def key_path(where: str, geometry: Geometry) -> KeyPath:
    """The keys of the scenario that say what admission calls `where` (port and field)."""
    found = _WHERE.match(where)
    if not found:
        return _parameter_path(where.split(".")[1:], geometry)
    tiled_port = "outputs" if geometry.op.packs else "inputs"
    tiled = found["port"] == tiled_port
    steps: KeyPath = tuple(int(step) if step.isdecimal() else step for step in _STEP.findall(found["rest"] or ""))
    if found["field"] == "shape":
        return ("shape", *steps)
    if found["field"] == "dtype":
        return ("to",) if found["port"] == "outputs" and geometry.to is not None else ("dtype",)
    if found["field"] == "layout":
        return _tiled_path(steps, geometry) if tiled else _linear_path(steps)
    return ("shape",) if tiled or isinstance(geometry.linear, Contiguous) else _linear_path(("strides",))


def _parameter_path(steps: list[str], geometry: Geometry) -> KeyPath:
    """The key of a parameter, in the table of its group."""
    groups = {parameter.name: parameter.group for parameter in geometry.op.parameters}
    group = groups.get(steps[0], "") if steps else ""
    return (group, *steps) if group else tuple(steps)


def _linear_path(steps: KeyPath) -> KeyPath:
    return ("linear", "strides_bytes", *steps[1:]) if steps else ("linear",)


def _tiled_path(steps: KeyPath, geometry: Geometry) -> KeyPath:
    if isinstance(geometry.tiled, MlaCBlocked):
        return ("cblocked", "tile", ("tile_h", "tile_w", "tile_c").index(str(steps[0]))) if steps else ("cblocked",)
    names = {"axes": "axes", "tile_shape": "tile", "channel_storage": "channels"}
    inner = [AXES.index(step) if step in AXES else step for step in steps[1:]]
    return ("tiled", names[str(steps[0])], *inner) if steps else ("tiled",)


def _with_placeholder(geometry: Geometry, error: ContractError) -> Geometry | None:
    """The geometry with the error replaced by something admitted, or None where that would invent new errors."""
    substitute = SUBSTITUTES.get(error.code)
    return substitute(geometry, key_path(error.where, geometry)) if substitute else None


def _substitute_extent(geometry: Geometry, path: KeyPath) -> Geometry:
    return attrs.evolve(geometry, shape=_replaced(geometry.shape, path[-1], abs(geometry.shape[int(path[-1])])))


def _substitute_rank(geometry: Geometry, path: KeyPath) -> Geometry | None:
    rank = len(geometry.shape)
    if rank == 0:
        axes = geometry.tiled.axes if isinstance(geometry.tiled, MlaTiled) else (2,)
        return attrs.evolve(geometry, shape=(1,) * min(MAX_RANK, max(1, max(axes) + 1)), linear=Contiguous())
    tiled = geometry.tiled
    if isinstance(tiled, MlaTiled):
        for position, axis in enumerate(tiled.axes):
            if MAX_RANK <= axis < rank:
                tiled = _without_axis(tiled, position, MAX_RANK)
    return attrs.evolve(geometry, shape=geometry.shape[:MAX_RANK], tiled=tiled, linear=Contiguous())


def _substitute_dtype(geometry: Geometry, path: KeyPath) -> Geometry:
    """The narrowest scalar type: strides that are right for the one that was meant are right for it."""
    if path == ("to",):
        return attrs.evolve(geometry, to=narrowest(geometry.op.outputs()))
    dtype = narrowest(geometry.op.inputs)
    return attrs.evolve(geometry, dtype=dtype, int8_channel_padding=0 if dtype is DType.INT8 else None)


def narrowest(dtypes: Iterable[DType]) -> DType:
    """The scalar type of the fewest bytes."""
    return min(dtypes, key=lambda dtype: dtype.width)


def _substitute_tile(geometry: Geometry, path: KeyPath) -> Geometry:
    layout = geometry.tiled
    if isinstance(layout, MlaCBlocked):
        name = ("tile_h", "tile_w", "tile_c")[int(path[-1])]
        return attrs.evolve(geometry, tiled=attrs.evolve(layout, **{name: 1}))
    return attrs.evolve(geometry, tiled=attrs.evolve(layout, tile_shape=_replaced(layout.tile_shape, path[-1], 1)))


def _substitute_axis(geometry: Geometry, path: KeyPath) -> Geometry | None:
    layout = geometry.tiled
    assert isinstance(layout, MlaTiled)
    tiled = _without_axis(layout, int(path[-1]), len(geometry.shape))
    return attrs.evolve(geometry, tiled=tiled) if tiled else None


def _without_axis(layout: MlaTiled, position: int, rank: int) -> MlaTiled:
    """The layout with an omitted axis there, of the channels one that is free; an extent that is wrong stays."""
    if AXES[position] == "c":
        free = [axis for axis in range(rank) if axis not in layout.axes]
        return attrs.evolve(layout, axes=_replaced(layout.axes, position, free[0] if free else rank - 1))
    extent = min(1, layout.tile_shape[position])
    return MlaTiled(
        _replaced(layout.axes, position, -1), _replaced(layout.tile_shape, position, extent), layout.channel_storage
    )


def _substitute_stride(geometry: Geometry, path: KeyPath) -> Geometry:
    """A stride that is clear of all others."""
    assert isinstance(geometry.linear, Strided)
    strides, width = list(geometry.linear.strides), geometry.linear_dtype.width
    strides[int(path[-1])] = clear_of(strides, geometry.shape, int(path[-1]), width)
    return attrs.evolve(geometry, linear=Strided(tuple(strides)))


def clear_of(strides: Sequence[int], shape: Sequence[int], at: int, width: int) -> int:
    """A stride for the axis `at` that exceeds the span of all others."""
    others = [
        (abs(n) - 1) * s for axis, (s, n) in enumerate(zip(strides, shape, strict=True)) if axis != at and s > 0 != n
    ]
    return -(-(width + sum(others)) // width) * width


def _substitute_alignment(geometry: Geometry, path: KeyPath) -> Geometry:
    assert isinstance(geometry.linear, Strided)
    width = geometry.linear_dtype.width
    stride = geometry.linear.strides[int(path[-1])]
    strides = _replaced(geometry.linear.strides, path[-1], -(-stride // width) * width)
    return attrs.evolve(geometry, linear=Strided(strides))


def _substitute_strides(geometry: Geometry, path: KeyPath) -> Geometry:
    return attrs.evolve(geometry, linear=Contiguous())


def _substitute_layout(geometry: Geometry, path: KeyPath) -> Geometry:
    channel = len(geometry.shape) - 1
    return attrs.evolve(geometry, tiled=MlaTiled((-1, -1, -1, channel), (1, 1, 1, 1)))


def _substitute_fill(geometry: Geometry, path: KeyPath) -> Geometry:
    return attrs.evolve(geometry, int8_channel_padding=None if geometry.tiled_dtype is DType.BF16 else 0)


def _substitute_parameter(geometry: Geometry, path: KeyPath) -> Geometry:
    right = {"scale": 1.0, "zero_point": 0, "rounding": ROUNDING.choices[0]}
    given = dict(geometry.parameters) | {str(path[-1]): right[str(path[-1])]}
    return attrs.evolve(geometry, parameters=tuple(given.items()))


def _replaced(values: tuple[int, ...], position: str | int, value: int) -> tuple[int, ...]:
    at = int(position)
    return (*values[:at], value, *values[at + 1 :])


SUBSTITUTES: dict[str, Callable[[Geometry, KeyPath], Geometry | None]] = {
    "extent_invalid": _substitute_extent,
    "rank_zero": _substitute_rank,
    "rank_too_large": _substitute_rank,
    "dtype_unsupported": _substitute_dtype,
    "quantized": _substitute_dtype,
    "cblocked_unsupported": _substitute_layout,
    "cblocked_rank": _substitute_layout,
    "axis_out_of_range": _substitute_axis,
    "axis_duplicate": _substitute_axis,
    "channel_axis_missing": _substitute_axis,
    "tile_extent": _substitute_tile,
    "omitted_axis_tile": _substitute_tile,
    "stride_unaligned": _substitute_alignment,
    "stride_count": _substitute_strides,
    "stride_negative": _substitute_stride,
    "stride_zero": _substitute_stride,
    "stride_overlap": _substitute_strides,
    "fill_required": _substitute_fill,
    "fill_rejected": _substitute_fill,
    "fill_range": _substitute_fill,
    **dict.fromkeys(
        ("scale_required", "scale_range", "zero_point_required", "zero_point_range", "rounding"), _substitute_parameter
    ),
}
