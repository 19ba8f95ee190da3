"""Detess: unpacks MlaTiled INT8 or BF16 into linear storage, bit for bit. Source: the Detess document."""

import attrs

from tessbed.kernels import admission, planning
from tessbed.kernels.dtypes import DType
from tessbed.kernels.errors import ContractError
from tessbed.kernels.plan import Op, Plan
from tessbed.kernels.tensor import TensorSpec, entries

__all__ = ["Params", "Plan", "Request", "check_inference"]

ADMITTED = (DType.INT8, DType.BF16)
REMEDY = "Detess moves INT8 and BF16 only; DetessCast widens BF16"


@attrs.frozen
class Params:
    """Empty: geometry and dtype are explicit tensor metadata."""


@attrs.frozen
class Request:
    """One MlaTiled input and one linear output (Contiguous or Strided) of equal shape and dtype."""

    inputs: tuple[TensorSpec, ...] = attrs.field(converter=entries("inputs"))
    outputs: tuple[TensorSpec, ...] = attrs.field(converter=entries("outputs"))
    params: Params = attrs.field(factory=Params)


def check_inference(request: Request) -> Plan:
    """The plan of an admitted request; ContractError says why there is none. Nothing of the request is kept."""
    admission.check_request(request, Request, "detess")
    source = admission.only_port(request.inputs, "inputs")
    target = admission.only_port(request.outputs, "outputs")
    shape = admission.check_shapes(source, target)
    dtype = admission.check_dtype(source, "inputs[0]", ADMITTED, REMEDY)
    admission.check_same_dtype(dtype, admission.check_dtype(target, "outputs[0]", ADMITTED, REMEDY))
    admission.check_tiled(source, "inputs[0]", shape)
    strides = admission.linear_strides(target, "outputs[0]", shape)
    if not isinstance(request.params, Params):
        raise ContractError("params_type", "params", f"got {type(request.params).__name__}, wanted detess.Params")
    return planning.build_plan(Op.DETESS, source, target, shape=shape, strides=strides)
