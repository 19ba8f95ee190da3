"""Tess: packs a linear INT8 or BF16 tensor into MlaTiled, bit for bit. Source: the Tess document."""

import attrs

from tessbed.kernels import admission, planning
from tessbed.kernels.dtypes import DType
from tessbed.kernels.errors import ContractError, shown
from tessbed.kernels.plan import Op, Plan
from tessbed.kernels.tensor import ChannelStorage, MlaTiled, TensorSpec, entries

__all__ = ["Params", "Plan", "Request", "check_inference"]

ADMITTED = (DType.INT8, DType.BF16)
REMEDY = "Tess moves INT8 and BF16 only; cast or quantize first"


@attrs.frozen
class Params:
    """`int8_channel_padding`: the raw INT8 byte (-128 to 127) of padded channels.

    Required for INT8 PadTo16, unused for Compact, rejected for BF16, whose padding is positive zero.
    """

    int8_channel_padding: int | None = None


@attrs.frozen
class Request:
    """One linear input (Contiguous or Strided) and one MlaTiled output of equal shape and dtype."""

    inputs: tuple[TensorSpec, ...] = attrs.field(converter=entries("inputs"))
    outputs: tuple[TensorSpec, ...] = attrs.field(converter=entries("outputs"))
    params: Params = attrs.field(factory=Params)


def check_inference(request: Request) -> Plan:
    """The plan of an admitted request; ContractError says why there is none. Nothing of the request is kept."""
    admission.check_request(request, Request, "tess")
    source = admission.only_port(request.inputs, "inputs")
    target = admission.only_port(request.outputs, "outputs")
    shape = admission.check_shapes(source, target)
    dtype = admission.check_dtype(source, "inputs[0]", ADMITTED, REMEDY)
    admission.check_same_dtype(dtype, admission.check_dtype(target, "outputs[0]", ADMITTED, REMEDY))
    admission.check_tiled(target, "outputs[0]", shape)
    strides = admission.linear_strides(source, "inputs[0]", shape)
    fill = _channel_fill(request.params, dtype, target)
    return planning.build_plan(Op.TESS, source, target, shape=shape, strides=strides, channel_fill=fill)


def _channel_fill(params: Params, dtype: DType, target: TensorSpec) -> int:
    """The byte that padded channels hold, 0 to 255."""
    where = "params.int8_channel_padding"
    if not isinstance(params, Params):
        raise ContractError("params_type", "params", f"got {type(params).__name__}, wanted tess.Params")
    fill = params.int8_channel_padding
    assert isinstance(target.layout, MlaTiled)
    padded = target.layout.channel_storage is ChannelStorage.PAD16
    if dtype is DType.BF16:
        if fill is not None:
            raise ContractError(
                "fill_rejected", where, f"got {shown(fill)}, wanted none: BF16 padding is positive zero"
            )
        return 0
    if fill is None:
        if padded:
            raise ContractError(
                "fill_required",
                where,
                "got none, wanted -128 to 127: INT8 PadTo16 needs an explicit fill value",
            )
        return 0
    byte = admission.plain_integer(fill)
    if byte is None or not -128 <= byte <= 127:
        raise ContractError("fill_range", where, f"got {shown(fill)}, wanted an integer from -128 to 127")
    return byte & 0xFF if padded else 0
