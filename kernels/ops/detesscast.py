"""DetessCast: unpacks tiled BF16 and widens it to FP32, or keeps it BF16. Source: the DetessCast document."""

import attrs

from tessbed.kernels import admission, planning
from tessbed.kernels.dtypes import DType
from tessbed.kernels.errors import ContractError
from tessbed.kernels.plan import Op, Plan
from tessbed.kernels.tensor import TensorSpec, entries

__all__ = ["Params", "Plan", "Request", "check_inference"]

QUANTIZED = (DType.INT8, DType.UINT8, DType.INT16, DType.INT32)


@attrs.frozen
class Params:
    """Empty: the output's dtype and layout select the conversion."""


@attrs.frozen
class Request:
    """One BF16 input (MlaTiled or MlaCBlocked) and one linear FP32 or BF16 output of equal shape."""

    inputs: tuple[TensorSpec, ...] = attrs.field(converter=entries("inputs"))
    outputs: tuple[TensorSpec, ...] = attrs.field(converter=entries("outputs"))
    params: Params = attrs.field(factory=Params)


def check_inference(request: Request) -> Plan:
    """The plan of an admitted request; ContractError says why there is none. Nothing of the request is kept."""
    admission.check_request(request, Request, "detesscast")
    source = admission.only_port(request.inputs, "inputs")
    target = admission.only_port(request.outputs, "outputs")
    shape = admission.check_shapes(source, target)
    _refuse_quantized(source, "inputs[0]")
    _refuse_quantized(target, "outputs[0]")
    admission.check_dtype(source, "inputs[0]", (DType.BF16,), "DetessCast reads BF16 only")
    admission.check_dtype(
        target,
        "outputs[0]",
        (DType.FP32, DType.BF16),
        "DetessCast widens to FP32 or keeps BF16; FP16 is not supported",
    )
    admission.check_tiled(source, "inputs[0]", shape, cblocked=True)
    strides = admission.linear_strides(target, "outputs[0]", shape, positive_unless_unit=True)
    if not isinstance(request.params, Params):
        raise ContractError("params_type", "params", f"got {type(request.params).__name__}, wanted detesscast.Params")
    return planning.build_plan(Op.DETESSCAST, source, target, shape=shape, strides=strides)


def _refuse_quantized(spec: TensorSpec, where: str) -> None:
    if spec.dtype in QUANTIZED:
        raise ContractError(
            "quantized",
            f"{where}.dtype",
            f"got {spec.dtype.value}; quantized MLA output belongs to DetessDequant, not to DetessCast",
        )
