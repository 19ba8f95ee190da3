"""Parameters: what an operation takes besides its tensors, and how it is checked; one row per operation that takes any.

Source: Tess document, "Parameters and padding"; docs/operations.md, "Numerics".
"""

from collections.abc import Callable
from typing import Any

import attrs

from tessbed.kernels import admission, binary32
from tessbed.kernels.dtypes import DType
from tessbed.kernels.errors import ContractError, shown
from tessbed.kernels.operations import ROUNDING
from tessbed.kernels.tensor import ChannelStorage, MlaTiled, TensorSpec


@attrs.frozen
class NoParams:
    """Empty: geometry and dtypes are explicit tensor metadata, and select the conversion."""


@attrs.frozen
class TessParams:
    """`int8_channel_padding`: the raw INT8 byte (-128 to 127) of padded channels.

    Required for INT8 PadTo16, unused for Compact, rejected for BF16, whose padding is positive zero.
    """

    int8_channel_padding: int | None = None


@attrs.frozen
class QuantTessParams:
    """A code is `saturate(round(x * scale) + zero_point)`.

    `scale` is positive and finite as a binary32 number, `zero_point` is -128 to 127, `rounding` one of "nearest_even",
    "toward_zero", "up", "down". `int8_channel_padding` (-128 to 127) is what padded channels hold: the zero point where
    it is None. Scale and zero point are required.
    """

    scale: float | None = None
    zero_point: int | None = None
    rounding: str = "nearest_even"
    int8_channel_padding: int | None = None


@attrs.frozen
class DetessDequantParams:
    """A value is `(code - zero_point) / scale`. Both are required: as for QuantTess."""

    scale: float | None = None
    zero_point: int | None = None


@attrs.frozen
class ParameterRules:
    """The class of an operation's Params, and what they come to for an admitted tiled side.

    `settle` returns the byte that padded channels hold (0 to 255) and the conversion's parameters by packet field;
    it raises ContractError for values that do not fit.
    """

    params: type[Any]
    settle: Callable[[Any, TensorSpec], tuple[int, tuple[tuple[str, int], ...]]]


def _tess(params: TessParams, tiled: TensorSpec) -> tuple[int, tuple[tuple[str, int], ...]]:
    return _channel_fill(params.int8_channel_padding, tiled), ()


def _channel_fill(fill: int | None, tiled: TensorSpec) -> int:
    """The byte that padded channels hold, 0 to 255."""
    where = "params.int8_channel_padding"
    padded = isinstance(tiled.layout, MlaTiled) and tiled.layout.channel_storage is ChannelStorage.PAD16
    if tiled.dtype is DType.BF16:
        if fill is not None:
            text = f"got {shown(fill)}, wanted none: BF16 padding is positive zero"
            raise ContractError("fill_rejected", where, text)
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


def _quanttess(params: QuantTessParams, tiled: TensorSpec) -> tuple[int, tuple[tuple[str, int], ...]]:
    scale, zero_point = _scale_bits(params.scale), _zero_point(params.zero_point)
    if not isinstance(params.rounding, str) or params.rounding not in ROUNDING.choices:
        text = f"got {shown(params.rounding)}, wanted one of {', '.join(ROUNDING.choices)}"
        raise ContractError("rounding", "params.rounding", text)
    rounding = ROUNDING.choices.index(params.rounding)
    fill = zero_point if params.int8_channel_padding is None else params.int8_channel_padding
    settled = (("scale", scale), ("zero_point", zero_point & 0xFF), ("rounding", rounding))
    return _channel_fill(fill, tiled), settled


def _detessdequant(params: DetessDequantParams, tiled: TensorSpec) -> tuple[int, tuple[tuple[str, int], ...]]:
    return 0, (("scale", _scale_bits(params.scale)), ("zero_point", _zero_point(params.zero_point) & 0xFF))


def _scale_bits(scale: object) -> int:
    """The binary32 word of a scale."""
    where, wanted = "params.scale", "wanted a number that is positive and finite as binary32"
    if scale is None:
        raise ContractError("scale_required", where, f"got none, {wanted}: nobody can guess it")
    try:
        number = 0.0 if isinstance(scale, bool | str | bytes) else float(scale)  # pyright: ignore[reportArgumentType]
    except Exception:  # an object of the caller's can raise anything
        number = 0.0
    bits = binary32.word_of(number)
    if not 0 < bits < binary32.INFINITY:
        raise ContractError("scale_range", where, f"got {shown(scale)}, {wanted}")
    return bits


def _zero_point(zero_point: object) -> int:
    where = "params.zero_point"
    if zero_point is None:
        raise ContractError("zero_point_required", where, "got none, wanted an integer from -128 to 127")
    number = admission.plain_integer(zero_point)
    if number is None or not -128 <= number <= 127:
        raise ContractError("zero_point_range", where, f"got {shown(zero_point)}, wanted an integer from -128 to 127")
    return number


PARAMETERS: dict[str, ParameterRules] = {
    "tess": ParameterRules(TessParams, _tess),
    "quanttess": ParameterRules(QuantTessParams, _quanttess),
    "detessdequant": ParameterRules(DetessDequantParams, _detessdequant),
}
