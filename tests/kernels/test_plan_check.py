"""Forged plans: with any field changed, a plan is refused by every backend before anything is made of it."""

import pickle
from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from tessbed.kernels import ContractError, DType, Plan, a65, ev74, ops
from tessbed.kernels.operations import Op, TileFormat
from tessbed.kernels.plan import MappedAxis, OuterAxis, PortPlan
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


def test_all_fields_changed_at_once() -> None:
    """A plan whose fields fit each other but no request is refused: overlapping pixels, more axes than a shape has."""
    plan = plan_of(GEOMETRIES["tess bf16"])
    axes = {name: attrs.evolve(getattr(plan, name), stride_bytes=2) for name in "cdhw"}
    overlapping = attrs.evolve(plan, **axes)
    assert is_refused(overlapping, "tess")
    outer = (*plan.outer, OuterAxis(3, 2**20, 0))
    assert is_refused(attrs.evolve(plan, outer=outer, shape=(*plan.shape, 3)), "tess")
    huge = attrs.evolve(plan, d=MappedAxis(2**62, 1, 2**20), shape=(2, 2**62, 9, 20, 21))
    assert is_refused(attrs.evolve(huge, input=PortPlan(2**90, 2)), "tess")


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
