"""Forged plans: with any field changed, a plan is refused by every backend before anything is made of it."""

import pickle
from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from tessbed.kernels import ContractError, DType, Plan, a65, ev74, ops
from tessbed.kernels.operations import Op, TileFormat
from tessbed.kernels.plan import OuterAxis, PortPlan
from tessbed.kernels.tiling import MappedAxis, tile_classes, tile_grid
from tests.geometries import name_of, random_geometries
from tests.oracle import Geometry
from tests.requests import request_of

AXES = (-1, 1, 2, 3)
GEOMETRIES = {
    "tess int8": Geometry("tess", (2, 9, 20, 21), "int8", AXES, (1, 4, 16, 16), True, fill=-1),
    "tess bf16": Geometry("tess", (2, 9, 20, 21), "bf16", AXES, (1, 4, 16, 16)),
    "detess": Geometry("detess", (2, 9, 20, 21), "int8", (0, 1, 2, 3), (2, 4, 16, 16), True),
    "detesscast": Geometry(
        "detesscast", (2, 9, 20, 21), "bf16", AXES, (1, 4, 16, 16), to="fp32", strides_bytes=(16000, 1764, 84, 4)
    ),
    "blocks": Geometry("detesscast", (2, 9, 20, 21), "bf16", cblocked=(4, 16, 20), to="fp32"),
}
WRONG: tuple[Any, ...] = (-1, 0, 1, 2**31, 2**63, 2**80, 1.5, True, None, "x", (), [], object())


def plan_of(geometry: Geometry) -> Plan:
    """What admission makes of a geometry."""
    return getattr(ops, geometry.op).check_inference(request_of(geometry))


def is_refused(plan: Plan, op: str) -> bool:
    """Whether both backends refuse `plan`, by the documented error."""
    refusals = 0
    for function in (getattr(a65, op).prepare, getattr(ev74, op).encode_relocatable):
        try:
            function(plan)
        except ContractError as error:
            refusals += error.code != "plan_empty"
    return refusals == 2


def changes(value: Any) -> Iterator[Any]:
    """Values like `value` with one number, member or entry changed, and values of other types."""
    yield from WRONG
    if isinstance(value, int):
        yield from (value - 1, value + 1, value + 16, value * 2, float(value))
    elif isinstance(value, tuple):
        yield from (value[1:], value[:-1], (*value, *value), list(value))
        for at, entry in enumerate(value):
            yield from ((*value[:at], other, *value[at + 1 :]) for other in changes(entry))
    elif attrs.has(type(value)):
        for field in attrs.fields(type(value)):
            yield from (attrs.evolve(value, **{field.name: other}) for other in changes(getattr(value, field.name)))


FIELDS = [field.name for field in attrs.fields(Plan) if field.init]


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("geometry", GEOMETRIES.values(), ids=GEOMETRIES.keys())
def test_any_field_changed(geometry: Geometry, field: str) -> None:
    """Each field is bound by the others: other numbers, types, lengths and members are refused."""
    plan = plan_of(geometry)
    right, count = getattr(plan, field), 0
    members = [*Op, *TileFormat, *DType]
    for value in (*changes(right), *members):
        forged = attrs.evolve(plan, **{field: value})
        if repr(value) == repr(right) or is_of_another_request(plan, field, value):
            continue
        assert is_refused(forged, geometry.op), f"{field} = {value!r}"
        count += 1
    assert count >= 20


def is_of_another_request(plan: Plan, field: str, value: Any) -> bool:
    """Whether admission makes just such a plan: with another fill, or with the same tiles padded pixel by pixel."""
    if field == "tile_format":
        return plan.tile_format is TileFormat.CBLOCKED and value is TileFormat.PAD16
    return field == "channel_fill" and type(value) is int and plan.channel_fill != 0 and 0 <= value <= 0xFF


def consistent(plan: Plan, **changed: Any) -> Plan:
    """`plan` with another geometry, and all that follows from it: only the rules of admission can refuse it."""
    plan = attrs.evolve(plan, **changed)
    grid = tile_grid(plan.tile_format, plan.tiled_dtype.width, plan.axes)
    steps, step = [], grid.volume_bytes
    for axis in reversed(plan.outer):
        steps.insert(0, step)
        step *= axis.extent
    outer = [attrs.evolve(axis, tiled_stride_bytes=step) for axis, step in zip(plan.outer, steps, strict=True)]
    strides = [(axis.extent, axis.linear_stride_bytes) for axis in outer]
    strides += [(axis.extent, axis.stride_bytes) for axis in plan.axes]
    width = plan.linear_dtype.width
    linear = PortPlan(sum((extent - 1) * stride for extent, stride in strides) + width, width)
    ports = (linear, PortPlan(step, 16)) if plan.packs else (PortPlan(step, 16), linear)
    classes = tile_classes(plan.tile_format, grid)
    return attrs.evolve(plan, outer=tuple(outer), classes=classes, input=ports[0], output=ports[1])


PLANE = GEOMETRIES["tess bf16"]
TWO_OUTER = Geometry("tess", (2, 3, 4, 21), "bf16", (-1, -1, 2, 3), (1, 1, 4, 16))
FORGERIES: dict[str, tuple[Geometry, dict[str, Any], str]] = {
    "overlapping pixels": (PLANE, {"w": MappedAxis(20, 16, 2)}, "stride_overlap"),
    "a stride of no whole scalar": (PLANE, {"h": MappedAxis(9, 4, 841)}, "stride_unaligned"),
    "one pixel for all": (PLANE, {"w": MappedAxis(20, 16, 0)}, "stride_zero"),
    "rows backwards": (PLANE, {"h": MappedAxis(9, 4, -840)}, "plan_forged"),
    "outer axes in another order": (TWO_OUTER, {"shape": (3, 2, 4, 21)}, "plan_forged"),
    "an axis more": (PLANE, {"outer": (OuterAxis(2, 7560, 0), OuterAxis(3, 2**20, 0))}, "plan_forged"),
    "larger than any storage": (
        PLANE,
        {"d": MappedAxis(2**58, 1, 2**16), "shape": (2**58, 9, 20, 21), "outer": ()},
        "plan_forged",
    ),
    "another fill": (PLANE, {"channel_fill": 1}, "plan_forged"),
    "fill beyond a byte": (GEOMETRIES["tess int8"], {"channel_fill": 256}, "plan_forged"),
    "int8 widened": (GEOMETRIES["detess"], {"linear_dtype": DType.FP32}, "plan_forged"),
    "blocks of an operation without": (GEOMETRIES["detess"], {"tile_format": TileFormat.CBLOCKED}, "plan_forged"),
    "a tile beyond its axis": (TWO_OUTER, {"w": MappedAxis(4, 5, 42)}, "plan_forged"),
}


@pytest.mark.parametrize(("geometry", "changed", "code"), FORGERIES.values(), ids=FORGERIES.keys())
def test_consistent_forgeries(geometry: Geometry, changed: dict[str, Any], code: str) -> None:
    """A plan whose fields all follow from its geometry is refused where admission would refuse the geometry."""
    plan, prepare = plan_of(geometry), getattr(a65, geometry.op).prepare
    assert consistent(plan) == plan
    prepare(consistent(plan))
    with pytest.raises(ContractError, match="wanted") as caught:
        prepare(consistent(plan, **changed))
    assert caught.value.code == code
    assert is_refused(consistent(plan, **changed), geometry.op)


@pytest.mark.parametrize(
    "copy", [attrs.evolve, lambda plan: pickle.loads(pickle.dumps(plan))], ids=["evolve", "pickle"]
)
def test_copies_are_as_good(copy) -> None:
    """An unchanged copy of any plan is proved, prepared and encoded as the plan is."""
    for geometry in random_geometries(200, 11):
        plan, backend = plan_of(geometry), getattr(a65, geometry.op)
        copied = copy(plan)
        assert copied == plan
        assert backend.prepare(copied).program == backend.prepare(plan).program, name_of(geometry)
        if not plan.empty:
            encode = getattr(ev74, geometry.op).encode_relocatable
            assert encode(copied).raw == encode(plan).raw


def test_proof_is_made_once() -> None:
    """A copy that was proved is not proved again, and a changed copy of it is."""
    plan = attrs.evolve(plan_of(GEOMETRIES["detess"]))
    prepare = a65.detess.prepare
    assert not plan.admitted
    prepare(plan)
    assert plan.admitted
    with pytest.raises(ContractError, match=r"plan.output: got PortPlan.*wanted.*call check_inference") as caught:
        prepare(attrs.evolve(plan, output=PortPlan(1, 1)))
    assert (caught.value.code, caught.value.where) == ("plan_forged", "plan.output")
