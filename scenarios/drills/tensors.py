"""The tensors of a drill: the geometry that two of them make, their sizes, and the patterns that fill them."""

import math

import numpy as np

from tessbed.kernels import ContractError, MlaCBlocked, MlaTiled, Op, Strided, TensorSpec
from tessbed.scenarios.model import Geometry
from tessbed.scenarios.oracle import golden_bytes


def geometry_of(op: Op, tiled: TensorSpec, linear: TensorSpec) -> Geometry:
    """What a job on these two asks of admission. Raises ContractError where the sides are not tiled and linear."""
    if not isinstance(tiled.layout, MlaTiled | MlaCBlocked):
        raise ContractError("layout_unsupported", "tiled", f"got {type(tiled.layout).__name__}, wanted tiles")
    layout = linear.layout
    if isinstance(layout, MlaTiled | MlaCBlocked):
        raise ContractError("layout_unsupported", "linear", f"got {type(layout).__name__}, wanted a linear tensor")
    to = linear.dtype if op is Op.DETESSCAST else None
    return Geometry(op, tiled.dtype, tiled.shape, tiled.layout, layout, to)


def logical_bytes(spec: TensorSpec) -> int:
    """Scalars times width: what people take for the size of a tensor."""
    return math.prod(spec.shape) * spec.dtype.width


def physical_bytes(spec: TensorSpec) -> int:
    """The whole span that a tensor's storage needs, padding and gaps included."""
    if isinstance(spec.layout, MlaTiled | MlaCBlocked):
        op = Op.DETESSCAST if isinstance(spec.layout, MlaCBlocked) else Op.DETESS
        return geometry_of(op, spec, TensorSpec(spec.shape, spec.dtype)).admit().input.required_bytes
    if isinstance(spec.layout, Strided):
        last = sum((extent - 1) * stride for extent, stride in zip(spec.shape, spec.layout.strides, strict=True))
        return last + spec.dtype.width
    return logical_bytes(spec)


def _golden(size: int) -> np.ndarray:
    return golden_bytes(size)


def _all_words(size: int) -> np.ndarray:
    """Every BF16 word in turn, low byte first."""
    return np.resize(np.arange(1 << 16, dtype="<u2").view(np.uint8), size)


PATTERNS = {"golden": _golden, "words": _all_words}
