"""Prepared metadata: a plan of admission's with its packet, whose references are counted by holder."""

import attrs
import pytest

from tessbed.kernels import ContractError, DType, MlaTiled, TensorSpec
from tessbed.kernels.ops import detess
from tessbed.kernels.plan import Plan
from tessbed.runtime.errors import LifetimeError
from tessbed.runtime.jobs.prepared import PreparedJob, prepare


def plan_of(rows: int) -> Plan:
    """INT8 [rows, 4, 16] out of tiles of 4 columns."""
    shape = (rows, 4, 16)
    tiled = TensorSpec(shape, DType.INT8, MlaTiled((-1, 0, 1, 2), (1, 1, 4, 16)))
    return detess.check_inference(detess.Request([tiled], [TensorSpec(shape, DType.INT8)]))


@pytest.mark.parametrize("rows", [0, 3])
def test_a_plan_that_was_altered_is_refused(rows: int) -> None:
    """Whichever field, in an empty plan as in any other: nothing is prepared that admission never made."""
    plan = plan_of(rows)
    assert prepare(plan).plan == plan
    for change in ({"shape": (rows, 4, 17)}, {"channel_fill": 9}, {"tiled_dtype": DType.BF16}):
        with pytest.raises(ContractError, match="plan_forged"):
            prepare(attrs.evolve(plan, **change))


def test_an_empty_plan_has_no_packet() -> None:
    """There is nothing to submit; any other plan has a relocatable packet."""
    assert prepare(plan_of(0)).packet is None
    packet = prepare(plan_of(3)).packet
    assert packet is not None
    assert not packet.bound


def test_plan_and_packet_stay_as_they_are() -> None:
    """The packet says what is touched and the plan what was checked: neither can be put in the other's place."""
    prepared = prepare(plan_of(3))
    for name, value in (("plan", plan_of(2)), ("packet", prepare(plan_of(2)).packet)):
        with pytest.raises(attrs.exceptions.FrozenAttributeError):
            setattr(prepared, name, value)


def test_references_are_counted_by_holder() -> None:
    """Who holds twice drops twice; who does not hold can not drop, and changes nothing."""
    prepared: PreparedJob = prepare(plan_of(3))
    for holder in ("job 1", "job 2", "job 1"):
        prepared.hold(holder)
    assert prepared.users == {"job 1": 2, "job 2": 1}
    prepared.drop("job 1")
    prepared.drop("job 2")
    for holder in ("job 2", "job 3"):
        with pytest.raises(LifetimeError, match=f"{holder} drops a reference that it does not have"):
            prepared.drop(holder)
    assert prepared.users == {"job 1": 1}
