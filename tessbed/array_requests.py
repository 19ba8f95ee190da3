"""Array requests: what an array function asks of admission, whatever runs it then."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from tessbed.array_arguments import only_or_asked, parameters_of, scalar_type, tiled_layout
from tessbed.array_storage import as_array, dense_copy, layout_of, result_layout
from tessbed.kernels.dtypes import DType
from tessbed.kernels.errors import ContractError
from tessbed.kernels.operations import Operation
from tessbed.kernels.ops.requests import AnyRequest, requests_of
from tessbed.kernels.tensor import TensorSpec, entries

Admitted = TypeVar("Admitted")
Admit = Callable[[AnyRequest], Admitted]


def admitted_pack(
    op: Operation,
    admit: Admit[Admitted],
    x: np.ndarray,
    tile: Sequence[int],
    axes: str,
    channels: str,
    arguments: Mapping[str, Any],
) -> tuple[np.ndarray, Admitted]:
    """The array to read, `x` or a dense copy where its strides are refused, and what `admit` makes of the request."""
    x = as_array(x)
    dtype, _ = scalar_type(x.dtype, "x.dtype", op.inputs)
    tiled = TensorSpec(x.shape, op.outputs(dtype)[0], tiled_layout(op, axes, tile, channels, x.ndim))
    params = parameters_of(op, arguments)
    return _admitted(op, admit, x if x.flags.aligned else dense_copy(x), dtype, tiled, params)


def _admitted(
    op: Operation, admit: Admit[Admitted], x: np.ndarray, dtype: DType, tiled: TensorSpec, params: object
) -> tuple[np.ndarray, Admitted]:
    requests = requests_of(op)
    try:
        return x, admit(requests.request(tiled, TensorSpec(x.shape, dtype, layout_of(x)), params))
    except ContractError as error:
        if not error.code.startswith("stride"):
            raise
        admit(requests.request(tiled, TensorSpec(x.shape, dtype), params))
        return _admitted(op, admit, dense_copy(x), dtype, tiled, params)


def unpack_request(
    op: Operation,
    shape: Sequence[int],
    tile: Sequence[int],
    axes: str,
    channels: str,
    dtype: DTypeLike | str | None,
    to: DTypeLike | str | None,
    out: np.ndarray | None,
    arguments: Mapping[str, Any],
) -> tuple[AnyRequest, np.dtype]:
    """The request, not admitted yet, and the numpy dtype of the result."""
    kind, numpy_dtype = only_or_asked(dtype, "dtype", op.inputs)
    outputs = op.outputs(kind)
    target_kind, target_dtype = (kind, numpy_dtype) if outputs == (kind,) else only_or_asked(to, "to", outputs)
    extents = entries("shape")(shape)
    spec = TensorSpec(extents, kind, tiled_layout(op, axes, tile, channels, len(extents)))
    linear = TensorSpec(extents, target_kind, result_layout(out, extents, target_kind, target_dtype))
    return requests_of(op).request(spec, linear, parameters_of(op, arguments)), target_dtype
