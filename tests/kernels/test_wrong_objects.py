"""What is no request, no plan or no preparation is refused in words, before anything is touched."""

import numpy as np
import pytest

from tessbed.kernels import ContractError, DType, MlaTiled, TensorSpec
from tessbed.kernels.a65 import detess as a65_detess
from tessbed.kernels.a65 import detesscast as a65_detesscast
from tessbed.kernels.a65 import tess as a65_tess
from tessbed.kernels.ev74 import detess as ev74_detess
from tessbed.kernels.ev74 import detesscast as ev74_detesscast
from tessbed.kernels.ev74 import tess as ev74_tess
from tessbed.kernels.ops import detess, detesscast, tess

TILED = TensorSpec([2, 3], DType.BF16, MlaTiled([-1, -1, 0, 1], [1, 1, 2, 3]))
LINEAR = TensorSpec([2, 3], DType.BF16)


@pytest.mark.parametrize("op", [tess, detess, detesscast], ids=["tess", "detess", "detesscast"])
@pytest.mark.parametrize("wrong", [None, 5, "request"], ids=repr)
def test_no_request(op, wrong: object) -> None:
    """Admission takes a Request of its own operation."""
    with pytest.raises(ContractError) as caught:
        op.check_inference(wrong)
    assert (caught.value.code, caught.value.where) == ("request_type", "request")


def test_a_request_of_another_operation() -> None:
    """Requests look alike; each belongs to one operation."""
    with pytest.raises(ContractError, match=r"wanted tess\.Request"):
        tess.check_inference(detess.Request([TILED], [LINEAR]))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("backend", [a65_tess, a65_detess, a65_detesscast], ids=["tess", "detess", "detesscast"])
@pytest.mark.parametrize("wrong", [None, "plan"], ids=["none", "plan"])
def test_execute_wants_what_was_prepared(backend, wrong: object) -> None:
    """A Plan is not prepared yet."""
    plan = tess.check_inference(tess.Request([LINEAR], [TILED])) if wrong else None
    with pytest.raises(ContractError) as caught:
        backend.execute(plan, [np.zeros(12, np.uint8)], [np.zeros(16, np.uint8)])
    assert (caught.value.code, caught.value.where) == ("prepared_type", "prepared")


@pytest.mark.parametrize("backend", [ev74_tess, ev74_detess, ev74_detesscast], ids=["tess", "detess", "detesscast"])
@pytest.mark.parametrize("wrong", [None, 5, "plan"], ids=repr)
def test_encode_wants_a_plan(backend, wrong: object) -> None:
    """The encoder refuses the same objects, by the same code, as preparation does."""
    with pytest.raises(ContractError) as caught:
        backend.encode_relocatable(wrong)
    assert (caught.value.code, caught.value.where) == ("plan_type", "plan")


def test_execute_refuses_another_operation() -> None:
    """What Detess prepared does not run as Tess, and the output stays as it was."""
    prepared = a65_detess.check_inference(detess.Request([TILED], [LINEAR]))
    output = np.full(16, 0xC3, np.uint8)
    with pytest.raises(ContractError) as caught:
        a65_tess.execute(prepared, [np.zeros(16, np.uint8)], [output])
    assert caught.value.code == "plan_op"
    assert (output == 0xC3).all()
