"""Parameters: what an operation takes besides its tensors, and how it is checked; one row per operation that takes any.

Source: Tess document, "Parameters and padding".
"""

from collections.abc import Callable
from typing import Any

import attrs

from tessbed.kernels import admission
from tessbed.kernels.dtypes import DType
from tessbed.kernels.errors import ContractError, shown
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


PARAMETERS: dict[str, ParameterRules] = {"tess": ParameterRules(TessParams, _tess)}
