"""Requests: a class for each operation, and its sides on the ports where the operation has them."""

import attrs
import pytest

from tessbed.kernels.dtypes import DType
from tessbed.kernels.errors import ContractError
from tessbed.kernels.operations import OPERATIONS
from tessbed.kernels.ops import requests_of
from tessbed.kernels.tensor import MlaTiled, TensorSpec

TILED = TensorSpec((2, 3), DType.INT8, MlaTiled((-1, -1, 0, 1), (1, 1, 2, 3)))
LINEAR = TensorSpec((2, 3), DType.INT8)


@pytest.mark.parametrize(("name", "ports"), [("tess", (LINEAR, TILED)), ("detess", (TILED, LINEAR))])
def test_sides_on_ports(name: str, ports: tuple[TensorSpec, TensorSpec]) -> None:
    """What packs has the tiled side at its output, what unpacks at its input."""
    request = requests_of(OPERATIONS[name]).request(TILED, LINEAR)
    assert (*request.inputs, *request.outputs) == ports


def test_requests_are_of_one_operation() -> None:
    """Two that are alike but for their operation are not equal, and one is refused for the other."""
    one, other = (requests_of(OPERATIONS[name]) for name in ("detess", "detesscast"))
    assert one.request(TILED, LINEAR) != other.request(TILED, LINEAR)
    with pytest.raises(ContractError):
        one.check_inference(other.request(TILED, LINEAR))


def test_parameters_of_another_operation() -> None:
    """Refused by the name of those that were wanted."""
    tess, quant = (requests_of(OPERATIONS[name]) for name in ("tess", "quanttess"))
    with pytest.raises(ContractError, match=r"wanted tess\.Params") as caught:
        tess.check_inference(tess.request(TILED, LINEAR, quant.Params(1.0, 0)))
    assert caught.value.code == "params_type"


def test_row_with_parameters_that_nobody_judges() -> None:
    """No class is made for it: they would be ignored."""
    row = attrs.evolve(OPERATIONS["quanttess"], name="unjudged")
    with pytest.raises(ContractError) as caught:
        requests_of(row)
    assert caught.value.code == "parameters_unsupported"
