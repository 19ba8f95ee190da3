"""Array functions, the operations on arrays: numpy in, numpy out, on the A65 executor.

`axes` names the logical axes with letters: D, H, W and C are tiled (C is required), any other letter is an independent
outer axis. `tile` has one extent for each of D, H, W, C that `axes` names, in the same order.
BF16 is its 16-bit words: uint16, or ml_dtypes.bfloat16 taken by its bits. Values change only where an operation says.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from tessbed.array_arguments import only_or_asked, parameters_of, scalar_type, tiled_layout
from tessbed.array_storage import (
    aligned_bytes,
    as_array,
    dense_copy,
    empty_array,
    host_buffer,
    layout_of,
    result_layout,
    tile_bytes,
)
from tessbed.kernels.a65.executor import executor_of
from tessbed.kernels.a65.prepared import PreparedExecution
from tessbed.kernels.dtypes import DType
from tessbed.kernels.errors import ContractError
from tessbed.kernels.operations import OPERATIONS, Operation
from tessbed.kernels.ops.requests import requests_of
from tessbed.kernels.tensor import TensorSpec, entries

__all__ = ["casttess", "detess", "detesscast", "detessdequant", "quanttess", "tess"]


def tess(
    x: np.ndarray,
    *,
    tile: Sequence[int],
    axes: str = "HWC",
    channels: str = "compact",
    fill: int | None = None,
) -> np.ndarray:
    """Packs `x` into tiles: a 1-D uint8 array of the tiled side's required bytes.

    A strided view is read in place where its strides are admitted, and copied first where they are not (negative,
    broadcast). `fill` is the raw INT8 byte of padded channels, required for INT8 with "pad16".
    Raises ContractError (a ValueError) for what is no array, what the Tess document does not admit, and what this
    machine has no memory for.
    """
    return pack(OPERATIONS["tess"], x, tile=tile, axes=axes, channels=channels, fill=fill)


def detess(
    tiled: np.ndarray,
    *,
    shape: Sequence[int],
    dtype: DTypeLike | str,
    tile: Sequence[int],
    axes: str = "HWC",
    channels: str = "compact",
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Unpacks tiles into an array of `shape` and `dtype` (int8, uint16 or "bf16", ml_dtypes.bfloat16).

    `tiled` is at least the tiled side's required bytes. `out`, if given, receives the result in its own strides,
    and its gaps stay untouched. Raises ContractError as in `tess`, and BindingError (a ValueError too) where the memory
    of `tiled` or `out` does not fit: too small, not plain bytes, not aligned for its type, shared by both.
    """
    row = OPERATIONS["detess"]
    return unpack(row, tiled, shape=shape, dtype=dtype, tile=tile, axes=axes, channels=channels, out=out)


def detesscast(
    tiled: np.ndarray,
    *,
    shape: Sequence[int],
    tile: Sequence[int],
    axes: str = "HWC",
    channels: str = "compact",
    to: DTypeLike | str = "fp32",
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Unpacks BF16 tiles into float32 (`to="fp32"`) or BF16 (`to="bf16"` for uint16, or ml_dtypes.bfloat16).

    `channels` is "compact", "pad16" or "cblocked"; the last needs axes that end with HWC. `tiled` and `out` are as
    in `detess`.
    """
    row = OPERATIONS["detesscast"]
    return unpack(row, tiled, shape=shape, to=to, tile=tile, axes=axes, channels=channels, out=out)


def casttess(
    x: np.ndarray,
    *,
    tile: Sequence[int],
    axes: str = "HWC",
    channels: str = "compact",
) -> np.ndarray:
    """Packs `x` (float32, rounded to BF16, or BF16 as it is) into BF16 tiles: as `tess`, without a fill.

    Rounds to nearest, ties to even; a NaN stays a NaN.
    """
    return pack(OPERATIONS["casttess"], x, tile=tile, axes=axes, channels=channels)


def quanttess(
    x: np.ndarray,
    *,
    tile: Sequence[int],
    scale: float,
    zero_point: int,
    rounding: str = "nearest_even",
    axes: str = "HWC",
    channels: str = "compact",
    fill: int | None = None,
) -> np.ndarray:
    """Packs `x` (float32) into INT8 tiles of `saturate(round(x * scale) + zero_point)`: as `tess`.

    `scale` is positive and finite as binary32, `zero_point` -128 to 127, `rounding` "nearest_even", "toward_zero", "up"
    or "down". `fill` is the code of padded channels, the zero point if it is None.
    """
    quantization = {"scale": scale, "zero_point": zero_point, "rounding": rounding, "fill": fill}
    return pack(OPERATIONS["quanttess"], x, tile=tile, axes=axes, channels=channels, **quantization)


def detessdequant(
    tiled: np.ndarray,
    *,
    shape: Sequence[int],
    tile: Sequence[int],
    scale: float,
    zero_point: int,
    axes: str = "HWC",
    channels: str = "compact",
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Unpacks INT8 tiles into float32 values `(code - zero_point) / scale`.

    `channels` is "compact", "pad16" or "cblocked"; the last needs axes that end with HWC. `tiled` and `out` are as
    in `detess`.
    """
    row, quantization = OPERATIONS["detessdequant"], {"scale": scale, "zero_point": zero_point}
    return unpack(row, tiled, shape=shape, tile=tile, axes=axes, channels=channels, out=out, **quantization)


def function(name: str) -> Callable[..., np.ndarray]:
    """The function of an operation, by its name: one of this module, or `pack` or `unpack` with the operation's row."""
    if name in __all__:
        return globals()[name]
    row = OPERATIONS.get(name)
    if row is None:
        text = f"module 'tessbed' has no attribute {name!r}; its operations are {', '.join(OPERATIONS)}"
        raise AttributeError(text)
    return partial(pack if row.packs else unpack, row)


def pack(
    op: Operation,
    x: np.ndarray,
    *,
    tile: Sequence[int],
    axes: str = "HWC",
    channels: str = "compact",
    **arguments: Any,
) -> np.ndarray:
    """What `tess` does, for any operation that packs; `arguments` are its parameters."""
    x = as_array(x)
    dtype, _ = scalar_type(x.dtype, "x.dtype", op.inputs)
    tiled = TensorSpec(x.shape, op.outputs(dtype)[0], tiled_layout(op, axes, tile, channels, x.ndim))
    params = parameters_of(op, arguments)
    source, prepared = _admitted(op, x if x.flags.aligned else dense_copy(x), dtype, tiled, params)
    output = aligned_bytes(prepared.plan.output.required_bytes)
    executor_of(op).execute(prepared, [host_buffer(source, prepared.plan.input.required_bytes)], [output])
    return output


def unpack(
    op: Operation,
    tiled: np.ndarray,
    *,
    shape: Sequence[int],
    tile: Sequence[int],
    axes: str = "HWC",
    channels: str = "compact",
    dtype: DTypeLike | str | None = None,
    to: DTypeLike | str | None = None,
    out: np.ndarray | None = None,
    **arguments: Any,
) -> np.ndarray:
    """What `detess` and `detesscast` do, for any operation that unpacks; `arguments` are its parameters.

    `dtype` is the scalar type of the tiles where the operation reads several, `to` that of the result where it leaves a
    choice.
    """
    kind, numpy_dtype = only_or_asked(dtype, "dtype", op.inputs)
    outputs = op.outputs(kind)
    target_kind, target_dtype = (kind, numpy_dtype) if outputs == (kind,) else only_or_asked(to, "to", outputs)
    extents = entries("shape")(shape)
    spec = TensorSpec(extents, kind, tiled_layout(op, axes, tile, channels, len(extents)))
    linear = TensorSpec(extents, target_kind, result_layout(out, extents, target_kind, target_dtype))
    request = requests_of(op).request(spec, linear, parameters_of(op, arguments))
    prepared = executor_of(op).check_inference(request)
    source = tile_bytes(tiled, prepared.plan.input.required_bytes)
    target = empty_array(prepared.plan.shape, target_dtype) if out is None else out
    executor_of(op).execute(prepared, [source], [host_buffer(target, prepared.plan.output.required_bytes)])
    return target


def _admitted(
    op: Operation, x: np.ndarray, dtype: DType, tiled: TensorSpec, params: object
) -> tuple[np.ndarray, PreparedExecution]:
    """The array to read and the execution that reads it: `x` itself, or a dense copy where its strides are refused."""
    try:
        request = requests_of(op).request(tiled, TensorSpec(x.shape, dtype, layout_of(x)), params)
        return x, executor_of(op).check_inference(request)
    except ContractError as error:
        if not error.code.startswith("stride"):
            raise
        executor_of(op).check_inference(requests_of(op).request(tiled, TensorSpec(x.shape, dtype), params))
        return _admitted(op, dense_copy(x), dtype, tiled, params)
