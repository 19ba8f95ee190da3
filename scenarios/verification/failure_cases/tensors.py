"""The tensors of a failure case: the geometry that two of them make, their sizes, and the patterns that fill them."""

import math
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

from tessbed.kernels import OPERATIONS, ContractError, MlaCBlocked, MlaTiled, Operation, Strided, TensorSpec
from tessbed.kernels.operations import TileFormat
from tessbed.scenarios.model import Geometry
from tessbed.scenarios.oracle.comparison import golden_bytes

Parameters = tuple[tuple[str, Any], ...]


def step_parameters(op: Operation, values: Mapping[str, Any]) -> Parameters:
    """The operation's parameters that the keys of a step say something of."""
    given = ((parameter.name, parameter.value_in(values)) for parameter in op.parameters)
    return tuple((name, value) for name, value in given if value is not None)


def geometry_of(op: Operation, tiled: TensorSpec, linear: TensorSpec, parameters: Parameters = ()) -> Geometry:
    """What a job on these two asks of admission. Raises ContractError where the sides are not tiled and linear."""
    if not isinstance(tiled.layout, MlaTiled | MlaCBlocked):
        raise ContractError("layout_unsupported", "tiled", f"got {type(tiled.layout).__name__}, wanted tiles")
    layout = linear.layout
    if isinstance(layout, MlaTiled | MlaCBlocked):
        raise ContractError("layout_unsupported", "linear", f"got {type(layout).__name__}, wanted a linear tensor")
    source, target = (linear, tiled) if op.packs else (tiled, linear)
    to = target.dtype if op.chooses_output else None
    return Geometry(op, source.dtype, tiled.shape, tiled.layout, layout, to, parameters=parameters)


def _harmless(op: Operation) -> tuple[tuple[str, float], ...]:
    """Parameters that are admitted and have no say in a size."""
    return tuple((parameter.name, 1) for parameter in op.parameters if not parameter.choices)


def logical_bytes(spec: TensorSpec) -> int:
    """Scalars times width: what people take for the size of a tensor."""
    return math.prod(spec.shape) * spec.dtype.width


def physical_bytes(spec: TensorSpec) -> int:
    """The whole span that a tensor's storage needs, padding and gaps included."""
    if isinstance(spec.layout, MlaTiled | MlaCBlocked):
        blocked = isinstance(spec.layout, MlaCBlocked)
        for op in OPERATIONS.values():
            if not op.packs and spec.dtype in op.inputs and (TileFormat.CBLOCKED in op.formats or not blocked):
                linear = TensorSpec(spec.shape, op.outputs(spec.dtype)[-1])
                geometry = attrs.evolve(geometry_of(op, spec, linear), parameters=_harmless(op))
                return geometry.admit().tiled.required_bytes
        raise ContractError("dtype_unsupported", "tiled", f"got {spec.dtype.value}, which no operation unpacks")
    if isinstance(spec.layout, Strided):
        last = sum((extent - 1) * stride for extent, stride in zip(spec.shape, spec.layout.strides, strict=True))
        return last + spec.dtype.width
    return logical_bytes(spec)


def _golden(size: int) -> np.ndarray:
    return golden_bytes(size)


def _all_words(size: int) -> np.ndarray:
    """Every BF16 word in turn, low byte first."""
    return np.resize(np.arange(1 << 16, dtype="<u2").view(np.uint8), size)


def _wide_words(size: int) -> np.ndarray:
    """FP32 words: every upper half in turn, the lower half all ones, low byte first."""
    return np.resize((np.arange(1 << 16, dtype="<u4") << 16 | 0xFFFF).astype("<u4").view(np.uint8), size)


PATTERNS = {"golden": _golden, "words": _all_words, "wide_words": _wide_words}
