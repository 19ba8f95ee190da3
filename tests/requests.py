"""A geometry in plain values as the request that the product admits."""

import struct
from typing import Any

from tessbed.kernels import ChannelStorage, Contiguous, DType, MlaCBlocked, MlaTiled, Strided, TensorSpec
from tessbed.kernels.ops import AnyRequest, operation, requests_of
from tests.oracle import Geometry


def request_of(geometry: Geometry) -> AnyRequest:
    """The request of `geometry`; a fill is taken along where PadTo16 requires it or Compact ignores it."""
    requests = requests_of(operation(geometry.op))
    return requests.request(tiled_spec(geometry), linear_spec(geometry), requests.Params(**params_of(geometry)))


def params_of(geometry: Geometry) -> dict[str, Any]:
    """The arguments of the operation's Params."""
    filled = {"int8_channel_padding": geometry.fill} if geometry.pad16 or geometry.fill != 0 else {}
    scale = struct.unpack("<f", geometry.scale_bits.to_bytes(4, "little"))[0]
    quantization = {"scale": scale, "zero_point": geometry.zero_point}
    return {
        "tess": filled if geometry.dtype == "int8" else {},
        "quanttess": {**quantization, "rounding": geometry.rounding, **filled},
        "detessdequant": quantization,
    }.get(geometry.op, {})


def linear_spec(geometry: Geometry) -> TensorSpec:
    """The linear port: dense, or with the geometry's strides."""
    strides = geometry.strides_bytes
    layout = Contiguous() if strides is None else Strided(strides)
    return TensorSpec(geometry.shape, DType(geometry.to or geometry.dtype), layout)


def tiled_spec(geometry: Geometry) -> TensorSpec:
    """The tiled port: MlaTiled, or MlaCBlocked."""
    return TensorSpec(geometry.shape, DType(geometry.dtype), _tiled_layout(geometry))


def _tiled_layout(geometry: Geometry) -> MlaTiled | MlaCBlocked:
    if geometry.cblocked is not None:
        return MlaCBlocked(*geometry.cblocked)
    assert geometry.axes is not None
    assert geometry.tile is not None
    storage = ChannelStorage.PAD16 if geometry.pad16 else ChannelStorage.COMPACT
    return MlaTiled(geometry.axes, geometry.tile, storage)
