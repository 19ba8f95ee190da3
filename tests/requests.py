"""A geometry in plain values as the request that the product admits."""

from tessbed.kernels import ChannelStorage, Contiguous, DType, MlaCBlocked, MlaTiled, Strided, TensorSpec
from tessbed.kernels.ops import AnyRequest, detess, detesscast, tess
from tests.oracle import Geometry


def request_of(geometry: Geometry) -> AnyRequest:
    """The request of `geometry`; INT8 Tess takes a fill along where PadTo16 requires it or Compact ignores it."""
    linear, tiled = linear_spec(geometry), tiled_spec(geometry)
    if geometry.op == "detess":
        return detess.Request([tiled], [linear])
    if geometry.op == "detesscast":
        return detesscast.Request([tiled], [linear])
    filled = geometry.dtype == "int8" and (geometry.pad16 or geometry.fill != 0)
    return tess.Request([linear], [tiled], tess.Params(geometry.fill if filled else None))


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
